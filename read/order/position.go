package order

import (
	"math"
	"time"
)

// The times that a DateTime64(6) can hold, in Unix microseconds: 1900-01-01
// to the end of 2299. A bound beyond them is no bound.
const (
	MinMicros = epochMicros
	MaxMicros = 10413791999999999
)

// Position is a position in the total order of a project's spans: by start in
// Unix microseconds, then by sort_hash.
type Position struct {
	Start    int64
	SortHash uint64
}

// Less reports whether p comes before q.
func (p Position) Less(q Position) bool {
	return p.Start < q.Start || p.Start == q.Start && p.SortHash < q.SortHash
}

// Before returns the position just below.
func (p Position) Before() Position {
	if p.SortHash == 0 {
		return Position{p.Start - 1, math.MaxUint64}
	}
	return Position{p.Start, p.SortHash - 1}
}

// After returns the position just above.
func (p Position) After() Position {
	if p.SortHash == math.MaxUint64 {
		return Position{p.Start + 1, 0}
	}
	return Position{p.Start, p.SortHash + 1}
}

// Range is a range of that order, both ends inclusive.
type Range struct{ Low, High Position }

// Everything returns the range of all that ClickHouse can hold.
func Everything() Range {
	return Range{Position{MinMicros, 0}, Position{MaxMicros, math.MaxUint64}}
}

// Starts returns the range of spans that start in [lo, hi], Unix microseconds.
func Starts(lo, hi int64) Range {
	return Range{Position{max(lo, MinMicros), 0}, Position{min(hi, MaxMicros), math.MaxUint64}}
}

// Intersect returns what both ranges have.
func (r Range) Intersect(q Range) Range {
	if r.Low.Less(q.Low) {
		r.Low = q.Low
	}
	if q.High.Less(r.High) {
		r.High = q.High
	}
	return r
}

// Empty reports whether nothing lies in the range.
func (r Range) Empty() bool { return r.High.Less(r.Low) }

// Contains reports whether p lies in the range.
func (r Range) Contains(p Position) bool { return !p.Less(r.Low) && !r.High.Less(p) }

// Weeks returns the range of the whole weeks that r touches: a statement that is
// bounded by r and by records finds rows of this range.
func (r Range) Weeks() Range {
	return Starts(Monday(r.Low.Start).UnixMicro(), Monday(r.High.Start).AddDate(0, 0, 7).UnixMicro()-1)
}

// Monday returns the start of the week of a time in Unix microseconds.
func Monday(micros int64) time.Time {
	t := time.UnixMicro(micros).UTC().Truncate(24 * time.Hour)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}
