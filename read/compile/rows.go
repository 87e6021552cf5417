package compile

import (
	"cmp"
	"slices"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Key names rows of spans and span_payloads: all versions of one span, or,
// once in 2^64, of two.
type Key struct {
	Type trace.Type
	Position
}

// Bounds says where the spans of a trace lie: Min and Max are starts in Unix
// microseconds, both inclusive.
type Bounds struct {
	Trace    trace.TraceID
	Min, Max int64
}

// Columns chooses what a Lookup selects.
type Columns uint8

// The choices. They are columns as they stand in the table: a function of one is
// planned with every statement, and the driver gives enums and times as numbers,
// times in Unix microseconds. In this order:
const (
	// Core: trace_type, span_type Enum8; span_type_declared Bool; span_kind,
	// status_code Enum8; start_time, end_time DateTime64(6); start_ns, end_ns
	// UInt16; tie, version UInt64; trace_id, span_id, parent_id; created_at,
	// updated_at DateTime64(6); created_by_id, updated_by_id, hash_id UUID;
	// span_name, status_message, session_id, user_id, agent_id String.
	Core Columns = iota + 1
	// Payload: trace_id, span_id, version UInt64; inputs, outputs, parameters,
	// internals, attributes, events, links, resource, scope String.
	Payload
	// Metrics: trace_id, span_id, parent_id, version UInt64, start_time, start_ns
	// UInt16, and the Float64 of errors, three of tokens, three of costs.
	Metrics
	// Sums, of settled traces: trace_id, span_id, version UInt64, and what the span
	// and all below it sum, as in Metrics; NaN is 0.
	Sums
	// Sizes, one row for each trace: trace_id, rows UInt64, bytes UInt64 (of payloads).
	Sizes
	// Keys: as of Scan.Keys.
	Keys
)

const coreColumns = "trace_type, span_type, span_type_declared, span_kind, status_code, " +
	"start_time, end_time, start_ns, end_ns, tie, version, trace_id, span_id, parent_id, " +
	"created_at, updated_at, created_by_id, updated_by_id, hash_id, " +
	"span_name, status_message, session_id, user_id, agent_id"

const metricColumns = "errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total"

func (c Columns) text() (columns, table, tail string) {
	switch c {
	case Core:
		return coreColumns, schema.Spans, ""
	case Payload:
		return "trace_id, span_id, version, inputs, outputs, parameters, internals, attributes, events, links, resource, scope", schema.SpanPayloads, ""
	case Metrics:
		return "trace_id, span_id, parent_id, version, start_time, start_ns, " + metricColumns, schema.Spans, ""
	case Sums:
		return "trace_id, span_id, version, " + metricColumns, schema.SpanSums, ""
	case Sizes:
		return "trace_id, count(), sum(payload_bytes)", schema.Spans, " GROUP BY trace_id"
	default:
		return keyColumns, schema.Spans, ""
	}
}

// types is every type: which one a trace has may change under way.
const types = "trace_type IN ('invocation', 'annotation', 'unknown')"

// ByKeys looks rows up by their keys; there is at least one.
func ByKeys(project domain.ProjectID, columns Columns, keys []Key) Statement {
	selected, table, tail := columns.text()
	return byKeys(project, selected, table, tail, keys)
}

// keyTime is a moment as a literal of its column, which is in UTC.
const keyTime = "2006-01-02 15:04:05.000000"

func byKeys(project domain.ProjectID, selected, table, tail string, keys []Key) Statement {
	lo, hi := keys[0].Start, keys[0].Start
	w := new(writer)
	for _, k := range keys {
		lo, hi = min(lo, k.Start), max(hi, k.Start)
	}
	r := Starts(lo, hi)
	w.put("SELECT "+selected+" FROM "+table+" PREWHERE project_id = ?", project.String())
	r.and(w)
	w.put(" AND (trace_type, start_time, tie) IN (")
	for i, k := range keys {
		if i > 0 {
			w.put(", ")
		}
		// Numbers of ours, written out: thousands of arguments would be read one by one.
		w.put("('" + k.Type.String() + "', " + momentOf(k.Start) + ", " + strconv.FormatUint(k.Tie, 10) + ")")
	}
	w.put(")" + tail)
	return w.lookup()
}

// and appends the bounds on start_time and week.
func (r Range) and(w *writer) {
	for _, n := range []node{timeRange("start_time", r.Low.Start, r.High.Start), r.week()} {
		if n != constant(true) {
			w.put(" AND ")
			n.write(w, nil)
		}
	}
}

// OfTraces looks up the rows of whole traces; there is at least one. spans
// restricts them to these ids; nil means all.
func OfTraces(project domain.ProjectID, columns Columns, traces []Bounds, spans []trace.SpanID) Statement {
	selected, table, tail := columns.text()
	all := make([]trace.TraceID, len(traces))
	for i, b := range traces {
		all[i] = b.Trace
	}
	stretches := stretches(traces)
	whole := Starts(stretches[0].Low.Start, stretches[len(stretches)-1].High.Start)
	w := new(writer)
	w.put("SELECT "+selected+" FROM "+table+" PREWHERE project_id = ? AND "+types, project.String())
	whole.and(w)
	if len(stretches) > 1 {
		parts := make([]node, 0, len(stretches))
		for _, s := range stretches {
			parts = append(parts, timeRange("start_time", s.Low.Start, s.High.Start))
		}
		w.put(" AND ")
		either(parts...).write(w, nil)
	}
	w.put(" AND ")
	ids("trace_id", all).write(w, nil)
	if spans != nil {
		w.put(" AND ")
		ids("span_id", spans).write(w, nil)
	}
	w.put(tail)
	return w.lookup()
}

// maxStretches bounds the ranges of a lookup. Each costs a search in the primary
// key and a comparison for each row that is read, which soon is more than
// reading what lies between two traces of a page.
const maxStretches = 6

// smallGap is a gap that is read sooner than another range is planned, in
// microseconds: a few granules where tens of thousands of spans start in it.
const smallGap = 2_000_000

// stretches joins the bounds that lie nearest to each other, ascending.
func stretches(traces []Bounds) []Range {
	sorted := slices.SortedFunc(slices.Values(traces), func(a, b Bounds) int { return cmp.Compare(a.Min, b.Min) })
	var out []Range
	for _, b := range sorted {
		if n := len(out); n > 0 && b.Min-smallGap <= out[n-1].High.Start {
			out[n-1].High.Start = max(out[n-1].High.Start, b.Max)
			continue
		}
		out = append(out, Starts(b.Min, b.Max))
	}
	if len(out) <= maxStretches {
		return out
	}
	gap := func(i int) int64 { return out[i].Low.Start - out[i-1].High.Start } // before stretch i
	widest := make([]int, 0, len(out)-1)
	for i := 1; i < len(out); i++ {
		widest = append(widest, i)
	}
	slices.SortFunc(widest, func(i, j int) int { return cmp.Compare(gap(j), gap(i)) })
	widest = append(widest[:maxStretches-1], 0, len(out)) // gaps that stay, and both ends
	slices.Sort(widest)
	joined := make([]Range, 0, maxStretches)
	for i := 1; i < len(widest); i++ {
		joined = append(joined, Range{out[widest[i-1]].Low, out[widest[i]-1].High})
	}
	return joined
}

// SpansNamed looks up keys by span ids alone, by way of their index; limit bounds the rows.
func SpansNamed(project domain.ProjectID, spans []trace.SpanID, limit int) Statement {
	w := new(writer)
	w.put("SELECT "+keyColumns+" FROM "+schema.Spans+" WHERE project_id = ? AND "+types+" AND ", project.String())
	ids("span_id", spans).write(w, nil)
	w.put(" LIMIT " + strconv.Itoa(limit))
	return w.statement()
}

// TraceBounds looks up where traces lie. Its rows are trace_id, min_start and
// max_start (DateTime64(6), Unix microseconds): several for a trace whose rows
// the store has not merged, which cost less to merge here than there.
func TraceBounds(project domain.ProjectID, in []trace.TraceID) Statement {
	w := new(writer)
	w.put("SELECT trace_id, min_start, max_start FROM "+schema.TraceIndex+" WHERE project_id = ? AND ", project.String())
	ids("trace_id", in).write(w, nil)
	return w.statement()
}

// Progress asks how far the sink is. Its rows are stream_partition UInt32 and
// next_offset UInt64.
func Progress(topic string) Statement {
	w := new(writer)
	w.put("SELECT stream_partition, max(next_offset) FROM "+schema.SinkProgress+" WHERE topic = ? GROUP BY stream_partition", topic)
	return w.statement()
}
