package order

import (
	"math"
	"time"
)

// The moments that a DateTime64(6) can hold, in Unix microseconds: 1900-01-01
// to the end of 2299. A bound beyond is none.
const (
	MinMicros = epochMicros
	MaxMicros = 10413791999999999
)

// Position is a place in the total order of a project's spans: by start in
// Unix microseconds, then by tie.
type Position struct {
	Start    int64
	SortHash uint64
}

// Less orders positions.
func (p Position) Less(q Position) bool {
	return p.Start < q.Start || p.Start == q.Start && p.SortHash < q.SortHash
}

// Before is the position just below, After the one just above.
func (p Position) Before() Position {
	if p.SortHash == 0 {
		return Position{p.Start - 1, math.MaxUint64}
	}
	return Position{p.Start, p.SortHash - 1}
}

// After is the position just above.
func (p Position) After() Position {
	if p.SortHash == math.MaxUint64 {
		return Position{p.Start + 1, 0}
	}
	return Position{p.Start, p.SortHash + 1}
}

// Range is a stretch of that order, both ends inclusive.
type Range struct{ Low, High Position }

// Everything is the range of all that the store can hold.
func Everything() Range {
	return Range{Position{MinMicros, 0}, Position{MaxMicros, math.MaxUint64}}
}

// Starts is the range of spans that start in [lo, hi], Unix microseconds.
func Starts(lo, hi int64) Range {
	return Range{Position{max(lo, MinMicros), 0}, Position{min(hi, MaxMicros), math.MaxUint64}}
}

// Intersect is what both ranges have.
func (r Range) Intersect(q Range) Range {
	if r.Low.Less(q.Low) {
		r.Low = q.Low
	}
	if q.High.Less(r.High) {
		r.High = q.High
	}
	return r
}

// Empty tells that nothing lies in the range.
func (r Range) Empty() bool { return r.High.Less(r.Low) }

// Contains tells whether p lies in the range.
func (r Range) Contains(p Position) bool { return !p.Less(r.Low) && !r.High.Less(p) }

// Weeks is the range of the whole weeks that r touches: what a statement bounded
// by r may find where it is bounded by records as well.
func (r Range) Weeks() Range {
	return Starts(Monday(r.Low.Start).UnixMicro(), Monday(r.High.Start).AddDate(0, 0, 7).UnixMicro()-1)
}

// monday begins the week of a moment, Unix microseconds.
func Monday(micros int64) time.Time {
	t := time.UnixMicro(micros).UTC().Truncate(24 * time.Hour)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}
