package rows

import (
	"encoding/binary"

	"colonnade/domain/trace/payload"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// PayloadColumns holds the rows of the table span_payloads_packed. Source:
// migrations/clickhouse/0001_schema.sql.
type PayloadColumns struct {
	Columns
	project, partition, offset, version, partitionWeek, start, trace, span *native.Fixed
	text, head                                                             *native.String
	lengths                                                                *native.Fixed

	scratch []byte // the text or head in hand
}

// payloadOrder returns the order of a span's payloads in a row (schema.PayloadCount).
func payloadOrder() [schema.PayloadCount]int {
	return [...]int{payloadInputs, payloadOutputs, payloadParameters, payloadInternals, payloadEvents, payloadAttributes, payloadLinks, payloadResource, payloadScope}
}

func newPayloadColumns() *PayloadColumns {
	c := &PayloadColumns{}
	c.project = c.Fixed("project_id", TypeUUID, 16)
	c.partition = c.Fixed("stream_partition", "UInt32", 4)
	c.offset = c.Fixed("stream_offset", "UInt64", 8)
	c.version = c.Fixed("version", "UInt64", 8)
	c.partitionWeek = c.Fixed("partition_week", "Date", 2)
	c.start = c.Fixed("start_time", TypeTime, 8)
	c.trace = c.Fixed("trace_id", TypeTraceID, 16)
	c.span = c.Fixed("span_id", TypeSpanID, 8)
	c.text = c.Text("text")
	c.head = c.Text("head")
	c.lengths = c.Fixed("lengths", "FixedString(36)", 4*schema.PayloadCount)
	return c
}

// append adds the row of a span; numbers and traits are those of its row of spans.
func (c *PayloadColumns) append(e *Entry, partition int32, d *Content, numbers [schema.NumberCount]float64, traits spanmetrics.Traits) {
	s := e.Span
	c.project.UUID(e.Key.Project)
	c.partition.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
	c.offset.Uint64(e.Version >> schema.VersionShift)
	c.version.Uint64(e.Version)
	c.partitionWeek.Uint16(e.PartitionWeek)
	c.start.Int64(e.Start)
	c.trace.Bytes(s.TraceID[:])
	c.span.Bytes(s.SpanID[:])
	var lengths [4 * schema.PayloadCount]byte
	c.scratch = c.scratch[:0]
	for i, n := range payloadOrder() {
		if i == schema.SearchedPayloads {
			c.text.AppendBytes(c.scratch)
			c.scratch = c.scratch[:0]
		}
		binary.LittleEndian.PutUint32(lengths[4*i:], uint32(len(d.payloads[n]))) //nolint:gosec // a span is at most megabytes
		c.scratch = append(c.scratch, d.payloads[n]...)
	}
	c.lengths.Bytes(lengths[:])
	var metrics [spanmetrics.Count]float64
	copy(metrics[:], numbers[1:]) // the first is the duration
	head := payload.Header{Span: *s, Declared: e.Declared, Metrics: metrics, Traits: traits}
	head.Span.CreatedAt, head.Span.UpdatedAt, head.Span.CreatedBy, head.Span.UpdatedBy = e.CreatedAt, e.UpdatedAt, e.CreatedBy, e.UpdatedBy
	if len(s.Hashes) > 0 {
		head.Hash = s.Hashes[0].ID
	}
	c.scratch = payload.AppendHeader(c.scratch, &head)
	c.head.AppendBytes(c.scratch)
}
