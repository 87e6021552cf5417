package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// Settling a trace that went quiet: what it and its spans sum is computed anew
// (each span once, its latest version), its spans get one type, and what newer
// versions left behind is removed. Doing it twice changes nothing. A late span
// opens the trace again.
//
// Its spans come from memory where this worker has seen all that was ever
// written of the trace, and from the store otherwise (settle_facts.go).
//
// What is settled carries the version "all of the stream below this": it wins
// over what an owner of the partition knew before, whenever that arrives, and
// a trace is settled while that lies above its last write.

const (
	// settleLate is how often a trace that is settled alone may run out of time.
	settleLate = 3
	// settleFraction is how much smaller the groups are that follow a failed one.
	settleFraction = 4
	// settleGroups is how many groups are settled between two batches.
	settleGroups = 4
)

// settleDue settles traces that have been quiet long enough.
func (w *worker) settleDue(ctx context.Context) error {
	cfg := &w.sink.cfg
	now := w.clock()
	if now.Before(w.settleFrom) {
		return nil
	}
	if w.writingSince.Load() != 0 && !w.outdatedDue(now) && len(w.memory.Due(now.Add(-cfg.FinalizeAfter), 1)) == 0 {
		return nil // nothing is due that what is being written had to be waited for
	}
	if err := w.land(); err != nil {
		return err
	}
	w.settleFrom = now.Add(cfg.FinalizeEvery)
	if w.outdatedDue(now) {
		if err := w.removeOutdated(ctx); err != nil {
			return err
		}
	}
	settled := 0
	for range settleGroups {
		due := w.memory.Due(now.Add(-cfg.FinalizeAfter), w.settleSize())
		if len(due) == 0 {
			break
		}
		ok, err := w.settleGroup(ctx, due)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		settled += len(due)
	}
	lag := now.Sub(w.memory.FinalizedUntil(now)) - cfg.FinalizeAfter
	w.metrics.settleLag.WithLabelValues(w.label).Set(max(lag, 0).Seconds())
	w.metrics.open.WithLabelValues(w.label).Set(float64(w.memory.Pending()))
	if w.memory.Pending() == 0 && (settled > 0 || now.Sub(w.progressAt) > cfg.RollupEvery) {
		// Nothing may follow for long: say that all is settled up to now. Nobody
		// else can tell an idle partition from one that is stuck.
		return w.writeProgress(ctx, w.progress(w.partition.Next()))
	}
	return nil
}

func (w *worker) settleSize() int { return max(w.sink.cfg.FinalizeTraces>>w.settleShrink, 1) }

// settleGroup settles traces or, when that fails, leaves them open for later in
// smaller groups, and tells false: a trace that the store cannot compute must
// not hold up the stream, which goes on before the next attempt. One that fails
// alone, while the store does other work, is left as it is.
func (w *worker) settleGroup(ctx context.Context, due []*recent.Trace) (ok bool, err error) {
	keys := make([]rows.TraceKey, len(due))
	for i, k := range due {
		keys[i] = k.Key
	}
	start := w.sink.deps.Now()
	bounded, cancel := context.WithTimeout(ctx, w.sink.cfg.FinalizeTimeout)
	err = w.settleSafely(bounded, keys, w.partition.Next())
	cancel()
	w.metrics.settleSeconds.Observe(w.sink.deps.Now().Sub(start).Seconds())
	switch {
	case err == nil:
		w.settleShrink, w.settleLate = max(w.settleShrink-1, 0), 0
	case ctx.Err() != nil:
		return false, ctx.Err()
	case w.mayYetSettle(ctx, len(keys), err):
		w.settleFrom = w.clock().Add(w.sink.cfg.FinalizeTimeout / 2)
		w.log.LogAttrs(ctx, slog.LevelWarn, "finalization of traces failed, a smaller group is tried again later", slog.Int("traces", len(keys)), slog.Int("next_traces", w.settleSize()), slog.Any("error", err))
		return false, nil
	default:
		w.log.LogAttrs(ctx, slog.LevelError, "finalization of a trace failed, its totals are missing or superseded",
			slog.String("trace_id", keys[0].Trace.String()), slog.String("project_id", keys[0].Project.String()), slog.Any("error", err))
		w.settleLate = 0
		w.unsettled(ctx, due[0])
	}
	for _, k := range due {
		w.memory.Finalized(k)
	}
	w.metrics.settled.Add(float64(len(due)))
	return true, nil
}

// mayYetSettle tells whether a group of traces that could not be settled is to be
// tried again, and makes the next one smaller if they may be too much.
func (w *worker) mayYetSettle(ctx context.Context, traces int, err error) bool {
	switch reason := w.store.Classify(ctx, err); {
	case reason == clickhouse.FaultUnavailable:
		return true
	case traces > 1:
		for w.settleSize() > max(traces/settleFraction, 1) { // few may be due of those that a group may hold
			w.settleShrink++
		}
		return true
	case reason == clickhouse.FaultTimeout:
		w.settleLate++
		return w.settleLate < settleLate
	default:
		return false
	}
}

