package sink

import (
	"time"

	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// rows are the span tables' columns of a batch, reused from batch to batch.
type rows struct {
	spans       *spanColumns
	documents   *documentColumns
	ngrams      *ngramColumns
	annotations *annotationRows
}

func newRows(keys *keySet) *rows {
	return &rows{spans: newSpanColumns(keys), documents: newDocumentColumns(), ngrams: newNgramColumns(), annotations: newAnnotationRows()}
}

func (r *rows) reset() {
	r.spans.Reset()
	r.spans.forget()
	r.documents.Reset()
	r.annotations.reset()
}

func (r *rows) append(e *entry, partition int32, d *document) {
	r.spans.append(e, partition, d)
	r.documents.append(e, partition, d, r.spans.row)
	r.annotations.append(e, d)
}

// indexRow is a row of the table trace_index.
type indexRow struct {
	key      traceKey
	declared trace.Type
	// linked and judging are as in known; the settler's row says nothing of the latter.
	linked, judging bool
	// settled is what the settler found, 0 in a batch's row (see settledFlags).
	settled uint64
	summary
}

// indexOf makes one row for each trace of a batch.
func indexOf(groups []*group, partition int32) []indexRow {
	var out []indexRow
	for _, g := range groups {
		if len(g.written) > 0 {
			out = append(out, indexRow{key: g.key, declared: g.declared, linked: g.linked, judging: g.judging, summary: summarize(g, partition)})
		}
	}
	return out
}

// indexRows are the columns of the table trace_index.
func indexRows(rows []indexRow, partition int32, touchedAt time.Time) *native.Block {
	c := &columns{}
	project := c.fixed("project_id", typeUUID, 16)
	id := c.fixed("trace_id", typeTrace, 16)
	minStart := c.fixed("min_start", typeTime, 8)
	maxStart := c.fixed("max_start", typeTime, 8)
	minWeek := c.fixed("min_partition_week", "Date", 2)
	maxWeek := c.fixed("max_partition_week", "Date", 2)
	annotation := c.fixed("is_annotation", "UInt8", 1)
	judging := c.fixed("has_evaluator", "UInt8", 1)
	declared := c.fixed("declared_type", "UInt8", 1)
	created := c.fixed("created_at", typeTime, 8)
	version := c.fixed("last_version", "UInt64", 8)
	stream := c.fixed("stream_partition", "UInt32", 4)
	touched := c.fixed("last_write_at", typeTime, 8)
	settled := c.fixed("finalized_flags", "UInt64", 8)
	first := c.fixed("first_version", "UInt64", 8)
	numbers := native.NewFixed(8)
	records := native.NewList(numbers)
	c.Add("records", "Array(UInt64)", records)
	for i := range rows {
		r := &rows[i]
		project.UUID(r.key.project)
		id.Bytes(r.key.trace[:])
		minStart.Int64(r.minStart)
		maxStart.Int64(r.maxStart)
		minWeek.Uint16(r.minWeek)
		maxWeek.Uint16(r.maxWeek)
		annotation.Bool(r.linked)
		judging.Bool(r.judging)
		declared.Uint8(uint8(r.declared))
		created.Int64(r.created)
		version.Uint64(r.version)
		stream.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
		touched.Int64(micros(touchedAt))
		settled.Uint64(r.settled)
		first.Uint64(r.first)
		for _, n := range r.records {
			numbers.Uint64(n)
		}
		records.End()
	}
	return &c.Block
}

// summary is what trace_index says of a trace.
type summary struct {
	minStart, maxStart int64
	minWeek, maxWeek   uint16
	created            int64
	version, first     uint64
	// records are the offsets in which its spans came, as schema.Record names them.
	records []uint64
}

func summarize(g *group, partition int32) summary {
	first := g.written[0]
	s := summary{minStart: first.start, maxStart: first.start, minWeek: first.week, maxWeek: first.week, created: micros(first.createdAt), first: first.version}
	for _, e := range g.written {
		s.minStart, s.maxStart = min(s.minStart, e.start), max(s.maxStart, e.start)
		s.minWeek, s.maxWeek = min(s.minWeek, e.week), max(s.maxWeek, e.week)
		s.created, s.version, s.first = min(s.created, micros(e.createdAt)), max(s.version, e.version), min(s.first, e.version)
		//nolint:gosec // a partition's number is never negative
		if n := schema.Record(uint32(partition), e.version); len(s.records) == 0 || s.records[len(s.records)-1] != n {
			s.records = append(s.records, n)
		}
	}
	return s
}

// maxRawBytes bounds the raw bytes of a reject; the whole is in the dead topic or in the log.
const maxRawBytes = 4 << 10

// rejectColumns are the rows of the table rejects.
func rejectColumns(rejects []reject, partition int32) *native.Block {
	c := &columns{}
	project := c.fixed("project_id", typeUUID, 16)
	at := c.fixed("rejected_at", typeTime, 8)
	source := c.word("source")
	stage := c.word("stage")
	reason := c.text("reason")
	traceID := c.text("trace_id")
	spanID := c.text("span_id")
	name := c.text("span_name")
	stream := c.fixed("stream_partition", "UInt32", 4)
	offset := c.fixed("stream_offset", "UInt64", 8)
	raw := c.text("raw")
	for i := range rejects {
		r := &rejects[i]
		project.UUID(r.project)
		at.Int64(micros(r.at))
		source.Append(r.source)
		stage.Append(r.stage)
		reason.Append(r.reason)
		traceID.Append(r.traceID)
		spanID.Append(r.spanID)
		name.Append(r.spanName)
		stream.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
		offset.Uint64(uint64(r.offset))  //nolint:gosec // an offset is never negative
		raw.AppendBytes(r.raw[:min(len(r.raw), maxRawBytes)])
	}
	return &c.Block
}

// progressColumns are the row of the table sink_progress.
func progressColumns(topic string, partition int32, next int64, settledUntil, writtenAt time.Time) *native.Block {
	c := &columns{}
	c.word("topic").Append(topic)
	c.fixed("stream_partition", "UInt32", 4).Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
	c.fixed("next_offset", "UInt64", 8).Uint64(uint64(next))           //nolint:gosec // an offset is never negative
	c.fixed("finalized_until", typeTime, 8).Int64(micros(settledUntil))
	c.fixed("written_at", typeTime, 8).Int64(micros(writtenAt))
	return &c.Block
}
