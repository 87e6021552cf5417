package sink

import (
	"context"
	"fmt"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// move gives all rows of a trace its type: copies under the new key first, then
// the old rows go. Documents say nothing of it and stay.
func (w *worker) move(ctx context.Context, t *total, where bounds) error {
	of := fmt.Sprintf("project_id = toUUID('%s') AND trace_id = unhex('%s') AND %s", t.key.project, t.key.trace, where.sql())
	name := w.store.cfg.Deployment.Table(schema.Spans)
	statement := fmt.Sprintf("INSERT INTO %s SELECT * REPLACE ('%s' AS trace_type) FROM %s AS t WHERE t.trace_type != '%s' AND %s",
		name, t.resolved, name, t.resolved, of)
	if err := w.store.exec(ctx, "move spans to their type", statement); err != nil {
		return err
	}
	if err := w.delete(ctx, schema.Spans, of+" AND trace_type != '"+t.resolved.String()+"'"); err != nil {
		return err
	}
	if err := w.moveAnnotations(ctx, t); err != nil {
		return err
	}
	w.metrics.moved.Inc()
	return nil
}

// cleanUp removes rows that a newer version of their span stands for under another key.
func (w *worker) cleanUp(ctx context.Context, t *total, where bounds) error {
	type row struct {
		staleRow
		version uint64
	}
	var all []row
	latest := map[trace.SpanID]row{}
	statement := fmt.Sprintf("SELECT span_id, toInt8(trace_type), toUnixTimestamp64Micro(start_time), version FROM %s WHERE project_id = toUUID('%s') AND trace_id = unhex('%s') AND %s",
		w.store.cfg.Deployment.Table(schema.Spans), t.key.project, t.key.trace, where.sql())
	err := w.store.query(ctx, "find stale rows", statement, func() { all = all[:0]; clear(latest) }, func(rows driver.Rows) error {
		var r row
		var id string
		var traceType int8
		if err := rows.Scan(&id, &traceType, &r.start, &r.version); err != nil {
			return err
		}
		copy(r.id[:], id)
		r.traceType = trace.Type(traceType) //nolint:gosec // an enum is small and positive
		all = append(all, r)
		if l, ok := latest[r.id]; !ok || r.version > l.version {
			latest[r.id] = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	g := &group{key: t.key}
	for _, r := range all {
		if l := latest[r.id]; r.version < l.version && r.staleRow != l.staleRow {
			g.stale = append(g.stale, r.staleRow)
			w.outdated = append(w.outdated, outdated{project: t.key.project, span: r.id, version: r.version})
		}
	}
	if len(g.stale) == 0 {
		return nil // the rows that a move left had it covered
	}
	var gone removals
	gone.stale(g, math.MaxUint64)
	w.metrics.stale.Inc()
	return w.remove(ctx, &gone)
}

// mendIndex corrects what trace_index says of a trace where its flags no longer
// hold: its aggregates only ever grow. A row is added and none taken away, so
// that a lookup finds the trace at every moment.
func (w *worker) mendIndex(ctx context.Context, t *total, next int64) error {
	block := indexRows([]indexRow{{
		key: t.key, declared: t.declared, linked: t.linked, settled: settledFlags(next, t.declared, t.linked),
		summary: summary{
			minStart: t.minStart, maxStart: t.maxStart, maxEnd: t.maxEnd, minWeek: t.minWeek, maxWeek: t.maxWeek,
			failed: t.failed, root: t.root, created: t.created, version: t.version, first: t.version,
		},
	}}, w.partition.Number(), w.clock())
	return w.store.insert(ctx, insertion{table: schema.TraceIndex, block: block})
}
