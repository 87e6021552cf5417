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

// documentsPerThread is how many rows of span_payloads_packed are worth a thread.
const payloadsPerThread = 512

// documentsAt is at for rows of span_payloads_packed.
func withPayloadThreads(s sqltext.Statement, places int) sqltext.Statement {
	s = withThreads(s, places)
	if !s.OneThread {
		s.RowsPerThread = payloadsPerThread
	}
	return s
}

// Version names a row of span_payloads_packed: what was written of a span at one place
// of the stream. Start, Unix microseconds, says in which week it lies.
type Version struct {
	Partition uint32
	Version   uint64
	Start     int64
}

// documentColumns are the columns of documents; text is an expression of that column.
func payloadColumns(text string) string {
	return "trace_id, span_id, version, " + text + ", head, lengths"
}

// Documents looks up the documents of versions; there is at least one. Its rows
// are trace_id, span_id, version UInt64, text, head String, lengths
// FixedString(36): see migrations/clickhouse/0001_schema.sql. Among them may be
// others of the same version: of another partition nearby, or from before the
// topic was made again.
func Payloads(project domain.ProjectID, of []Version) sqltext.Statement {
	return payloadsOfVersions(project, payloadColumns("text"), nil, of)
}

// Hold asks of which of these versions the documents fulfil the scan's condition, which
// has Rows; there is at least one. Its rows are start_time DateTime64(6), stream_partition
// UInt32, version UInt64 and whether they do, UInt8; none for a version whose documents
// are not there, and others as of Documents.
func (s Scan) Verify(of []Version) sqltext.Statement {
	documents, _ := s.Condition.Superset().(sqltext.PayloadCondition)
	w := new(sqltext.Writer)
	documents.Of.Write(w, &sqltext.Scope{SkipRecheck: s.SkipRecheck})
	held := w.Statement()
	return payloadsOfVersions(s.Project, "start_time, stream_partition, version, "+held.SQL, held.Args, of)
}

// ofVersions looks up rows of span_payloads_packed; args are those of what is selected.
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

// inStream chooses the granules of span_payloads_packed that hold these records; there is at
// least one. Those of one partition are a list of its offsets, which costs a statement of
// fifty a tenth less than pairs; a list for each of several is compared in turn with every
// stretch of the key.
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

// DocumentsOf looks up the documents of whole traces, of all versions that are
// there; some of them have records. Its rows are those of Documents.
func TracePayloads(project domain.ProjectID, traces []Bounds) sqltext.Statement {
	return payloadsInRecords(project, "text", traces)
}

// Whole looks up the documents of whole traces by their ids alone, of all versions
// that are there; there is at least one. Its rows are those of Documents. The store
// asks the index of traces by itself: where a trace is all that is asked for, one
// statement is planned in place of two, which spares a sixth of both.
//
// The week, which the index does not have, is not named: what leaves parts out is
// where in the stream they are.
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

// Heads looks up all that traces have in their records, as DocumentsOf does, and
// of the spans of these versions their documents as well; of the others text is
// empty. What starts in other weeks than Min and Max is left out. Where versions
// is empty the column text is not read at all, else it is for each of the spans:
// the store refuses to read more than maxBytes; 0 is no bound.
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

// numbers appends a list of numbers of ours.
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
