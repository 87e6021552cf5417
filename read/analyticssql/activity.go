package analyticssql

import (
	"strconv"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

func actorColumn(a order.Actor) string {
	if a == order.User {
		return "user_id"
	}
	return "session_id"
}

// Activity asks for the ids of sessions or users in the order of the start of their
// first or last span, both ends of the range inclusive.
type Activity struct {
	Project domain.ProjectID
	Actor   order.Actor
	// Last orders by the last span; else by the first.
	Last bool
	// Low and High bound that time, in Unix microseconds.
	Low, High int64
	Order     domain.Order
	// Behind is the position after which the page begins; nil for the first page.
	Behind *order.ActivityCursor
	Limit  int
}

// Page returns the statement. Its rows are the id String, the time Int64 in Unix
// microseconds and sort_hash UInt64; equal times are in the order of sort_hash, and equal
// hashes in the order of the ids.
func (a Activity) Page() sqltext.Statement {
	w := new(sqltext.Writer)
	column, chosen, direction, beyond := actorColumn(a.Actor), "min", " DESC", " < "
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
	r := order.Starts(order.MinMicros, high)
	if a.Last {
		chosen, r = "max", order.Starts(low, order.MaxMicros)
	}
	w.Put("SELECT id, toUnixTimestamp64Micro(active), sipHash64(id) AS sort_hash FROM (SELECT "+column+" AS id, "+chosen+"(start_time) AS active FROM "+schema.Spans+" FINAL WHERE project_id = ? AND "+sqltext.AnyTraceType, a.Project.String())
	w.AndStarts(r)
	w.Put(" AND " + column + " != '' GROUP BY id)")
	where := []sqltext.Node{sqltext.TimeRange("active", low, high)}
	if b := a.Behind; b != nil {
		where = append(where, sqltext.Expr("(active != "+sqltext.TimeLiteral(b.Active)+" OR sort_hash"+beyond+strconv.FormatUint(b.SortHash, 10)+")"))
	}
	if n := sqltext.And(where...); n != sqltext.Constant(true) {
		w.Put(" WHERE ")
		n.Write(w, nil)
	}
	w.Put(" ORDER BY active" + direction + ", sort_hash" + direction + ", id" + direction + " LIMIT " + strconv.Itoa(a.Limit))
	return w.Statement()
}
