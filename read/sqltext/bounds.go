package sqltext

import (
	"math"
	"time"

	"colonnade/read/order"
)

// TimeRange returns the bounds on a column, both ends inclusive, in Unix microseconds.
func TimeRange(column string, lo, hi int64) Node {
	if lo > hi || lo > order.MaxMicros || hi < order.MinMicros {
		return Constant(false)
	}
	if lo == hi {
		return Expr(column + " = " + TimeLiteral(lo))
	}
	var out []Node
	if lo > order.MinMicros {
		out = append(out, Expr(column+" >= "+TimeLiteral(lo)))
	}
	if hi < order.MaxMicros {
		out = append(out, Expr(column+" <= "+TimeLiteral(hi)))
	}
	return And(out...)
}

// TimeLiteral returns a time in Unix microseconds as a literal of a column in UTC.
// ClickHouse would plan and evaluate a function of a number for each part, and the
// statement of a page has ten of them.
func TimeLiteral(micros int64) string {
	return "'" + time.UnixMicro(min(max(micros, order.MinMicros), order.MaxMicros)).UTC().Format(timeLayout) + "'"
}

// AnyTraceType holds for every type: the type of a trace may change while spans arrive.
const AnyTraceType = "trace_type IN ('invocation', 'annotation', 'unknown')"

// timeLayout is the layout of a literal of a DateTime64(6) in UTC.
const timeLayout = "2006-01-02 15:04:05.000000"

// AndStarts appends the bounds of a range on start_time and partition_week.
func (w *Writer) AndStarts(r order.Range) {
	for _, n := range []Node{TimeRange("start_time", r.Low.Start, r.High.Start), PartitionWeeks(r)} {
		if n != Constant(true) {
			w.Put(" AND ")
			n.Write(w, nil)
		}
	}
}

// AndPartitionWeeks appends the bound of a range on partition_week.
func (w *Writer) AndPartitionWeeks(r order.Range) {
	if n := PartitionWeeks(r); n != Constant(true) {
		w.Put(" AND ")
		n.Write(w, nil)
	}
}

// maxWeeks bounds the list of weeks of a range: beyond 8 weeks two comparisons are shorter.
const maxWeeks = 8

// PartitionWeeks returns the bound on partition_week of a range, which chooses parts
// only: the bound on start_time decides about rows. The week is 1970-01-01 where a
// client's clock was too far off for a partition of its own.
func PartitionWeeks(r order.Range) Node {
	const layout = time.DateOnly
	first, last := time.Unix(0, 0).UTC(), time.Date(2149, 1, 1, 0, 0, 0, 0, time.UTC) // what a Date can hold
	lo, hi := order.Monday(r.Low.Start), order.Monday(r.High.Start)
	// One comparison with a short list is less to plan than three.
	if lo.After(first) && hi.Before(last) && hi.Sub(lo) < maxWeeks*7*24*time.Hour {
		weeks := []string{first.Format(layout)}
		for at := lo; !at.After(hi); at = at.AddDate(0, 0, 7) {
			weeks = append(weeks, at.Format(layout))
		}
		return IndexHint(Among("partition_week", weeks))
	}
	var out []Node
	if lo.After(first) {
		out = append(out, Expr("partition_week >= ?", lo.Format(layout)))
	}
	if hi.Before(last) {
		out = append(out, Expr("partition_week <= ?", max(hi.Format(layout), first.Format(layout))))
	}
	if len(out) == 0 {
		return Constant(true)
	}
	return IndexHint(Or(And(out...), Expr("partition_week = '1970-01-01'")))
}

// PositionBounds returns the bounds of a range on start_time and sort_hash.
func PositionBounds(r order.Range) []Node {
	out := make([]Node, 0, 4)
	if n := TimeRange("start_time", r.Low.Start, r.High.Start); n != Constant(true) {
		out = append(out, n)
	}
	if r.Low.SortHash > 0 {
		out = append(out, Expr("(start_time > "+TimeLiteral(r.Low.Start)+" OR sort_hash >= ?)", r.Low.SortHash))
	}
	if r.High.SortHash < math.MaxUint64 {
		out = append(out, Expr("(start_time < "+TimeLiteral(r.High.Start)+" OR sort_hash <= ?)", r.High.SortHash))
	}
	return out
}
