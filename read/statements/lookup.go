package statements

import (
	"cmp"
	"slices"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// lookup returns the statement of a lookup of rows at known positions.
func lookup(w *sqltext.Writer) sqltext.Statement {
	s := w.Statement()
	s.OneStep, s.StartsFirst = true, true
	return s
}

// fewPositions is up to how many positions a lookup reads with one thread.
const fewPositions = 8

// withThreads returns the statement of a lookup that reads a few rows at each of so many positions.
func withThreads(s sqltext.Statement, places int) sqltext.Statement {
	s.OneThread = places <= fewPositions
	return s
}

// Key identifies rows of spans and of span_cumulative: all versions of one span, or,
// once in 2^64, of two.
type Key struct {
	Type trace.Type
	order.Position
}

// Bounds bounds the spans of a trace: Min and Max are starts in Unix microseconds, both
// inclusive; Records are the locations of their payloads (schema.Record).
type Bounds struct {
	Trace    trace.TraceID
	Min, Max int64
	Records  []uint64
}

// Columns chooses what a Lookup selects.
type Columns uint8

// The choices, in the order of the columns. They are columns of the table without
// functions, which ClickHouse would plan with every statement; the driver returns enums
// and times as numbers, times in Unix microseconds.
const (
	// Metrics: trace_id, span_id, parent_id, version UInt64, start_time, start_ns
	// UInt16, the traits span_type, response_hash UInt64 and failure_hash UInt64, and the
	// Float64 of errors, three of tokens, three of costs.
	Metrics Columns = iota + 1
	// Sums, of finalized traces: trace_id, span_id, version UInt64, and the sums over
	// the span and all spans below it, as in Metrics; NaN is 0.
	Cumulative
	// Sizes, one row for each trace: trace_id, rows UInt64, bytes UInt64 (of payloads).
	Sizes
	// Keys: as of Scan.Keys.
	Keys
	// Skeleton: Keys, then parent_id, start_ns UInt16, span_name, and the traits and
	// metrics of Metrics.
	Skeleton
	// Identifiers: trace_id, span_id, version UInt64, session_id, user_id and agent_id.
	Identifiers
	// Outline, for a trace without its payloads: trace_id, span_id, parent_id, version
	// UInt64, start_time, start_ns UInt16, end_time, end_ns UInt16, created_at, trace_type,
	// span_kind, status_code Int8, span_name, model, service, link_count UInt16,
	// event_names Array(String), payload_bytes UInt32, and the traits and metrics of Metrics.
	Outline
)

func (c Columns) text() (columns, table, tail string) {
	switch c {
	case Metrics:
		return "trace_id, span_id, parent_id, version, start_time, start_ns, " + schema.TraitColumns + ", " + schema.MetricColumns(), schema.Spans, ""
	case Cumulative:
		return "trace_id, span_id, version, " + schema.MetricColumns(), schema.SpanCumulative, ""
	case Identifiers:
		return "trace_id, span_id, version, session_id, user_id, agent_id", schema.Spans, ""
	case Sizes:
		return "trace_id, count(), sum(payload_bytes)", schema.Spans, " GROUP BY trace_id"
	case Outline:
		return "trace_id, span_id, parent_id, version, start_time, start_ns, end_time, end_ns, created_at, trace_type, span_kind, status_code, span_name, model, service, link_count, event_names, payload_bytes, " + schema.TraitColumns + ", " + schema.MetricColumns(), schema.Spans, ""
	case Skeleton:
		return keyColumns + ", parent_id, start_ns, span_name, " + schema.TraitColumns + ", " + schema.MetricColumns(), schema.Spans, ""
	default:
		return keyColumns, schema.Spans, ""
	}
}

// ByKeys returns the lookup of rows by their keys; there is at least one.
func ByKeys(project domain.ProjectID, columns Columns, keys []Key) sqltext.Statement {
	selected, table, tail := columns.text()
	return byKeys(project, selected, table, tail, keys)
}

func byKeys(project domain.ProjectID, selected, table, tail string, keys []Key) sqltext.Statement {
	lo, hi := keys[0].Start, keys[0].Start
	w := new(sqltext.Writer)
	for _, k := range keys {
		lo, hi = min(lo, k.Start), max(hi, k.Start)
	}
	w.Put("SELECT "+selected+" FROM "+table+" PREWHERE project_id = ?", project.String())
	w.AndStarts(order.Starts(lo, hi))
	w.Put(" AND (trace_type, start_time, sort_hash) IN (")
	for i, k := range keys {
		if i > 0 {
			w.Put(", ")
		}
		// The numbers are not a caller's text, and are written out: ClickHouse parses thousands of arguments one by one.
		w.Put("('" + k.Type.String() + "', " + sqltext.TimeLiteral(k.Start) + ", " + strconv.FormatUint(k.SortHash, 10) + ")")
	}
	w.Put(")" + tail)
	return withThreads(lookup(w), len(keys))
}

// OfTraces returns the lookup of the rows of whole traces; there is at least one. spans
// restricts them to these ids; nil means all.
func OfTraces(project domain.ProjectID, columns Columns, traces []Bounds, spans []trace.SpanID) sqltext.Statement {
	selected, table, tail := columns.text()
	all := make([]trace.TraceID, len(traces))
	for i, b := range traces {
		all[i] = b.Trace
	}
	stretches := timeRanges(traces)
	whole := order.Starts(stretches[0].Low.Start, stretches[len(stretches)-1].High.Start)
	w := new(sqltext.Writer)
	w.Put("SELECT "+selected+" FROM "+table+" PREWHERE project_id = ? AND "+sqltext.AnyTraceType, project.String())
	w.AndStarts(whole)
	if len(stretches) > 1 {
		parts := make([]sqltext.Node, 0, len(stretches))
		for _, s := range stretches {
			parts = append(parts, sqltext.TimeRange("start_time", s.Low.Start, s.High.Start))
		}
		w.Put(" AND ")
		sqltext.Or(parts...).Write(w, nil)
	}
	w.Put(" AND ")
	sqltext.IDs("trace_id", all).Write(w, nil)
	if spans != nil {
		w.Put(" AND ")
		sqltext.IDs("span_id", spans).Write(w, nil)
	}
	w.Put(tail)
	return lookup(w)
}

// maxTimeRanges bounds the ranges of a lookup. Each costs a search in the primary
// key and a comparison for each row that is read, which soon is more than
// reading what lies between two traces of a page.
const maxTimeRanges = 6

// smallGap is a gap that ClickHouse reads faster than it plans another range: 2 s in
// microseconds, a few granules at tens of thousands of spans a second.
const smallGap = 2_000_000

// timeRanges returns the bounds as ranges in ascending order, and joins the nearest ones.
func timeRanges(traces []Bounds) []order.Range {
	sorted := slices.SortedFunc(slices.Values(traces), func(a, b Bounds) int { return cmp.Compare(a.Min, b.Min) })
	var out []order.Range
	for _, b := range sorted {
		if n := len(out); n > 0 && b.Min-smallGap <= out[n-1].High.Start {
			out[n-1].High.Start = max(out[n-1].High.Start, b.Max)
			continue
		}
		out = append(out, order.Starts(b.Min, b.Max))
	}
	if len(out) <= maxTimeRanges {
		return out
	}
	gap := func(i int) int64 { return out[i].Low.Start - out[i-1].High.Start } // before range i
	widest := make([]int, 0, len(out)-1)
	for i := 1; i < len(out); i++ {
		widest = append(widest, i)
	}
	slices.SortFunc(widest, func(i, j int) int { return cmp.Compare(gap(j), gap(i)) })
	widest = append(widest[:maxTimeRanges-1], 0, len(out)) // gaps that stay, and both ends
	slices.Sort(widest)
	joined := make([]order.Range, 0, maxTimeRanges)
	for i := 1; i < len(widest); i++ {
		joined = append(joined, order.Range{Low: out[widest[i-1]].Low, High: out[widest[i]-1].High})
	}
	return joined
}

// Unread returns what of all is not in own, which one lookup of payloads read; that lookup
// left out what starts in other weeks than own.
func Unread(own, all []Bounds) []Bounds {
	if len(own) == 0 {
		return all
	}
	lo, hi := own[0].Min, own[0].Max
	read := make(map[trace.TraceID][]uint64, len(own))
	for _, o := range own {
		lo, hi = min(lo, o.Min), max(hi, o.Max)
		read[o.Trace] = o.Records
	}
	weeks := order.Starts(lo, hi).Weeks()
	var out []Bounds
	for _, t := range all {
		if weeks.Low.Start <= t.Min && t.Max <= weeks.High.Start {
			t.Records = slices.DeleteFunc(slices.Clone(t.Records), func(n uint64) bool { return slices.Contains(read[t.Trace], n) })
		}
		if len(t.Records) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// SpansNamed returns the lookup of keys by span ids alone, through their index; limit bounds the rows.
func SpansNamed(project domain.ProjectID, spans []trace.SpanID, limit int) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT "+keyColumns+" FROM "+schema.Spans+" WHERE project_id = ? AND "+sqltext.AnyTraceType+" AND ", project.String())
	sqltext.IDs("span_id", spans).Write(w, nil)
	w.Put(" LIMIT " + strconv.Itoa(limit))
	return w.Statement()
}

// TraceBounds returns the lookup of the bounds of traces. Its rows are trace_id, min_start and
// max_start (DateTime64(6), Unix microseconds), records Array(UInt64): several for
// a trace whose rows ClickHouse has not merged; the caller merges them at a lower
// cost.
func TraceBounds(project domain.ProjectID, in []trace.TraceID) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT trace_id, min_start, max_start, records FROM "+schema.TraceIndex+" PREWHERE project_id = ? AND ", project.String())
	sqltext.IDs("trace_id", in).Write(w, nil)
	return withThreads(lookup(w), len(in))
}

// SinkProgress returns the statement that asks for the progress of the sink. Its rows are stream_partition UInt32 and
// next_offset UInt64.
func SinkProgress(topic string) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT stream_partition, max(next_offset) FROM "+schema.SinkProgress+" WHERE topic = ? GROUP BY stream_partition", topic)
	return w.Statement()
}

// WrittenVersions returns the lookup of the versions up to which traces were written. Its
// rows are trace_id and last_version UInt64: several for a trace, of which the highest counts.
func WrittenVersions(project domain.ProjectID, in []trace.TraceID) sqltext.Statement {
	return versionsOf("last_version", schema.TraceIndex, project, in)
}

// FinalizedVersions returns the lookup of the versions up to which traces were finalized
// until a time in Unix microseconds. Its rows are trace_id and version UInt64, as those of
// WrittenVersions: a trace is finalized where this version is not lower.
func FinalizedVersions(project domain.ProjectID, in []trace.TraceID, until int64) sqltext.Statement {
	s := versionsOf("version", schema.TraceTotals, project, in)
	s.SQL += " WHERE finalized_at <= " + sqltext.TimeLiteral(until)
	return s
}

func versionsOf(column, table string, project domain.ProjectID, in []trace.TraceID) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT trace_id, "+column+" FROM "+table+" PREWHERE project_id = ? AND ", project.String())
	sqltext.IDs("trace_id", in).Write(w, nil)
	return withThreads(lookup(w), len(in))
}
