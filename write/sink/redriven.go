package sink

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
)

// A record that comes back from the dead topic is of the moment in which it was
// received, while its offset is of now. What was sent, edited or deleted since stays
// as it is: the spans of the record that it concerns are left out, an edit or a
// delete as a whole, and rejects says so. Who is later is told by receipt: the spans
// that are stored say when theirs was, tombstones when what is gone went.

// past is what was done to a trace before a redriven record comes back, by the time
// of its receipt in microseconds.
type past struct {
	// spans are the last versions of spans, and the deletes that named them.
	spans map[trace.SpanID]int64
	// whole is the last edit or delete of all spans, newest the last of all there was.
	whole, newest int64
}

// note adds what was done to a span; on nil it does nothing.
func (p *past) note(id trace.SpanID, at int64) {
	if p == nil {
		return
	}
	p.spans[id] = max(p.spans[id], at)
	p.newest = max(p.newest, at)
}

// noteWhole adds what was done to all spans; on nil it does nothing.
func (p *past) noteWhole(at int64) {
	if p == nil {
		return
	}
	p.whole, p.newest = max(p.whole, at), max(p.newest, at)
}

// overtakes tells whether a span that was received then is no longer to be stored.
func (p *past) overtakes(id trace.SpanID, at int64) bool { return max(p.spans[id], p.whole) > at }

// overtake reports what of a redriven record is left out.
func (b *batch) overtake(i int, format string, args ...any) {
	r := &b.records[i]
	// Its content is not repeated: it may be what was deleted.
	b.rejects = append(b.rejects, rows.RejectedSpan{
		Project: r.Project, At: r.ReceivedAt, Source: r.Source, Stage: "redrive", Reason: fmt.Sprintf(format, args...), TraceID: r.Trace.String(), Offset: r.Offset,
	})
}

// redriven are the groups that have a record from the dead topic.
func (b *batch) redriven(groups []*group) (out []*group) {
	for _, g := range groups {
		for _, i := range g.records {
			if b.records[i].Redriven {
				out = append(out, g)
				break
			}
		}
	}
	return out
}

// lookUpPast reads what was done to the traces of groups that have redriven records.
func (w *worker) lookUpPast(ctx context.Context, b *batch, groups []*group) error {
	if len(groups) == 0 {
		return nil
	}
	keys := make([]rows.TraceKey, len(groups))
	for i, g := range groups {
		keys[i] = g.key
	}
	index, err := w.store.LookUpTraces(ctx, keys)
	if err != nil {
		return err
	}
	err = w.readPast(ctx, b.rng.First, groups, index)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, g := range groups { // one of them is too much for the store
		if err := w.readPast(ctx, b.rng.First, []*group{g}, index); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.refuseGroup(g, "redrive", err)
		}
	}
	return nil
}

// readPast reads that from rows of offsets below first, as a replay would.
func (w *worker) readPast(ctx context.Context, first int64, groups []*group, index map[rows.TraceKey]clickhouse.IndexedTrace) error {
	byKey := make(map[rows.TraceKey]*past, len(groups))
	keys := make([]rows.TraceKey, len(groups))
	var stored []rows.TraceKey
	for i, g := range groups {
		g.past = &past{spans: map[trace.SpanID]int64{}}
		byKey[g.key], keys[i] = g.past, g.key
		if _, ok := index[g.key]; ok {
			stored = append(stored, g.key)
		}
	}
	d := w.sink.cfg.Deployment
	statements := []string{fmt.Sprintf("SELECT project_id, trace_id, span_id, toUnixTimestamp64Micro(max(received_at)) FROM %s WHERE project_id IN %s AND (project_id, trace_id) IN %s AND NOT (stream_partition = %s AND stream_offset >= %d) GROUP BY project_id, trace_id, span_id",
		d.Table(schema.Tombstones), clickhouse.ProjectList(keys), clickhouse.TraceList(keys), w.label, max(first, 0))}
	for which := range clickhouse.AnyOf(clickhouse.Conditions(stored, clickhouse.BoundsIn(index))) {
		statements = append(statements, fmt.Sprintf("SELECT project_id, trace_id, span_id, toUnixTimestamp64Micro(max(greatest(created_at, updated_at))) FROM %s WHERE (%s) AND NOT (stream_partition = %s AND version >= %d) GROUP BY project_id, trace_id, span_id",
			d.Table(schema.Spans), which, w.label, clickhouse.VersionOf(first)))
	}
	for _, statement := range statements {
		err := w.store.Within(ctx, w.sink.cfg.FinalizeTimeout, func(ctx context.Context) error {
			return w.store.Query(ctx, "read what came since", statement, func() {}, func(result driver.Rows) error { return scanPast(result, byKey) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scanPast notes a row; a repeated one changes nothing.
func scanPast(result driver.Rows, byKey map[rows.TraceKey]*past) error {
	var project uuid.UUID
	var rawTrace, rawSpan string
	var at int64
	if err := result.Scan(&project, &rawTrace, &rawSpan, &at); err != nil {
		return err
	}
	var id trace.SpanID
	copy(id[:], rawSpan)
	p := byKey[rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}]
	if id.IsZero() {
		p.noteWhole(at)
	} else {
		p.note(id, at)
	}
	return nil
}

// tombstone says that a span, or with a zero id all of a trace, was removed.
type tombstone struct {
	span       trace.SpanID
	receivedAt time.Time
	offset     int64
}

// entomb notes of removed spans, nil meaning all, when their removal was received.
func (g *group) entomb(r *stream.Record, only map[trace.SpanID]bool) {
	if only == nil {
		g.tombstones = append(g.tombstones, tombstone{receivedAt: r.ReceivedAt, offset: r.Offset})
		g.past.noteWhole(rows.Micros(r.ReceivedAt))
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(only), func(x, y trace.SpanID) int { return bytes.Compare(x[:], y[:]) }) {
		g.tombstones = append(g.tombstones, tombstone{id, r.ReceivedAt, r.Offset})
		g.past.note(id, rows.Micros(r.ReceivedAt))
	}
}

// writeTombstones inserts those of a batch.
func (w *worker) writeTombstones(ctx context.Context, b *batch) error {
	c, n := &rows.Columns{}, 0
	project, id, span := c.Fixed("project_id", rows.TypeUUID, 16), c.Fixed("trace_id", rows.TypeTraceID, 16), c.Fixed("span_id", rows.TypeSpanID, 8)
	at, partition, offset := c.Fixed("received_at", rows.TypeTime, 8), c.Fixed("stream_partition", "UInt32", 4), c.Fixed("stream_offset", "UInt64", 8)
	for _, g := range b.groups {
		for i := range g.tombstones {
			t := &g.tombstones[i]
			project.UUID(g.key.Project)
			id.Bytes(g.key.Trace[:])
			span.Bytes(t.span[:])
			at.Int64(rows.Micros(t.receivedAt))
			partition.Uint32(uint32(w.partition.Number())) //nolint:gosec // a partition's number is never negative
			offset.Uint64(uint64(t.offset))                //nolint:gosec // an offset is never negative
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return w.insert(ctx, b, schema.Tombstones, &c.Block)
}
