package compile

import (
	"cmp"
	"slices"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Key names rows of spans and of span_cumulative: all versions of one span, or, once in
// 2^64, of two.
type Key struct {
	Type trace.Type
	Position
}

// Version names a row of span_payloads_packed: what was written of a span at one place
// of the stream. Start, Unix microseconds, says in which week it lies.
type Version struct {
	Partition uint32
	Version   uint64
	Start     int64
}

// Bounds says where the spans of a trace lie: Min and Max are starts in Unix
// microseconds, both inclusive; Records are where their documents are, as
// schema.Record names them.
type Bounds struct {
	Trace    trace.TraceID
	Min, Max int64
	Records  []uint64
}

// Columns chooses what a Lookup selects.
type Columns uint8

// The choices. They are columns as they stand in the table: a function of one is
// planned with every statement, and the driver gives enums and times as numbers,
// times in Unix microseconds. In this order:
const (
	// Metrics: trace_id, span_id, parent_id, version UInt64, start_time, start_ns
	// UInt16, and the Float64 of errors, three of tokens, three of costs.
	Metrics Columns = iota + 1
	// Sums, of settled traces: trace_id, span_id, version UInt64, and what the span
	// and all below it sum, as in Metrics; NaN is 0.
	Sums
	// Sizes, one row for each trace: trace_id, rows UInt64, bytes UInt64 (of documents).
	Sizes
	// Keys: as of Scan.Keys.
	Keys
)

func (c Columns) text() (columns, table, tail string) {
	switch c {
	case Metrics:
		return "trace_id, span_id, parent_id, version, start_time, start_ns, " + schema.MetricColumns(), schema.Spans, ""
	case Sums:
		return "trace_id, span_id, version, " + schema.MetricColumns(), schema.SpanCumulative, ""
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
	w.put(" AND (trace_type, start_time, sort_hash) IN (")
	for i, k := range keys {
		if i > 0 {
			w.put(", ")
		}
		// Numbers of ours, written out: thousands of arguments would be read one by one.
		w.put("('" + k.Type.String() + "', " + momentOf(k.Start) + ", " + strconv.FormatUint(k.Tie, 10) + ")")
	}
	w.put(")" + tail)
	return w.lookup().at(len(keys))
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

// documentColumns are the columns of documents; text is an expression of that column.
func documentColumns(text string) string {
	return "trace_id, span_id, version, " + text + ", head, lengths"
}

// Documents looks up the documents of versions; there is at least one. Its rows
// are trace_id, span_id, version UInt64, text, head String, lengths
// FixedString(36): see migrations/clickhouse/0001_schema.sql. Among them may be
// others of the same version: of another partition nearby, or from before the
// topic was made again.
func Documents(project domain.ProjectID, of []Version) Statement {
	return ofVersions(project, documentColumns("text"), nil, of)
}

// Hold asks of which of these versions the documents fulfil the scan's condition, which
// has Rows; there is at least one. Its rows are start_time DateTime64(6), stream_partition
// UInt32, version UInt64 and whether they do, UInt8; none for a version whose documents
// are not there, and others as of Documents.
func (s Scan) Hold(of []Version) Statement {
	documents, _ := s.Condition.over.(document)
	w := new(writer)
	documents.of.write(w, &scope{loose: s.Loose})
	return ofVersions(s.Project, "start_time, stream_partition, version, "+w.text.String(), w.args, of)
}

// ofVersions looks up rows of span_payloads_packed; args are those of what is selected.
func ofVersions(project domain.ProjectID, selected string, args []any, of []Version) Statement {
	lo, hi := of[0].Start, of[0].Start
	for _, v := range of {
		lo, hi = min(lo, v.Start), max(hi, v.Start)
	}
	w := new(writer)
	w.put("SELECT "+selected+" FROM "+schema.SpanPayloads+" PREWHERE project_id = ?", append(args, project.String())...)
	Starts(lo, hi).weeks(w)
	versions, records := make([]uint64, len(of)), make([]uint64, len(of))
	for i, v := range of {
		versions[i], records[i] = v.Version, schema.Record(v.Partition, v.Version)
	}
	w.put(" AND version IN (")
	w.numbers(versions)
	w.put(") AND ")
	inStream(records).write(w, nil)
	return w.lookup().documentsAt(len(of))
}

// inStream chooses the granules of span_payloads_packed that hold these records; there is at
// least one. Those of one partition are a list of its offsets, which costs a statement of
// fifty a tenth less than pairs; a list for each of several is compared in turn with every
// stretch of the key.
func inStream(records []uint64) pruning {
	slices.Sort(records)
	records = slices.Compact(records)
	partition := func(record uint64) string { return strconv.FormatUint(record>>schema.RecordShift, 10) }
	offset := func(record uint64) string { return strconv.FormatUint(record&(1<<schema.RecordShift-1), 10) }
	first, last := partition(records[0]), partition(records[len(records)-1])
	w := new(writer)
	for i, r := range records {
		if i > 0 {
			w.put(", ")
		}
		if first == last {
			w.put(offset(r))
		} else {
			w.put("(" + partition(r) + ", " + offset(r) + ")")
		}
	}
	if first == last {
		return pruning{sql("stream_partition = " + first + " AND stream_offset IN (" + w.text.String() + ")")}
	}
	return pruning{sql("(stream_partition, stream_offset) IN (" + w.text.String() + ")")}
}

// DocumentsOf looks up the documents of whole traces, of all versions that are
// there; some of them have records. Its rows are those of Documents.
func DocumentsOf(project domain.ProjectID, traces []Bounds) Statement {
	return inRecords(project, "text", traces)
}

// Whole looks up the documents of whole traces by their ids alone, of all versions
// that are there; there is at least one. Its rows are those of Documents. The store
// asks the index of traces by itself: where a trace is all that is asked for, one
// statement is planned in place of two, which spares a sixth of both.
//
// The week, which the index does not have, is not named: what leaves parts out is
// where in the stream they are.
func Whole(project domain.ProjectID, in []trace.TraceID) Statement {
	of := ids("trace_id", in)
	w := new(writer)
	w.put("SELECT "+documentColumns("text")+" FROM "+schema.SpanPayloads+" PREWHERE project_id = ? AND ", project.String())
	of.write(w, nil)
	w.put(" AND (stream_partition, stream_offset) IN (SELECT toUInt32(bitShiftRight(arrayJoin(records) AS record, "+strconv.Itoa(schema.RecordShift)+
		")), bitAnd(record, "+strconv.FormatUint(1<<schema.RecordShift-1, 10)+") FROM "+schema.TraceIndex+" PREWHERE project_id = ? AND ", project.String())
	of.write(w, nil)
	w.put(")")
	s := w.lookup()
	s.RowsPerThread = documentsPerThread
	return s
}

// Heads looks up all that traces have in their records, as DocumentsOf does, and
// of the spans of these versions their documents as well; of the others text is
// empty. What starts in other weeks than Min and Max is left out. Where versions
// is empty the column text is not read at all, else it is for each of the spans:
// the store refuses to read more than maxBytes; 0 is no bound.
func Heads(project domain.ProjectID, traces []Bounds, versions []uint64, maxBytes int64) Statement {
	text := "''"
	if len(versions) > 0 {
		w := new(writer)
		w.put("if(version IN (")
		w.numbers(versions)
		w.put("), text, '')")
		text = w.text.String()
	}
	s := inRecords(project, text, traces)
	s.MaxBytes = maxBytes
	return s
}

// numbers appends a list of numbers of ours.
func (w *writer) numbers(of []uint64) {
	for i, n := range of {
		if i > 0 {
			w.put(", ")
		}
		w.put(strconv.FormatUint(n, 10))
	}
}

func inRecords(project domain.ProjectID, text string, traces []Bounds) Statement {
	lo, hi := traces[0].Min, traces[0].Max
	all := make([]trace.TraceID, len(traces))
	w := new(writer)
	var records []uint64
	for i, b := range traces {
		all[i] = b.Trace
		lo, hi = min(lo, b.Min), max(hi, b.Max)
		records = append(records, b.Records...)
	}
	w.put("SELECT "+documentColumns(text)+" FROM "+schema.SpanPayloads+" PREWHERE project_id = ?", project.String())
	Starts(lo, hi).weeks(w)
	w.put(" AND ")
	ids("trace_id", all).write(w, nil)
	w.put(" AND ")
	inStream(records).write(w, nil)
	return w.lookup().documentsAt(len(records))
}

// weeks appends the bound on the partition.
func (r Range) weeks(w *writer) {
	if n := r.week(); n != constant(true) {
		w.put(" AND ")
		n.write(w, nil)
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
// max_start (DateTime64(6), Unix microseconds), records Array(UInt64): several for
// a trace whose rows the store has not merged, which cost less to merge here than
// there.
func TraceBounds(project domain.ProjectID, in []trace.TraceID) Statement {
	w := new(writer)
	w.put("SELECT trace_id, min_start, max_start, records FROM "+schema.TraceIndex+" PREWHERE project_id = ? AND ", project.String())
	ids("trace_id", in).write(w, nil)
	return w.lookup().at(len(in))
}

// Progress asks how far the sink is. Its rows are stream_partition UInt32 and
// next_offset UInt64.
func Progress(topic string) Statement {
	w := new(writer)
	w.put("SELECT stream_partition, max(next_offset) FROM "+schema.SinkProgress+" WHERE topic = ? GROUP BY stream_partition", topic)
	return w.statement()
}
