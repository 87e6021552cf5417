package compile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Position is a place in the total order of a project's spans: by start in
// Unix microseconds, then by tie.
type Position struct {
	Start int64
	Tie   uint64
}

// Less orders positions.
func (p Position) Less(q Position) bool {
	return p.Start < q.Start || p.Start == q.Start && p.Tie < q.Tie
}

// Before is the position just below, After the one just above.
func (p Position) Before() Position {
	if p.Tie == 0 {
		return Position{p.Start - 1, math.MaxUint64}
	}
	return Position{p.Start, p.Tie - 1}
}

// After is the position just above.
func (p Position) After() Position {
	if p.Tie == math.MaxUint64 {
		return Position{p.Start + 1, 0}
	}
	return Position{p.Start, p.Tie + 1}
}

// Range is a stretch of that order, both ends inclusive.
type Range struct{ Low, High Position }

// Everything is the range of all that the store can hold.
func Everything() Range {
	return Range{Position{minMicros, 0}, Position{maxMicros, math.MaxUint64}}
}

// Starts is the range of spans that start in [lo, hi], Unix microseconds.
func Starts(lo, hi int64) Range {
	return Range{Position{max(lo, minMicros), 0}, Position{min(hi, maxMicros), math.MaxUint64}}
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

// maxWeeks bounds the list of weeks of a range.
const maxWeeks = 8

// week is the bound on the partition column that goes with the starts, for the
// choice of parts alone: the starts say the rest. It is 1970-01-01 where a client's
// clock was too far off to be given a partition.
func (r Range) week() node {
	const layout = time.DateOnly
	first, last := time.Unix(0, 0).UTC(), time.Date(2149, 1, 1, 0, 0, 0, 0, time.UTC) // what a Date can hold
	lo, hi := monday(r.Low.Start), monday(r.High.Start)
	// One comparison with a short list is less to plan than three.
	if lo.After(first) && hi.Before(last) && hi.Sub(lo) < maxWeeks*7*24*time.Hour {
		weeks := []string{first.Format(layout)}
		for at := lo; !at.After(hi); at = at.AddDate(0, 0, 7) {
			weeks = append(weeks, at.Format(layout))
		}
		return pruning{among("partition_week", weeks)}
	}
	var out []node
	if lo.After(first) {
		out = append(out, sql("partition_week >= ?", lo.Format(layout)))
	}
	if hi.Before(last) {
		out = append(out, sql("partition_week <= ?", max(hi.Format(layout), first.Format(layout))))
	}
	if len(out) == 0 {
		return constant(true)
	}
	return pruning{either(both(out...), sql("partition_week = '1970-01-01'"))}
}

// Weeks is the range of the whole weeks that r touches: what a statement bounded
// by r may find where it is bounded by records as well.
func (r Range) Weeks() Range {
	return Starts(monday(r.Low.Start).UnixMicro(), monday(r.High.Start).AddDate(0, 0, 7).UnixMicro()-1)
}

// monday begins the week of a moment, Unix microseconds.
func monday(micros int64) time.Time {
	t := time.UnixMicro(micros).UTC().Truncate(24 * time.Hour)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

// where is what every statement on spans begins with: the
// project, then the columns of the key from the left, then the partition.
//
// Types that are all there are leave no granule out, and are compared with each that the
// starts do not: a page of any moment is a tenth less without, one of a session, whose
// starts may be any, a quarter to a half.
func (r Range) where(w *writer, project domain.ProjectID, types []trace.Type) {
	w.put("project_id = ?", project.String())
	key := r.places()
	if len(types) < len(given()) {
		key = slices.Insert(key, 0, among("trace_type", words(types)))
	}
	for _, n := range append(key, r.week()) {
		if n != constant(true) {
			w.put(" AND ")
			n.write(w, nil)
		}
	}
}

// places bounds start_time and tie.
func (r Range) places() []node {
	out := make([]node, 0, 4)
	if n := timeRange("start_time", r.Low.Start, r.High.Start); n != constant(true) {
		out = append(out, n)
	}
	if r.Low.Tie > 0 {
		out = append(out, sql("(start_time > "+momentOf(r.Low.Start)+" OR sort_hash >= ?)", r.Low.Tie))
	}
	if r.High.Tie < math.MaxUint64 {
		out = append(out, sql("(start_time < "+momentOf(r.High.Start)+" OR sort_hash <= ?)", r.High.Tie))
	}
	return out
}

// Rate is a share of all traces, chosen by a hash of their ids: the same
// traces in every list, page and process.
type Rate struct {
	limited bool
	below   uint64
}

// NewRate makes the rate of a window; nil keeps all. It takes 0 to 1.
func NewRate(share *float64) Rate {
	if share == nil || *share >= 1 {
		return Rate{}
	}
	return Rate{limited: true, below: uint64(math.Ldexp(max(*share, 0), 64))}
}

// Keeps tells whether a trace is in the share.
func (r Rate) Keeps(id trace.TraceID) bool { return !r.limited || xxhash.Sum64(id[:]) < r.below }

func (r Rate) node() node {
	if !r.limited {
		return constant(true)
	}
	return sql("xxHash64(trace_id) < ?", r.below)
}

// Scan asks for rows of spans that a condition chooses.
type Scan struct {
	Project   domain.ProjectID
	Condition *Condition
	Range     Range
	Rate      Rate
	// Order is that of the rows; empty means descending.
	Order domain.Order
	// Limit is the number of rows; it is positive.
	Limit int
	// Only takes rows of these traces alone; nil means all.
	Only []trace.TraceID
	// Except leaves rows of these traces out.
	Except []trace.TraceID
	// Places takes rows at these places alone, which lie in Range; nil means all.
	Places []Position
	// ContentIndex tells that the documents have their full-text index (ContentIndexed).
	ContentIndex bool
	// Within is where spans and their documents are, in Range; nil for anywhere.
	Within *Within
	// Loose takes rows for which the condition holds roughly, where to leave more of
	// them out costs the store more than who decides; see Condition.Loosens.
	Loose bool
}

// keyColumns are what a Scan's statement selects, in this order: see Keys.
const keyColumns = "trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes"

// Keys is the statement of a scan: an ordered read for each type, one after the
// other. Who asks puts the rows into one order and takes the first Limit: that
// the store did so was a fifth of its work for a page. Its rows are trace_type
// Enum8, start_time DateTime64(6), tie UInt64, trace_id, span_id, stream_partition
// UInt32, version UInt64, created_at DateTime64(6), payload_bytes UInt32.
//
// It is one statement, whose reads begin in the order of Types: a trace that is
// moved from a type to a later one is seen in one of them. Documents know no
// types: where they decide, they are searched once, for all types together.
func (s Scan) Keys() Statement {
	if s.Condition.Documents {
		return s.Narrow(0)
	}
	w := new(writer)
	for i, t := range s.Condition.Types {
		if i > 0 {
			w.put(" UNION ALL ")
		}
		w.put("SELECT " + keyColumns + " FROM " + schema.Spans + " WHERE ")
		s.where(w, []trace.Type{t}, constant(true))
		w.put(byPlace(s.Order, s.Limit))
	}
	out := w.statement()
	out.StartsFirst = s.startsFirst()
	return out
}

// startsFirst tells whether the index of starts goes before the reading. The
// indexes of text want to be looked into while it goes on.
func (s Scan) startsFirst() bool {
	return (len(s.Condition.needles) == 0 || s.Places != nil) && (!s.ContentIndex || !s.Condition.Documents)
}

// Plain tells that the scan asks for nothing but a stretch of time, traces that
// are left out aside.
func (s Scan) Plain() bool {
	return len(s.Condition.needles) == 0 && s.Condition.over == constant(true) &&
		!s.Rate.limited && s.Only == nil && s.Places == nil && s.Within == nil
}

// Narrow is Keys for a scan that has few rows to look at. They are read at once
// and put into order, rather than in order for each type: that is planned once,
// which for so few is most of the work. The store refuses it where it would have
// to read more than maxRows, before it reads any; 0 is no bound.
func (s Scan) Narrow(maxRows int) Statement {
	// A condition of its own may read large columns. It is tried on the rows that
	// the place leaves, in the store's own order.
	plain, filtered := s.Plain(), " WHERE "
	if plain {
		filtered = " PREWHERE "
	}
	w := new(writer)
	w.put("SELECT " + keyColumns + " FROM " + schema.Spans + filtered)
	s.where(w, s.Condition.Types, constant(true))
	w.put(byPlace(s.Order, s.Limit))
	out := w.statement()
	out.MaxRows, out.OneStep, out.StartsFirst, out.OneThread = maxRows, plain, s.startsFirst(), plain
	return out
}

// Likeness is equal for scans that differ in where and how far they look, and
// in what of the same they leave out: pages of one list.
func (s Scan) Likeness() uint64 {
	w := new(writer)
	for _, t := range s.Condition.Types {
		w.put(t.String() + " ")
	}
	s.Range, s.Only, s.Except, s.Places, s.Within = Everything(), nil, nil, nil, nil
	s.condition(w, &scope{project: s.Project.String(), bounds: func(*writer) {}, starts: Everything()}, constant(true))
	h := xxhash.New()
	_, _ = fmt.Fprintf(h, "%s %q", w.text.String(), w.args) // a hash takes all
	return h.Sum64()
}

// ContentIndexed asks whether the documents have their full-text index, which
// is the deployment's choice. Its row is a UInt64, the number of tables that have it.
func ContentIndexed() Statement {
	return Statement{SQL: "SELECT count() FROM system.data_skipping_indices WHERE database = currentDatabase() AND name = '" + schema.ContentIndex + "'"}
}

// byPlace is the order of a list, empty meaning descending, and its limit.
func byPlace(o domain.Order, limit int) string {
	direction := " DESC"
	if o == domain.Ascending {
		direction = ""
	}
	return " ORDER BY start_time" + direction + ", sort_hash" + direction + " LIMIT " + strconv.Itoa(limit)
}

func (s Scan) where(w *writer, types []trace.Type, more node) {
	bounds := func(w *writer) { s.Range.where(w, s.Project, types) }
	bounds(w)
	s.condition(w, &scope{project: s.Project.String(), bounds: bounds, starts: s.Range, content: s.ContentIndex, within: s.Within, loose: s.Loose}, more)
}

// condition appends what the rows within the bounds have to hold.
func (s Scan) condition(w *writer, in *scope, more node) {
	nodes := make([]node, 0, 8)
	switch {
	case s.Places != nil:
		nodes = append(nodes, amongPlaces(s.Places))
	case s.Within != nil:
		nodes = append(nodes, s.Within.spans())
	}
	for _, n := range s.Condition.needles {
		switch {
		case s.Places == nil:
			nodes = append(nodes, n.node())
		case n.instead != nil: // the index has nothing to find among known rows
			nodes = append(nodes, n.instead)
		}
	}
	nodes = append(nodes, more, s.Rate.node())
	if s.Only != nil {
		nodes = append(nodes, ids("trace_id", s.Only))
	}
	if len(s.Except) > 0 {
		nodes = append(nodes, not(ids("trace_id", s.Except)))
	}
	if s.Places == nil {
		nodes = append(nodes, s.Condition.amongLeaves())
	}
	n := both(append(nodes, s.Condition.over)...)
	if n == constant(true) {
		return
	}
	w.put(" AND ")
	n.write(w, in)
}

// Having is the statement that asks which traces have a row in the scan that readers saw
// at a moment. Its rows are trace_id.
func (s Scan) Having(then Seen) Statement {
	w := new(writer)
	w.put("SELECT DISTINCT trace_id FROM " + schema.Spans + " WHERE ")
	s.where(w, s.Condition.Types, then.node())
	return w.statement()
}

// Firsts is the statement that asks where traces stand in a list of that moment: at the
// first row that was seen then, in the scan's order, and a trace of which none was, at
// the first of those that came first. Its rows are trace_id, and start_time and tie of
// that row as two numbers that grow along the list (see FirstAt).
func (s Scan) Firsts(then Seen) Statement {
	place := "(-toUnixTimestamp64Micro(start_time), bitNot(sort_hash))"
	if s.Order == domain.Ascending {
		place = "(toUnixTimestamp64Micro(start_time), sort_hash)"
	}
	w := new(writer)
	w.put("SELECT trace_id, at.1, at.2 FROM (SELECT trace_id, if(countIf(seen) > 0, minIf(place, seen), min((bitShiftRight(version, " + strconv.Itoa(schema.VersionShift) + "), place)).2) AS at FROM (SELECT trace_id, version, " + place + " AS place, ")
	then.node().write(w, nil)
	w.put(" AS seen FROM " + schema.Spans + " WHERE ")
	s.where(w, s.Condition.Types, constant(true))
	w.put(") GROUP BY trace_id)")
	return w.statement()
}

// FirstAt is the position that the two numbers of a row of Firsts are.
func (s Scan) FirstAt(start int64, tie uint64) Position {
	if s.Order == domain.Ascending {
		return Position{start, tie}
	}
	return Position{-start, ^tie}
}

// Seen tells what readers saw at a moment: of each partition of the stream the rows of
// versions below a bound. Of a partition that is not among them they saw all; nil is all.
type Seen map[uint32]uint64

// Has tells whether a row was seen.
func (s Seen) Has(partition uint32, version uint64) bool {
	below, known := s[partition]
	return !known || version < below
}

func (s Seen) node() node {
	if len(s) == 0 {
		return constant(true)
	}
	partitions := slices.Sorted(maps.Keys(s))
	below := make([]uint64, len(partitions))
	for i, p := range partitions {
		below[i] = s[p]
	}
	return sql("version < transform(stream_partition, CAST(?, 'Array(UInt32)'), CAST(?, 'Array(UInt64)'), toUInt64(18446744073709551615))", partitions, below)
}

// History asks how far the sink was at a moment, Unix milliseconds, or lag ago for 0. Its
// rows are stream_partition, the next offset of then, UInt64, and the moment, Int64. Of a
// partition of which nothing is known from then it is the first that is known since.
func History(topic string, moment int64, lag time.Duration) Statement {
	w := new(writer)
	w.put("WITH ")
	if moment == 0 {
		w.put("now64(3, 'UTC') - toIntervalMillisecond(" + strconv.FormatInt(lag.Milliseconds(), 10) + ")")
	} else {
		w.put("fromUnixTimestamp64Milli(" + strconv.FormatInt(moment, 10) + ", 'UTC')")
	}
	w.put(" AS moment SELECT stream_partition, if(countIf(at <= moment) > 0, argMaxIf(next_offset, at, at <= moment), min(next_offset)), toUnixTimestamp64Milli(moment)"+
		" FROM "+schema.SinkHistory+" WHERE topic = ? GROUP BY stream_partition", topic)
	return w.statement()
}