// unsettled keeps statistics from the minutes of a trace that could not be settled.
func (w *worker) unsettled(ctx context.Context, k *recent.Trace) {
	minutes := map[projectMinute]bool{}
	for _, s := range k.Spans {
		minutes[projectMinute{k.Key.Project, s.Start / microsOfMinute}] = true
	}
	if err := w.sink.staleMinutes(ctx, minutes, never); err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "marking the rollups of a trace for recomputation failed, statistics may count its superseded totals", slog.String("trace_id", k.Key.Trace.String()), slog.Any("error", err))
	}
}

// settleSafely is settle that bears our defects.
func (w *worker) settleSafely(ctx context.Context, keys []rows.TraceKey, next int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &clickhouse.DefectError{Reason: fmt.Sprintf("settling %d traces: %v", len(keys), p)}
		}
	}()
	return w.settle(ctx, keys, next)
}

// settle settles these traces. All of the stream below next is stored.
func (w *worker) settle(ctx context.Context, keys []rows.TraceKey, next int64) error {
	found, rest, err := w.remembered(ctx, keys)
	if err != nil {
		return err
	}
	if err := w.repairRemembered(ctx, found, next); err != nil {
		return err
	}
	stored, err := w.settleStored(ctx, rest, next)
	if err != nil {
		return err
	}
	found = append(found, stored...)
	for i := range found {
		if k := w.memory.Trace(found[i].key); k != nil {
			k.Whole, k.Metrics = false, nil // from here on it is no longer the first time
		}
	}
	if err := w.store.Insert(ctx, clickhouse.Insertion{Table: schema.SpanCumulative, Block: sumColumns(found, settledVersion(next))}); err != nil {
		return err
	}
	return w.store.Insert(ctx, clickhouse.Insertion{Table: schema.TraceTotals, Block: rollupColumns(found, settledVersion(next), w.clock())})
}

// settledVersion is above all versions of offsets below next, and below all others.
func settledVersion(next int64) uint64 { return max(clickhouse.VersionOf(next), 1) - 1 }

// repairRemembered repairs traces of which memory has all: what the index says
// of them is known without asking.
func (w *worker) repairRemembered(ctx context.Context, found []total, next int64) error {
	if len(found) == 0 {
		return nil
	}
	index := make(map[rows.TraceKey]indexed, len(found))
	for i := range found {
		k := w.memory.Trace(found[i].key)
		index[k.Key] = indexed{Bounds: found[i].Bounds, declared: k.Declared, linked: k.Linked, judging: k.HasEvaluator, created: k.FirstCreated}
	}
	return w.repair(ctx, found, index, next)
}

// settleStored repairs traces that have to be read from the store, and gives
// what they sum; those that are gone are missing from the answer.
func (w *worker) settleStored(ctx context.Context, keys []rows.TraceKey, next int64) ([]total, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	index, err := w.lookUp(ctx, keys)
	if err != nil {
		return nil, err
	}
	present := slices.DeleteFunc(slices.Clone(keys), func(k rows.TraceKey) bool { _, ok := index[k]; return !ok })
	found, err := w.stored(ctx, present, index)
	if err != nil {
		return nil, err
	}
	return found, w.repair(ctx, found, index, next)
}

// repair gives traces their type and takes away what does not belong to them.
// index is what trace_index says of them. A statement costs much the same for
// one trace and for many, and thousands may need the same: no step is one for each.
func (w *worker) repair(ctx context.Context, found []total, index map[rows.TraceKey]indexed, next int64) error {
	var mixed, stale, mistaken []*total
	for i := range found {
		t := &found[i]
		x := index[t.key]
		if t.types != 1<<t.resolved {
			mixed = append(mixed, t)
		}
		if t.stale {
			stale = append(stale, t)
		}
		if x.declared != t.declared || x.linked != t.linked {
			mistaken = append(mistaken, t)
		}
	}
	if err := w.move(ctx, mixed, index); err != nil {
		return err
	}
	if err := w.cleanUp(ctx, stale, index); err != nil {
		return err
	}
	if err := w.mendIndex(ctx, mistaken, next); err != nil {
		return err
	}
	for i := range found {
		t := &found[i]
		if k := w.memory.Trace(t.key); k != nil {
			k.Declared, k.Linked = t.declared, t.linked
			for i := range k.Spans {
				k.Spans[i].TraceType = t.resolved
			}
		}
	}
	if err := w.cleanUpAnnotations(ctx, found, index); err != nil {
		return err
	}
	return w.promote(ctx, found, index)
}
