package sink

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/rows"
)

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
	w.log.LogAttrs(ctx, slog.LevelInfo, "partition assigned, recent spans restored", slog.Int64("first", first), slog.Int("spans", w.memory.spans),
		slog.Int("pending_traces", w.memory.open.Len()), slog.Duration("took", w.sink.deps.Now().Sub(start)))
	return nil
}

// storedSpan is a row of spans as the memory needs it.
type storedSpan struct {
	key        rows.TraceKey
	span       knownSpan
	declared   trace.Type
	linked     bool
	judging    bool
	receivedAt time.Time
}

// restoreSpans reads the newest versions. The version's lower bound prunes: a
// record holds at least one span, so the newest spans are in as many records.
func (w *worker) restoreSpans(ctx context.Context, first int64) error {
	limit := w.sink.recentSpans()
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, toInt8(trace_type), content_hash, version, toUnixTimestamp64Micro(start_time), toUnixTimestamp64Micro(created_at), created_by_id, toInt8(trace_type_declared), link_count > 0, parent_id = toFixedString('', 8) AND (evaluator_slug != '' OR evaluator_id != toUUID('00000000-0000-0000-0000-000000000000')), toUnixTimestamp64Micro(greatest(created_at, updated_at))
FROM %s WHERE stream_partition = %s AND version >= %d AND version < %d ORDER BY version DESC LIMIT %d`,
		w.store.Table(schema.Spans), w.label, clickhouse.VersionOf(first-int64(limit)), clickhouse.VersionOf(first), limit)
	var found []storedSpan
	err := w.store.ReadRowBinary(ctx, "restore spans", statement, storedSpanBytes, func() { found = found[:0] }, func(row []byte) {
		found = append(found, readStoredSpan(row))
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
		k.declared, k.linked, k.restored = max(k.declared, x.declared), k.linked || x.linked, true
		k.judging = k.judging || x.judging
		w.memory.put(k, x.span, facts{})
	}
	w.memory.trim(newest, limit)
	return nil
}

// storedSpanBytes is the length of a row of restoreSpans in RowBinary: all its
// columns are of fixed width. Hundreds of thousands are read while the
// partition waits; the driver's rows would take ten times as long.
const storedSpanBytes = 16 + 16 + 8 + 1 + 8 + 8 + 8 + 8 + 16 + 1 + 1 + 1 + 8

func readStoredSpan(row []byte) (x storedSpan) {
	take := func(n int) []byte {
		v := row[:n]
		row = row[n:]
		return v
	}
	number := func() uint64 { return binary.LittleEndian.Uint64(take(8)) }
	x.key.Project = domain.ProjectID(clickhouse.ReadUUID(take(16)))
	copy(x.key.Trace[:], take(16))
	copy(x.span.id[:], take(8))
	x.span.traceType = trace.Type(take(1)[0])
	x.span.hash, x.span.version = number(), number()
	x.span.start, x.span.createdAt = int64(number()), int64(number()) //nolint:gosec // the bits are the value
	x.span.createdBy = clickhouse.ReadUUID(take(16))
	x.declared, x.linked, x.judging = trace.Type(take(1)[0]), take(1)[0] != 0, take(1)[0] != 0
	x.receivedAt = time.UnixMicro(int64(number())).UTC() //nolint:gosec // the bits are the value
	return x
}

// restoreOpen finds the traces that were written and not settled.
func (w *worker) restoreOpen(ctx context.Context) error {
	d := w.sink.cfg.Deployment
	statement := fmt.Sprintf(`SELECT project_id, trace_id, toUnixTimestamp64Micro(max(last_write_at)) AS touched FROM %s
WHERE stream_partition = %s AND last_write_at >= (SELECT max(finalized_until) FROM %s WHERE topic = '%s' AND stream_partition = %s) - INTERVAL %d SECOND
GROUP BY project_id, trace_id ORDER BY touched`,
		d.Table(schema.TraceIndex), w.label, d.Table(schema.SinkProgress), w.sink.topic, w.label, int(w.sink.cfg.MaxClockSkew.Seconds()))
	type open struct {
		key     rows.TraceKey
		touched time.Time
	}
	var found []open
	err := w.store.Query(ctx, "restore open traces", statement, func() { found = found[:0] }, func(result driver.Rows) error {
		var project uuid.UUID
		var raw string
		var touched int64
		if err := result.Scan(&project, &raw, &touched); err != nil {
			return err
		}
		found = append(found, open{rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(raw)}, time.UnixMicro(touched).UTC()})
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range found {
		k := w.memory.touch(o.key, o.touched, time.Time{})
		k.restored, k.whole, k.facts = true, false, nil
	}
	return nil
}
