package order

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
)

// Focus is what a list consists of.
type Focus uint8

// The two lists: of spans, and of whole traces.
const (
	Spans  Focus = 1
	Traces Focus = 2
)

// Cursor is a position in a list; the next page starts behind it. Its UUID
// (RFC 9562, version 8) holds everything, so a position stays valid when its row
// is deleted.
type Cursor struct {
	Focus Focus
	// Order is Ascending or Descending; a cursor leads on in its own direction only.
	Order domain.Order
	// Start is the span's start in Unix microseconds.
	Start int64
	// SortHash orders spans of one microsecond. A cursor of traces keeps the upper
	// sortHashBits only, and a page never separates two traces that agree in them.
	SortHash uint64
	// Snapshot is the time of the snapshot that a list of traces reads, in Unix
	// milliseconds: a span that arrives later does not move a trace of the snapshot,
	// else the trace would come twice or never. Zero for spans.
	Snapshot int64
}

// Layout of the 122 free bits: 54 start, 64 more by focus, 4 kind.
const (
	startBits    = 54
	snapshotBits = 38 // milliseconds, modulo 8.7 years
	sortHashBits = 64 - snapshotBits

	// epochMicros is 1900-01-01, the first time that ClickHouse can hold; 54 bits reach to 2470.
	epochMicros = -2208988800000000

	cursorUUIDVersion = 8
)

// The 4 kind bits: two of layout version, then direction, then focus.
const (
	kindLayout    = 1 << 2
	kindAscending = 1 << 1
	kindTraces    = 1
)

// RoundSortHash returns the bits of a sort hash that a cursor of this focus keeps.
func (f Focus) RoundSortHash(tie uint64) uint64 {
	if f == Traces {
		return tie &^ (1<<snapshotBits - 1)
	}
	return tie
}

// UUID returns the cursor as it is on the wire.
func (c Cursor) UUID() uuid.UUID {
	low, kind := c.SortHash, uint64(kindLayout)
	if c.Focus == Traces {
		low = c.Focus.RoundSortHash(c.SortHash) | uint64(c.Snapshot)&(1<<snapshotBits-1) //nolint:gosec // modulo is meant
		kind |= kindTraces
	}
	if c.Order == domain.Ascending {
		kind |= kindAscending
	}
	return pack(c.Start, low, kind)
}

// ParseCursor parses a UUID as a cursor; ok is false for a UUID that is not a
// cursor. now resolves the wrapped time of the snapshot.
func ParseCursor(id uuid.UUID, now time.Time) (c Cursor, ok bool) {
	start, tie, kind, ok := unpack(id)
	if !ok || kind&^(kindAscending|kindTraces) != kindLayout {
		return Cursor{}, false
	}
	c = Cursor{Focus: Spans, Order: domain.Descending, Start: start, SortHash: tie}
	if kind&kindAscending != 0 {
		c.Order = domain.Ascending
	}
	if kind&kindTraces != 0 {
		c.Focus, c.SortHash = Traces, Traces.RoundSortHash(tie)
		c.Snapshot = unwrap(tie&(1<<snapshotBits-1), now.UnixMilli())
	}
	return c, true
}

// pack lays the 122 bits out: a time in Unix microseconds, 64 bits, and the kind.
func pack(micros int64, low, kind uint64) uuid.UUID {
	start := uint64(micros-epochMicros) & (1<<startBits - 1) //nolint:gosec // ClickHouse holds nothing before 1900
	// The 122 bits as a 60-bit and a 62-bit half, split around the version and variant.
	upper := start<<6 | low>>58
	lower := low<<6>>2&^(1<<4-1) | kind
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], upper>>12<<16|cursorUUIDVersion<<12|upper&0xfff)
	binary.BigEndian.PutUint64(id[8:], 0b10<<62|lower)
	return id
}

func unpack(id uuid.UUID) (micros int64, low, kind uint64, ok bool) {
	first, second := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	if first>>12&0xf != cursorUUIDVersion || second>>62 != 0b10 {
		return 0, 0, 0, false
	}
	upper := first>>16<<12 | first&0xfff
	return int64(upper>>6) + epochMicros, upper<<58 | second<<2>>6, second & 0xf, true
}

// unwrap returns the time nearest to now that has these lowest bits.
func unwrap(bits uint64, now int64) int64 {
	const period = 1 << snapshotBits
	t := now&^(period-1) | int64(bits) //nolint:gosec // 38 bits
	switch {
	case t-now > period/2:
		return t - period
	case now-t > period/2:
		return t + period
	default:
		return t
	}
}
