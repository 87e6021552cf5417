package rows

import (
	"time"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/sink/internal/native"
)

// Buffer holds the rows of a batch for the tables of spans. It is reused from
// batch to batch.
type Buffer struct {
	Spans       *spanColumns
	Payloads    *PayloadColumns
	Ngrams      *ngramColumns
	Annotations *AnnotationRows
}

// NewBuffer creates an empty buffer. recorded reports whether attribute_keys has a
// key already, so that it is not inserted again.
func NewBuffer(recorded func(AttributeKey) bool) *Buffer {
	return &Buffer{Spans: newSpanColumns(recorded), Payloads: newPayloadColumns(), Ngrams: newNgramColumns(), Annotations: NewAnnotationRows()}
}

// Reset removes all rows and keeps the memory.
func (r *Buffer) Reset() {
	r.Spans.Reset()
	r.Spans.forgetPaths()
	r.Payloads.Reset()
	r.Annotations.reset()
}

// Append adds the rows of a span, whose content was rendered before.
func (r *Buffer) Append(e *Entry, partition int32, d *Content) {
	r.Spans.append(e, partition, d)
	r.Payloads.append(e, partition, d, r.Spans.LastNumbers, r.Spans.LastTraits)
	r.Annotations.Append(e, d)
}

// IndexRow is a row of the table trace_index.
type IndexRow struct {
	Key      TraceKey
	Declared trace.Type
	// Linked reports whether a span has links, HasEvaluator whether a root names an
	// evaluator; a row of the finalizer leaves the latter out.
	Linked, HasEvaluator bool
	// FinalizedFlags is what the finalizer found, 0 in the row of a batch.
	FinalizedFlags uint64
	Summary
}

// TraceIndex returns the rows of the table trace_index.
func TraceIndex(rows []IndexRow, partition int32, lastWriteAt time.Time) *native.Block {
	c := &Columns{}
	project := c.Fixed("project_id", TypeUUID, 16)
	id := c.Fixed("trace_id", TypeTraceID, 16)
	minStart := c.Fixed("min_start", TypeTime, 8)
	maxStart := c.Fixed("max_start", TypeTime, 8)
	minWeek := c.Fixed("min_partition_week", "Date", 2)
	maxWeek := c.Fixed("max_partition_week", "Date", 2)
	annotation := c.Fixed("is_annotation", "UInt8", 1)
	evaluator := c.Fixed("has_evaluator", "UInt8", 1)
	declared := c.Fixed("declared_type", "UInt8", 1)
	created := c.Fixed("created_at", TypeTime, 8)
	version := c.Fixed("last_version", "UInt64", 8)
	stream := c.Fixed("stream_partition", "UInt32", 4)
	lastWrite := c.Fixed("last_write_at", TypeTime, 8)
	finalized := c.Fixed("finalized_flags", "UInt64", 8)
	first := c.Fixed("first_version", "UInt64", 8)
	numbers := native.NewFixed(8)
	records := native.NewList(numbers)
	c.Add("records", "Array(UInt64)", records)
	for i := range rows {
		r := &rows[i]
		project.UUID(r.Key.Project)
		id.Bytes(r.Key.Trace[:])
		minStart.Int64(r.MinStart)
		maxStart.Int64(r.MaxStart)
		minWeek.Uint16(r.MinPartitionWeek)
		maxWeek.Uint16(r.MaxPartitionWeek)
		annotation.Bool(r.Linked)
		evaluator.Bool(r.HasEvaluator)
		declared.Uint8(uint8(r.Declared))
		created.Int64(r.Created)
		version.Uint64(r.LastVersion)
		stream.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
		lastWrite.Int64(Micros(lastWriteAt))
		finalized.Uint64(r.FinalizedFlags)
		first.Uint64(r.FirstVersion)
		for _, n := range r.Records {
			numbers.Uint64(n)
		}
		records.End()
	}
	return &c.Block
}

// Summary is what a row of trace_index holds of the spans of a trace.
type Summary struct {
	MinStart, MaxStart                 int64
	MinPartitionWeek, MaxPartitionWeek uint16
	Created                            int64
	LastVersion, FirstVersion          uint64
	// Records are the records that held its spans, numbered by schema.Record.
	Records []uint64
}

// maxRawBytes bounds the raw bytes of a rejected span; Kafka has all of them.
const maxRawBytes = 4 << 10

// RejectedSpans returns the rows of the table rejected_spans.
func RejectedSpans(rejects []RejectedSpan, partition int32) *native.Block {
	c := &Columns{}
	project := c.Fixed("project_id", TypeUUID, 16)
	at := c.Fixed("rejected_at", TypeTime, 8)
	source := c.LowCardinality("source")
	stage := c.LowCardinality("stage")
	reason := c.Text("reason")
	traceID := c.Text("trace_id")
	spanID := c.Text("span_id")
	name := c.Text("span_name")
	stream := c.Fixed("stream_partition", "UInt32", 4)
	offset := c.Fixed("stream_offset", "UInt64", 8)
	raw := c.Text("raw")
	for i := range rejects {
		r := &rejects[i]
		project.UUID(r.Project)
		at.Int64(Micros(r.At))
		source.Append(r.Source)
		stage.Append(r.Stage)
		reason.Append(r.Reason)
		traceID.Append(r.TraceID)
		spanID.Append(r.SpanID)
		name.Append(r.SpanName)
		stream.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
		offset.Uint64(uint64(r.Offset))  //nolint:gosec // an offset is never negative
		raw.AppendBytes(r.Raw[:min(len(r.Raw), maxRawBytes)])
	}
	return &c.Block
}

// Progress returns the row of the table sink_progress: all offsets below next are
// visible, and all traces last written to before finalizedUntil are finalized.
func Progress(topic string, partition int32, next int64, finalizedUntil, writtenAt time.Time) *native.Block {
	c := &Columns{}
	c.LowCardinality("topic").Append(topic)
	c.Fixed("stream_partition", "UInt32", 4).Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
	c.Fixed("next_offset", "UInt64", 8).Uint64(uint64(next))           //nolint:gosec // an offset is never negative
	c.Fixed("finalized_until", TypeTime, 8).Int64(Micros(finalizedUntil))
	c.Fixed("written_at", TypeTime, 8).Int64(Micros(writtenAt))
	return &c.Block
}

// RejectedSpan is a row of the table rejected_spans.
type RejectedSpan struct {
	Project                   domain.ProjectID
	At                        time.Time
	Source, Stage, Reason     string
	TraceID, SpanID, SpanName string
	Raw                       []byte
	Offset                    int64
}
