package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// clockSlack is how far the clocks of two owners of a partition may lie apart.
const clockSlack = time.Minute

// restore fills the memory from the rows of offsets below first: what the
// worker before us knew when it made its last batch.
func (w *worker) restore(ctx context.Context, first int64) error {
	if first <= 0 {
		return nil
	}
	start := w.sink.deps.Now()
	if err := w.restoreSpans(ctx, first); err != nil {
		return err
	}
	if err := w.restoreOpen(ctx); err != nil {
		return err
	}
	w.log.LogAttrs(ctx, slog.LevelInfo, "partition taken over", slog.Int64("first", first), slog.Int("spans", w.memory.spans),
		slog.Int("open_traces", w.memory.open.Len()), slog.Duration("took", w.sink.deps.Now().Sub(start)))
	return nil
}

// storedSpan is a row of spans as the memory needs it.
type storedSpan struct {
	key        traceKey
	span       knownSpan
	declared   trace.Type
	linked     bool
	receivedAt time.Time
}

// restoreSpans reads the newest versions. The version's lower bound prunes: a
// record holds at least one span, so the newest spans are in as many records.
func (w *worker) restoreSpans(ctx context.Context, first int64) error {
	limit := w.memory.maxSpans
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, toInt8(trace_type), content_hash, version, toUnixTimestamp64Micro(start_time), toUnixTimestamp64Micro(created_at), created_by_id, toInt8(trace_type_declared), link_count > 0, toUnixTimestamp64Micro(greatest(created_at, updated_at))
FROM %s WHERE stream_partition = %s AND version >= %d AND version < %d ORDER BY version DESC LIMIT %d`,
		w.store.cfg.Deployment.Table(schema.Spans), w.label, versionOf(first-int64(limit)), versionOf(first), limit)
	var found []storedSpan
	err := w.store.query(ctx, "restore spans", statement, func() { found = found[:0] }, func(rows driver.Rows) error {
		var x storedSpan
		var project uuid.UUID
		var traceRaw, spanRaw string
		var traceType, declared int8
		var linked uint8
		var received int64
		if err := rows.Scan(&project, &traceRaw, &spanRaw, &traceType, &x.span.hash, &x.span.version, &x.span.start, &x.span.createdAt,
			&x.span.createdBy, &declared, &linked, &received); err != nil {
			return err
		}
		x.key = traceKey{domain.ProjectID(project), traceID(traceRaw)}
		copy(x.span.id[:], spanRaw)
		x.span.traceType, x.declared, x.linked = trace.Type(traceType), trace.Type(declared), linked != 0 //nolint:gosec // enums are small and positive
		x.receivedAt = time.UnixMicro(received).UTC()
		found = append(found, x)
		return nil
	})
	if err != nil {
		return err
	}
	// Oldest first, as they came; a later version takes an earlier one's place.
	slices.Reverse(found)
	var newest time.Time
	for i := range found {
		x := &found[i]
		if x.receivedAt.After(newest) {
			newest = x.receivedAt
		}
		k := w.memory.touch(x.key, time.Time{}, x.receivedAt)
		w.memory.settled(k) // restoreOpen says which are not
		k.declared, k.linked = max(k.declared, x.declared), k.linked || x.linked
		w.memory.put(k, x.span)
	}
	w.memory.trim(newest)
	return nil
}

// restoreOpen finds the traces that were written and not settled.
func (w *worker) restoreOpen(ctx context.Context) error {
	d := w.store.cfg.Deployment
	statement := fmt.Sprintf(`SELECT project_id, trace_id, toUnixTimestamp64Micro(max(touched_at)) AS touched FROM %s
WHERE stream_partition = %s AND touched_at >= (SELECT max(settled_until) FROM %s WHERE topic = '%s' AND stream_partition = %s) - INTERVAL %d SECOND
GROUP BY project_id, trace_id ORDER BY touched`,
		d.Table(schema.TraceIndex), w.label, d.Table(schema.SinkProgress), w.sink.topic, w.label, int(clockSlack.Seconds()))
	type open struct {
		key     traceKey
		touched time.Time
	}
	var found []open
	err := w.store.query(ctx, "restore open traces", statement, func() { found = found[:0] }, func(rows driver.Rows) error {
		var project uuid.UUID
		var raw string
		var touched int64
		if err := rows.Scan(&project, &raw, &touched); err != nil {
			return err
		}
		found = append(found, open{traceKey{domain.ProjectID(project), traceID(raw)}, time.UnixMicro(touched).UTC()})
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range found {
		w.memory.touch(o.key, o.touched, time.Time{})
	}
	return nil
}
