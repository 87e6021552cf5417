package sink

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/rows"
)

// move gives all rows of traces their trace's type: copies under the new key
// first, then the old rows go. Documents say nothing of it and stay.
func (w *worker) move(ctx context.Context, traces []*total, index map[rows.TraceKey]indexed) error {
	byType := map[trace.Type][]*total{}
	for _, t := range traces {
		byType[t.resolved] = append(byType[t.resolved], t)
	}
	for to, all := range byType {
		keys := keysOf(all)
		for which := range clickhouse.AnyOf(clickhouse.Conditions(keys, boundsIn(index))) {
			if err := w.moveRows(ctx, schema.Spans, to, which); err != nil {
				return err
			}
		}
		for some := range slices.Chunk(keys, clickhouse.TracesAtOnce) {
			if err := w.moveAnnotations(ctx, to, clickhouse.OfTraces(some)); err != nil {
				return err
			}
		}
		w.metrics.moved.Add(float64(len(all)))
	}
	return nil
}

func keysOf(traces []*total) []rows.TraceKey {
	keys := make([]rows.TraceKey, len(traces))
	for i, t := range traces {
		keys[i] = t.key
	}
	return keys
}

// moveRows gives a type to those of some rows that have another.
func (w *worker) moveRows(ctx context.Context, table string, to trace.Type, which string) error {
	name := w.store.Table(table)
	statement := fmt.Sprintf("INSERT INTO %[1]s SELECT * REPLACE ('%[2]s' AS trace_type) FROM %[1]s AS t WHERE t.trace_type != '%[2]s' AND (%[3]s)", name, to, which)
	if err := w.store.Exec(ctx, "move "+table+" to their type", statement); err != nil {
		return err
	}
	return w.delete(ctx, table, fmt.Sprintf("trace_type != '%s' AND (%s)", to, which))
}

// storedRow is a row of a span: where it stands, and of which version.
type storedRow struct {
	staleRow
	version uint64
}

// cleanUp removes the rows of traces that a newer version of their span stands
// for under another key.
func (w *worker) cleanUp(ctx context.Context, traces []*total, index map[rows.TraceKey]indexed) error {
	for which := range clickhouse.AnyOf(clickhouse.Conditions(keysOf(traces), boundsIn(index))) {
		byTrace, err := w.storedRows(ctx, which)
		if err != nil {
			return err
		}
		var stale []*group
		for key, rows := range byTrace {
			if g := (&group{key: key, stale: w.replaced(key, rows)}); len(g.stale) > 0 { // else the rows that a move left had it covered
				stale = append(stale, g)
			}
		}
		if len(stale) == 0 {
			continue
		}
		w.metrics.stale.Add(float64(len(stale)))
		var gone removals
		gone.stale(stale, math.MaxUint64)
		if err := w.remove(ctx, &gone); err != nil {
			return err
		}
	}
	return nil
}

// storedRows reads where rows of traces stand.
func (w *worker) storedRows(ctx context.Context, which string) (map[rows.TraceKey][]storedRow, error) {
	statement := fmt.Sprintf("SELECT project_id, trace_id, span_id, toInt8(trace_type), toUnixTimestamp64Micro(start_time), version FROM %s WHERE %s", w.store.Table(schema.Spans), which)
	found := map[rows.TraceKey][]storedRow{}
	err := w.store.Query(ctx, "find stale rows", statement, func() { clear(found) }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var traceType int8
		var r storedRow
		if err := result.Scan(&project, &rawTrace, &rawSpan, &traceType, &r.start, &r.version); err != nil {
			return err
		}
		copy(r.id[:], rawSpan)
		r.traceType = trace.Type(traceType) //nolint:gosec // an enum is small and positive
		key := rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}
		found[key] = append(found[key], r)
		return nil
	})
	return found, err
}

// replaced gives those rows of a trace of whose span there is a later version under another key.
func (w *worker) replaced(key rows.TraceKey, rows []storedRow) (stale []staleRow) {
	latest := map[trace.SpanID]storedRow{}
	for _, r := range rows {
		if l, ok := latest[r.id]; !ok || r.version > l.version {
			latest[r.id] = r
		}
	}
	for _, r := range rows {
		if l := latest[r.id]; r.version < l.version && r.staleRow != l.staleRow {
			stale = append(stale, r.staleRow)
			w.outdated = append(w.outdated, outdated{project: key.Project, span: r.id, version: r.version})
		}
	}
	return stale
}

// mendIndex corrects what trace_index says of traces where its flags no longer
// hold: its aggregates only ever grow. A row is added and none taken away, so
// that a lookup finds the trace at every moment.
func (w *worker) mendIndex(ctx context.Context, traces []*total, next int64) error {
	mended := make([]rows.IndexRow, len(traces))
	for i, t := range traces {
		mended[i] = rows.IndexRow{
			Key: t.key, Declared: t.declared, Linked: t.linked, FinalizedFlags: settledFlags(next, t.declared, t.linked),
			Summary: rows.Summary{
				MinStart: t.MinStart, MaxStart: t.MaxStart, MinPartitionWeek: t.MinPartitionWeek, MaxPartitionWeek: t.MaxPartitionWeek,
				Created: t.created, LastVersion: t.version, FirstVersion: t.version,
			},
		}
	}
	return w.store.Insert(ctx, clickhouse.Insertion{Table: schema.TraceIndex, Block: rows.TraceIndex(mended, w.partition.Number(), w.clock())})
}
