package sink

import (
	"context"
	"log/slog"
	"time"

	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/deletion"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
)

func (w *worker) deletions() deletion.Source {
	cfg := &w.sink.cfg
	return deletion.Source{DB: w.store, Partition: w.label, Timeout: cfg.FinalizeTimeout, MaxClockSkew: cfg.MaxClockSkew, Log: w.log}
}

// lookUpRemovals reads what is stored of the traces that the batch edits or deletes: their
// bounds, and the creation of the spans that an edit replaces.
func (w *worker) lookUpRemovals(ctx context.Context, b *batch) error {
	var removing, replacing []*group
	for _, g := range b.groups {
		if g.Removes() {
			removing = append(removing, g)
		}
	}
	if len(removing) == 0 {
		return nil
	}
	if err := w.deletions().LookUp(ctx, tracesOf(removing)); err != nil {
		return err
	}
	for _, g := range removing {
		if g.Stored && len(g.entries) > 0 {
			replacing = append(replacing, g)
		}
	}
	return w.eachOrRefuse(ctx, b, replacing, "edit", func(traces []*deletion.Trace) error {
		return w.deletions().ReadReplaced(ctx, b.rng.First, traces)
	})
}

// removeStored removes rows of lower offsets: of traces that were edited or deleted, and
// of spans whose new version has another key. Then it finalizes those traces at once, so
// that totals and bounds are those of what is left.
func (w *worker) removeStored(ctx context.Context, b *batch) error {
	if !b.removes() {
		return nil
	}
	var changed []*group
	for _, g := range b.groups {
		if !g.Removes() {
			continue
		}
		w.metrics.removed.WithLabelValues(string(g.operation)).Inc()
		for _, e := range g.written {
			g.Written = append(g.Written, plan.Version{Project: g.Key.Project, Span: e.Span.SpanID, Version: e.Version})
		}
		if g.Stored {
			changed = append(changed, g)
		}
	}
	removal, err := w.deletions().Plan(ctx, tracesOf(b.groups), clickhouse.VersionOf(b.rng.First))
	if err != nil {
		return err
	}
	if err := w.remove(ctx, removal); err != nil || len(changed) == 0 {
		return err
	}
	return w.finalizeChanged(ctx, changed, b.rng.Last+1)
}

// finalizeChanged finalizes traces of which rows were removed as soon as ClickHouse answers.
// An edit must not hold up the partition: if the traces are too much or take long, they
// are left to finalizeGroup.
func (w *worker) finalizeChanged(ctx context.Context, groups []*group, next int64) error {
	keys := make([]rows.TraceKey, len(groups))
	for i, g := range groups {
		keys[i] = g.Key
	}
	err := w.store.Within(ctx, w.sink.cfg.FinalizeTimeout/3, func(ctx context.Context) error { return w.finalizeSafely(ctx, keys, next) })
	if err == nil || ctx.Err() != nil {
		return err
	}
	w.log.LogAttrs(ctx, slog.LevelWarn, "finalization of edited traces failed, their totals are computed later", slog.Int("traces", len(keys)), slog.Any("error", err))
	return w.reopen(ctx, groups)
}

// reopen makes traces pending of which rows were removed and none written, also for the
// next owner of the partition. Traces that were written to are pending already.
func (w *worker) reopen(ctx context.Context, groups []*group) error {
	var keys []rows.TraceKey
	for _, g := range groups {
		if len(g.written) == 0 {
			keys = append(keys, g.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	index, err := w.store.LookUpTraces(ctx, keys)
	if err != nil {
		return err
	}
	var reopened []rows.IndexRow
	now := w.clock()
	for _, key := range keys {
		x, ok := index[key]
		if !ok { // it was deleted
			continue
		}
		before := w.memory.Trace(key)
		if k := w.memory.Touch(key, now, time.Time{}); before == nil {
			k.Restored, k.Whole = true, false
		}
		reopened = append(reopened, rows.IndexRow{Key: key, Summary: rows.Summary{ // the same values with a later last_write_at
			MinStart: x.MinStart, MaxStart: x.MaxStart, MinPartitionWeek: x.MinPartitionWeek, MaxPartitionWeek: x.MaxPartitionWeek, Created: x.CreatedAt, LastVersion: x.LastVersion, FirstVersion: x.FirstVersion,
		}})
	}
	return w.store.Insert(ctx, clickhouse.Insertion{Table: schema.TraceIndex, Block: rows.TraceIndex(reopened, w.partition.Number(), now)})
}
