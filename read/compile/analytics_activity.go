package compile

import (
	"strconv"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// Actor is whose activity is asked for.
type Actor uint8

// The actors. Source: contract §3.7.
const (
	Session Actor = iota + 1
	User
)

func (a Actor) column() string {
	if a == User {
		return "user_id"
	}
	return "session_id"
}

// ActivityCursor is a position in a list of sessions or users; the next page
// starts behind it. Its UUID holds everything, as that of a Cursor does.
type ActivityCursor struct {
	Actor Actor
	// Last tells that the list is ordered by the last span, else by the first.
	Last bool
	// Order is Ascending or Descending; a cursor leads on in its own direction only.
	Order domain.Order
	// Active is the time of that span in Unix microseconds.
	Active int64
	// Tie orders the ids of one microsecond: a hash of the id. A page never parts
	// two ids that have it in common.
	Tie uint64
}

// The 4 kind bits: a layout that is not that of a Cursor, then the actor, direction and span.
const (
	kindActivity = 1 << 3
	kindUsers    = 1 << 2
	kindLast     = 1
)

// UUID is the cursor's form on the wire.
func (c ActivityCursor) UUID() uuid.UUID {
	kind := uint64(kindActivity)
	if c.Actor == User {
		kind |= kindUsers
	}
	if c.Order == domain.Ascending {
		kind |= kindAscending
	}
	if c.Last {
		kind |= kindLast
	}
	return pack(c.Active, c.Tie, kind)
}

// ParseActivityCursor reads a UUID as a cursor; ok is false for one of another list.
func ParseActivityCursor(id uuid.UUID) (c ActivityCursor, ok bool) {
	active, tie, kind, ok := unpack(id)
	if !ok || kind&kindActivity == 0 {
		return ActivityCursor{}, false
	}
	c = ActivityCursor{Actor: Session, Last: kind&kindLast != 0, Order: domain.Descending, Active: active, Tie: tie}
	if kind&kindUsers != 0 {
		c.Actor = User
	}
	if kind&kindAscending != 0 {
		c.Order = domain.Ascending
	}
	return c, true
}

// Activity asks for the ids of sessions or users in the order of their first
// or last span's start, both ends of the range inclusive.
type Activity struct {
	Project domain.ProjectID
	Actor   Actor
	// Last orders by the last span; else by the first.
	Last bool
	// Low and High bound that time, in Unix microseconds.
	Low, High int64
	Order     domain.Order
	// Behind leaves what comes after a position; nil for all.
	Behind *ActivityCursor
	Limit  int
}

// Page is the statement. Its rows are the id String, the time Int64 in Unix
// microseconds and the tie UInt64; equal times are in the order of the ties, and
// those in the order of the ids.
func (a Activity) Page() Statement {
	w := new(writer)
	column, chosen, direction, beyond := a.Actor.column(), "min", " DESC", " < "
	low, high := a.Low, a.High
	if a.Order == domain.Ascending {
		direction, beyond = "", " > "
	}
	switch {
	case a.Behind == nil:
	case a.Order == domain.Ascending:
		low = max(low, a.Behind.Active)
	default:
		high = min(high, a.Behind.Active)
	}
	// A first span is first whatever follows, a last one whatever came before:
	// one end of the range bounds the rows as well.
	r := Starts(minMicros, high)
	if a.Last {
		chosen, r = "max", Starts(low, maxMicros)
	}
	w.put("SELECT id, toUnixTimestamp64Micro(active), sipHash64(id) AS sort_hash FROM (SELECT "+column+" AS id, "+chosen+"(start_time) AS active FROM "+schema.Spans+" FINAL WHERE project_id = ? AND "+types, a.Project.String())
	r.and(w)
	w.put(" AND " + column + " != '' GROUP BY id)")
	where := []node{timeRange("active", low, high)}
	if b := a.Behind; b != nil {
		where = append(where, sql("(active != "+momentOf(b.Active)+" OR sort_hash"+beyond+strconv.FormatUint(b.Tie, 10)+")"))
	}
	if n := both(where...); n != constant(true) {
		w.put(" WHERE ")
		n.write(w, nil)
	}
	w.put(" ORDER BY active" + direction + ", sort_hash" + direction + ", id" + direction + " LIMIT " + strconv.Itoa(a.Limit))
	return w.statement()
}
