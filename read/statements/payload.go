package statements

import (
	"slices"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// payloadsPerThread is how many rows of span_payloads_packed are worth a thread.
const payloadsPerThread = 512

// withPayloadThreads returns withThreads for rows of span_payloads_packed.
func withPayloadThreads(s sqltext.Statement, places int) sqltext.Statement {
	s = withThreads(s, places)
	if !s.OneThread {
		s.RowsPerThread = payloadsPerThread
	}
	return s
}

// Version identifies a row of span_payloads_packed: the payloads of a span that were
// written from one offset of the stream. Start, Unix microseconds, is in its week.
type Version struct {
	Partition uint32
	Version   uint64
	Start     int64
}

// payloadColumns returns the columns of payloads; text is an expression of that column.
func payloadColumns(text string) string {
	return "trace_id, span_id, version, " + text + ", head, lengths"
}

// Payloads returns the lookup of the payloads of versions; there is at least one. Its rows
// are trace_id, span_id, version UInt64, text, head String, lengths
// FixedString(36): see migrations/clickhouse/0001_schema.sql. Among them may be
// others of the same version: of another partition nearby, or from before the
// topic was made again.
func Payloads(project domain.ProjectID, of []Version) sqltext.Statement {
	return payloadsOfVersions(project, payloadColumns("text"), nil, of)
}

// Verify returns the statement that asks which of these versions have payloads that
// fulfil the scan's condition, for a condition with WithoutPayloads; there is at least
// one version. Its rows are start_time DateTime64(6), stream_partition UInt32, version
// UInt64 and whether they do, UInt8. A version without payloads has no row, and there
// may be rows of other versions, as in Payloads.
func (s Scan) Verify(of []Version) sqltext.Statement {
	documents, _ := s.Condition.Superset().(sqltext.PayloadCondition)
	w := new(sqltext.Writer)
	documents.Of.Write(w, &sqltext.Scope{SkipRecheck: s.SkipRecheck})
	held := w.Statement()
	return payloadsOfVersions(s.Project, "start_time, stream_partition, version, "+held.SQL, held.Args, of)
}

// payloadsOfVersions returns the lookup of rows of span_payloads_packed; args are those of the selected expression.
func payloadsOfVersions(project domain.ProjectID, selected string, args []any, of []Version) sqltext.Statement {
	lo, hi := of[0].Start, of[0].Start
	for _, v := range of {
		lo, hi = min(lo, v.Start), max(hi, v.Start)
	}
	w := new(sqltext.Writer)
	w.Put("SELECT "+selected+" FROM "+schema.SpanPayloads+" PREWHERE project_id = ?", append(args, project.String())...)
	w.AndPartitionWeeks(order.Starts(lo, hi))
	versions, records := make([]uint64, len(of)), make([]uint64, len(of))
	for i, v := range of {
		versions[i], records[i] = v.Version, schema.Record(v.Partition, v.Version)
	}
	w.Put(" AND version IN (")
	numbers(w, versions)
	w.Put(") AND ")
	atRecords(records).Write(w, nil)
	return withPayloadThreads(lookup(w), len(of))
}

// atRecords returns the node that chooses the granules of span_payloads_packed with these
// records; there is at least one. The records of one partition are a list of offsets,
// which costs a statement of fifty a tenth less than pairs. Of several partitions
// ClickHouse would compare each list with every range of the key.
func atRecords(records []uint64) sqltext.Node {
	slices.Sort(records)
	records = slices.Compact(records)
	partition := func(record uint64) string { return strconv.FormatUint(record>>schema.RecordShift, 10) }
	offset := func(record uint64) string { return strconv.FormatUint(record&(1<<schema.RecordShift-1), 10) }
	first, last := partition(records[0]), partition(records[len(records)-1])
	w := new(sqltext.Writer)
	for i, r := range records {
		if i > 0 {
			w.Put(", ")
		}
		if first == last {
			w.Put(offset(r))
		} else {
			w.Put("(" + partition(r) + ", " + offset(r) + ")")
		}
	}
	if first == last {
		return sqltext.IndexHint(sqltext.Expr("stream_partition = " + first + " AND stream_offset IN (" + w.Statement().SQL + ")"))
	}
	return sqltext.IndexHint(sqltext.Expr("(stream_partition, stream_offset) IN (" + w.Statement().SQL + ")"))
}

// TracePayloads returns the lookup of the payloads of whole traces, of all stored versions; some of
// the traces have records. Its rows are those of Payloads.
func TracePayloads(project domain.ProjectID, traces []Bounds) sqltext.Statement {
	return payloadsInRecords(project, "text", traces)
}

// PayloadsByTraceID returns the lookup of the payloads of whole traces by their ids
// alone, of all stored versions; there is at least one trace. Its rows are those of
// Payloads. A subquery reads trace_index, so that ClickHouse plans one statement
// instead of two, which saves a sixth of both.
//
// The statement has no bound on the week, which trace_index does not have: the offsets
// in the stream exclude parts.
func PayloadsByTraceID(project domain.ProjectID, in []trace.TraceID) sqltext.Statement {
	of := sqltext.IDs("trace_id", in)
	w := new(sqltext.Writer)
	w.Put("SELECT "+payloadColumns("text")+" FROM "+schema.SpanPayloads+" PREWHERE project_id = ? AND ", project.String())
	of.Write(w, nil)
	w.Put(" AND (stream_partition, stream_offset) IN (SELECT toUInt32(bitShiftRight(arrayJoin(records) AS record, "+strconv.Itoa(schema.RecordShift)+
		")), bitAnd(record, "+strconv.FormatUint(1<<schema.RecordShift-1, 10)+") FROM "+schema.TraceIndex+" PREWHERE project_id = ? AND ", project.String())
	of.Write(w, nil)
	w.Put(")")
	s := lookup(w)
	s.RowsPerThread = payloadsPerThread
	return s
}

// PayloadHeaders returns the lookup of the rows of traces, as TracePayloads does, with the
// payload text for the spans of these versions only; for the others text is empty.
// Rows in other weeks than those from Min to Max are not found. Without versions the
// column text is not read, else it is read for each span: ClickHouse refuses to read
// more than maxBytes; 0 is no bound.
func PayloadHeaders(project domain.ProjectID, traces []Bounds, versions []uint64, maxBytes int64) sqltext.Statement {
	text := "''"
	if len(versions) > 0 {
		w := new(sqltext.Writer)
		w.Put("if(version IN (")
		numbers(w, versions)
		w.Put("), text, '')")
		text = w.Statement().SQL
	}
	s := payloadsInRecords(project, text, traces)
	s.MaxBytes = maxBytes
	return s
}

// numbers appends a list of numbers.
func numbers(w *sqltext.Writer, of []uint64) {
	for i, n := range of {
		if i > 0 {
			w.Put(", ")
		}
		w.Put(strconv.FormatUint(n, 10))
	}
}

func payloadsInRecords(project domain.ProjectID, text string, traces []Bounds) sqltext.Statement {
	lo, hi := traces[0].Min, traces[0].Max
	all := make([]trace.TraceID, len(traces))
	w := new(sqltext.Writer)
	var records []uint64
	for i, b := range traces {
		all[i] = b.Trace
		lo, hi = min(lo, b.Min), max(hi, b.Max)
		records = append(records, b.Records...)
	}
	w.Put("SELECT "+payloadColumns(text)+" FROM "+schema.SpanPayloads+" PREWHERE project_id = ?", project.String())
	w.AndPartitionWeeks(order.Starts(lo, hi))
	w.Put(" AND ")
	sqltext.IDs("trace_id", all).Write(w, nil)
	w.Put(" AND ")
	atRecords(records).Write(w, nil)
	return withPayloadThreads(lookup(w), len(records))
}
