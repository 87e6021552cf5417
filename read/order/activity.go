package order

import (
	"github.com/google/uuid"

	"colonnade/domain"
)

// Actor is the kind of id whose activity a list orders.
type Actor uint8

// The actors. Source: contract §3.7.
const (
	Session Actor = iota + 1
	User
)

// ActivityCursor is a position in a list of sessions or users; the next page
// starts behind it. Its UUID holds everything, as that of a Cursor does.
type ActivityCursor struct {
	Actor Actor
	// Last is set where the list is ordered by the last span, else by the first.
	Last bool
	// Order is Ascending or Descending; a cursor leads on in its own direction only.
	Order domain.Order
	// Active is the time of that span in Unix microseconds.
	Active int64
	// SortHash orders the ids of one microsecond: a hash of the id. A page never
	// separates two ids that have it in common.
	SortHash uint64
}

// The 4 kind bits: a layout that is not that of a Cursor, then the actor, direction and span.
const (
	kindActivity = 1 << 3
	kindUsers    = 1 << 2
	kindLast     = 1
)

// UUID returns the cursor as it is on the wire.
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
	return pack(c.Active, c.SortHash, kind)
}

// ParseActivityCursor parses a UUID as a cursor; ok is false for one of another list.
func ParseActivityCursor(id uuid.UUID) (c ActivityCursor, ok bool) {
	active, tie, kind, ok := unpack(id)
	if !ok || kind&kindActivity == 0 {
		return ActivityCursor{}, false
	}
	c = ActivityCursor{Actor: Session, Last: kind&kindLast != 0, Order: domain.Descending, Active: active, SortHash: tie}
	if kind&kindUsers != 0 {
		c.Actor = User
	}
	if kind&kindAscending != 0 {
		c.Order = domain.Ascending
	}
	return c, true
}
