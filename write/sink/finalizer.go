package sink

import (
	"context"
	"fmt"
	"log/slog"

	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/finalize"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rollup"
	"colonnade/write/sink/rows"
)

const (
	// maxFinalizeTimeouts is how often a trace that is finalized alone may run out of time.
	maxFinalizeTimeouts = 3
	// finalizeFraction is how much smaller the groups are that follow a failed one.
	finalizeFraction = 4
	// maxFinalizeGroups is how many groups are finalized between two batches.
	maxFinalizeGroups = 4
)

// finalizeDue finalizes the traces that received no span for FinalizeAfter.
func (w *worker) finalizeDue(ctx context.Context) error {
	cfg := &w.sink.cfg
	now := w.clock()
	if now.Before(w.finalizeFrom) {
		return nil
	}
	if w.writingSince.Load() != 0 && !w.outdatedDue(now) && len(w.memory.Due(now.Add(-cfg.FinalizeAfter), 1)) == 0 {
		return nil // nothing is due for which the worker had to wait for the batch in flight
	}
	if err := w.land(); err != nil {
		return err
	}
	w.finalizeFrom = now.Add(cfg.FinalizeEvery)
	if w.outdatedDue(now) {
		if err := w.removeOutdated(ctx); err != nil {
			return err
		}
	}
	finalized := 0
	for range maxFinalizeGroups {
		due := w.memory.Due(now.Add(-cfg.FinalizeAfter), w.finalizeSize())
		if len(due) == 0 {
			break
		}
		ok, err := w.finalizeGroup(ctx, due)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		finalized += len(due)
	}
	lag := now.Sub(w.memory.FinalizedUntil(now)) - cfg.FinalizeAfter
	w.metrics.finalizeLag.WithLabelValues(w.label).Set(max(lag, 0).Seconds())
	w.metrics.open.WithLabelValues(w.label).Set(float64(w.memory.Pending()))
	if w.memory.Pending() == 0 && (finalized > 0 || now.Sub(w.progressAt) > cfg.RollupEvery) {
		// No record may follow for long: record that everything is finalized up to now,
		// because the rollup cannot tell an idle partition from one that is stuck.
		return w.writeProgress(ctx, w.progress(w.partition.Next()))
	}
	return nil
}

// finalizeSize returns the number of traces of the next group.
func (w *worker) finalizeSize() int { return max(w.sink.cfg.FinalizeTraces>>w.finalizeShrink, 1) }

// finalizeGroup finalizes traces. If that fails, it leaves them pending, to be tried later
// in smaller groups, and returns false: a trace that ClickHouse cannot compute must not
// hold up the partition, which goes on before the next attempt. A trace that fails alone,
// while ClickHouse does other work, is left as it is.
func (w *worker) finalizeGroup(ctx context.Context, due []*recent.Trace) (ok bool, err error) {
	keys := make([]rows.TraceKey, len(due))
	for i, k := range due {
		keys[i] = k.Key
	}
	start := w.sink.deps.Now()
	bounded, cancel := context.WithTimeout(ctx, w.sink.cfg.FinalizeTimeout)
	err = w.finalizeSafely(bounded, keys, w.partition.Next())
	cancel()
	w.metrics.finalizeSeconds.Observe(w.sink.deps.Now().Sub(start).Seconds())
	switch {
	case err == nil:
		w.finalizeShrink, w.finalizeTimeouts = max(w.finalizeShrink-1, 0), 0
	case ctx.Err() != nil:
		return false, ctx.Err()
	case w.mayRetry(ctx, len(keys), err):
		w.finalizeFrom = w.clock().Add(w.sink.cfg.FinalizeTimeout / 2)
		w.log.LogAttrs(ctx, slog.LevelWarn, "finalization of traces failed, a smaller group is tried again later", slog.Int("traces", len(keys)), slog.Int("next_traces", w.finalizeSize()), slog.Any("error", err))
		return false, nil
	default:
		w.log.LogAttrs(ctx, slog.LevelError, "finalization of a trace failed, its totals are missing or superseded",
			slog.String("trace_id", keys[0].Trace.String()), slog.String("project_id", keys[0].Project.String()), slog.Any("error", err))
		w.finalizeTimeouts = 0
		w.markFailed(ctx, due[0])
	}
	for _, k := range due {
		w.memory.Finalized(k)
	}
	w.metrics.finalized.Add(float64(len(due)))
	return true, nil
}

// mayRetry reports whether a group of traces that could not be finalized is to be tried
// again, and makes the next group smaller if this one may have been too large.
func (w *worker) mayRetry(ctx context.Context, traces int, err error) bool {
	switch reason := w.store.Classify(ctx, err); {
	case reason == clickhouse.FaultUnavailable:
		return true
	case traces > 1:
		for w.finalizeSize() > max(traces/finalizeFraction, 1) { // fewer traces may be due than a group may have
			w.finalizeShrink++
		}
		return true
	case reason == clickhouse.FaultTimeout:
		w.finalizeTimeouts++
		return w.finalizeTimeouts < maxFinalizeTimeouts
	default:
		return false
	}
}

// markFailed makes statistics fall back to spans in the buckets of a trace that could not
// be finalized.
func (w *worker) markFailed(ctx context.Context, k *recent.Trace) {
	buckets := map[rollup.Bucket]bool{}
	for _, s := range k.Spans {
		buckets[rollup.BucketOf(k.Key.Project, s.Start)] = true
	}
	if err := w.sink.rollup.MarkStale(ctx, buckets, rollup.NeverServed); err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "marking the rollups of a trace for recomputation failed, statistics may count its superseded totals", slog.String("trace_id", k.Key.Trace.String()), slog.Any("error", err))
	}
}

// finalizeSafely is finalize that turns a panic into an error.
func (w *worker) finalizeSafely(ctx context.Context, keys []rows.TraceKey, next int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &clickhouse.DefectError{Reason: fmt.Sprintf("finalizing %d traces: %v", len(keys), p)}
		}
	}()
	return w.finalize(ctx, keys, next)
}

// finalize finalizes these traces. All of the stream below next is stored.
func (w *worker) finalize(ctx context.Context, keys []rows.TraceKey, next int64) error {
	from := finalize.Source{DB: w.store, Cache: w.memory, Partition: w.partition.Number(), Metrics: w.sink.finalized, Now: w.clock}
	traces, err := from.Read(ctx, keys, next)
	if err != nil {
		return err
	}
	for _, stage := range traces.Stages() {
		steps, err := stage(ctx)
		if err != nil {
			return err
		}
		if err := w.execute(ctx, steps); err != nil {
			return err
		}
	}
	return nil
}
