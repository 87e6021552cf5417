package recent

import (
	"context"
	"encoding/binary"
	"fmt"
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

// Source is where the recent spans of a partition are restored from.
type Source struct {
	DB        *clickhouse.DB
	Topic     string
	Partition string
	// MaxSpans bounds the spans that are restored, MaxClockSkew is the largest
	// difference between the clocks of two successive owners.
	MaxSpans     int
	MaxClockSkew time.Duration
}

// Restore fills the cache from the rows of offsets below first: what the previous
// owner of the partition had in it when it built its last batch.
func (m *Cache) Restore(ctx context.Context, from Source, first int64) error {
	if err := m.restoreSpans(ctx, from, first); err != nil {
		return err
	}
	return m.restorePending(ctx, from)
}

// storedSpan is a row of spans as the cache needs it.
type storedSpan struct {
	key          rows.TraceKey
	span         Span
	declared     trace.Type
	linked       bool
	hasEvaluator bool
	receivedAt   time.Time
}

// restoreSpans reads the newest versions. The lower bound of the version skips parts: a
// record has at least one span, so the newest spans are in at most as many records.
func (m *Cache) restoreSpans(ctx context.Context, from Source, first int64) error {
	limit := from.MaxSpans
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, toInt8(trace_type), content_hash, version, toUnixTimestamp64Micro(start_time), toUnixTimestamp64Micro(created_at), created_by_id, toInt8(trace_type_declared), link_count > 0, parent_id = toFixedString('', 8) AND (evaluator_slug != '' OR evaluator_id != toUUID('00000000-0000-0000-0000-000000000000')), toUnixTimestamp64Micro(greatest(created_at, updated_at))
FROM %s WHERE stream_partition = %s AND version >= %d AND version < %d ORDER BY version DESC LIMIT %d`,
		from.DB.Table(schema.Spans), from.Partition, clickhouse.VersionOf(first-int64(limit)), clickhouse.VersionOf(first), limit)
	var found []storedSpan
	err := from.DB.ReadRowBinary(ctx, "restore spans", statement, storedSpanBytes, func() { found = found[:0] }, func(row []byte) {
		found = append(found, readStoredSpan(row))
	})
	if err != nil {
		return err
	}
	// Oldest first, in the order of arrival; a later version replaces an earlier one.
	slices.Reverse(found)
	var newest time.Time
	for i := range found {
		x := &found[i]
		if x.receivedAt.After(newest) {
			newest = x.receivedAt
		}
		k := m.Touch(x.key, time.Time{}, x.receivedAt)
		m.Finalized(k) // restorePending marks those that are not
		k.Declared, k.Linked, k.Restored = max(k.Declared, x.declared), k.Linked || x.linked, true
		k.HasEvaluator = k.HasEvaluator || x.hasEvaluator
		m.Put(k, x.span, SpanMetrics{})
	}
	m.Trim(newest, limit)
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
	copy(x.span.ID[:], take(8))
	x.span.TraceType = trace.Type(take(1)[0])
	x.span.ContentHash, x.span.Version = number(), number()
	x.span.Start, x.span.CreatedAt = int64(number()), int64(number()) //nolint:gosec // the bits are the value
	x.span.CreatedBy = clickhouse.ReadUUID(take(16))
	x.declared, x.linked, x.hasEvaluator = trace.Type(take(1)[0]), take(1)[0] != 0, take(1)[0] != 0
	x.receivedAt = time.UnixMicro(int64(number())).UTC() //nolint:gosec // the bits are the value
	return x
}

// restorePending reads the traces that were written to and not finalized.
func (m *Cache) restorePending(ctx context.Context, from Source) error {
	statement := fmt.Sprintf(`SELECT project_id, trace_id, toUnixTimestamp64Micro(max(last_write_at)) AS touched FROM %s
WHERE stream_partition = %s AND last_write_at >= (SELECT max(finalized_until) FROM %s WHERE topic = '%s' AND stream_partition = %s) - INTERVAL %d SECOND
GROUP BY project_id, trace_id ORDER BY touched`,
		from.DB.Table(schema.TraceIndex), from.Partition, from.DB.Table(schema.SinkProgress), from.Topic, from.Partition, int(from.MaxClockSkew.Seconds()))
	type open struct {
		key     rows.TraceKey
		touched time.Time
	}
	var found []open
	err := from.DB.Query(ctx, "restore open traces", statement, func() { found = found[:0] }, func(result driver.Rows) error {
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
		k := m.Touch(o.key, o.touched, time.Time{})
		k.Restored, k.Whole, k.Metrics = true, false, nil
	}
	return nil
}
