package sink

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// lookUpRemovals reads what is stored of the traces that the batch edits or
// deletes: their bounds, and the creation of the spans that an edit replaces.
func (w *worker) lookUpRemovals(ctx context.Context, b *batch) error {
	var keys []rows.TraceKey
	for _, g := range b.groups {
		if g.removed || g.removedSpans != nil {
			keys = append(keys, g.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	index, err := w.store.LookUpTraces(ctx, keys)
	if err != nil {
		return err
	}
	var replacing []*group
	for _, g := range b.groups {
		if x, ok := index[g.key]; ok && (g.removed || g.removedSpans != nil) {
			g.bounds, g.version, g.stored, g.annotated = x.Bounds, x.LastVersion, true, rows.MayHaveAnnotations(x.Declared, x.Linked, x.HasEvaluator)
			if g.before = recent.NewTrace(g.key, nil); len(g.entries) > 0 {
				replacing = append(replacing, g)
			}
		}
	}
	err = w.replacedSpans(ctx, b, replacing, index)
	if err == nil || ctx.Err() != nil || len(replacing) == 0 {
		return err
	}
	for _, g := range replacing { // one of them is too much for the store
		if err := w.replacedSpans(ctx, b, []*group{g}, index); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.refuseGroup(g, "edit", err)
		}
	}
	return nil
}

// replacedSpans reads the spans that edits replace: of one of some spans only those.
func (w *worker) replacedSpans(ctx context.Context, b *batch, groups []*group, index map[rows.TraceKey]clickhouse.IndexedTrace) error {
	byKey := make(map[rows.TraceKey]*group, len(groups))
	var whole []rows.TraceKey
	var conditions []string
	for _, g := range groups {
		byKey[g.key] = g
		if g.removedSpans == nil {
			whole = append(whole, g.key)
			continue
		}
		conditions = append(conditions, clickhouse.OfTrace(g.key)+" AND "+g.bounds.SQL()+" AND "+clickhouse.OfSpans(slices.Collect(maps.Keys(g.removedSpans))))
	}
	for which := range clickhouse.AnyOf(append(conditions, clickhouse.Conditions(whole, clickhouse.BoundsIn(index))...)) {
		err := w.store.Within(ctx, w.sink.cfg.FinalizeTimeout, func(ctx context.Context) error { return w.storedSpans(ctx, which, b.rng.First, byKey) })
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseGroup sends to the dead topic what a batch has of a trace that is too large
// for what is to be done to it: the stream goes on without it.
func (b *batch) refuseGroup(g *group, stage string, err error) {
	dead := b.deadRecords()
	for _, i := range g.records {
		if !dead[i] {
			b.die(i, stage, err)
		}
	}
	*g = group{key: g.key}
}

// storedSpans reads when and by whom spans of groups were first written, below an offset.
func (w *worker) storedSpans(ctx context.Context, which string, first int64, groups map[rows.TraceKey]*group) error {
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, toUnixTimestamp64Micro(min(created_at)), argMin(created_by_id, created_at) FROM %s WHERE (%s) AND version < %d GROUP BY project_id, trace_id, span_id`,
		w.store.Table(schema.Spans), which, clickhouse.VersionOf(first))
	found := map[rows.TraceKey][]recent.Span{}
	err := w.store.Query(ctx, "read replaced spans", statement, func() { clear(found) }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var s recent.Span
		if err := result.Scan(&project, &rawTrace, &rawSpan, &s.CreatedAt, &s.CreatedBy); err != nil {
			return err
		}
		copy(s.ID[:], rawSpan)
		key := rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}
		found[key] = append(found[key], s)
		return nil
	})
	if err != nil {
		return err
	}
	for key, list := range found {
		if g := groups[key]; g != nil {
			g.before = recent.NewTrace(key, list)
		}
	}
	return nil
}

// removeStored removes rows of lower offsets: of traces that were edited or
// deleted, and of spans whose new version stands under another key. Then it
// settles those traces at once, so that totals and bounds are those of what is
// left. A statement costs much the same for one trace and for many.
func (w *worker) removeStored(ctx context.Context, b *batch) error {
	if !b.removes() {
		return nil
	}
	below := clickhouse.VersionOf(b.rng.First)
	var gone removals
	var touched []*group
	var whole []*group
	var superseded []plan.SupersededRows
	for _, g := range b.groups {
		gone.ofAnnotations(g, below)
		if len(g.stale) > 0 && !g.removed {
			superseded = append(superseded, plan.SupersededRows{Key: g.key, Rows: g.stale})
		}
		if !g.removed && g.removedSpans == nil {
			continue
		}
		w.metrics.removed.WithLabelValues(string(g.operation)).Inc()
		if !g.stored { // nothing of it was stored before
			continue
		}
		touched = append(touched, g)
		if g.removedSpans != nil {
			gone.spans(g, below)
		} else {
			whole = append(whole, g)
		}
	}
	gone.AddSuperseded(superseded, below)
	gone.traces(whole, below)
	for _, g := range touched {
		if err := w.formerRows(ctx, g, below, &gone); err != nil {
			return err
		}
	}
	if err := w.remove(ctx, &gone.Removal); err != nil || len(touched) == 0 {
		return err
	}
	return w.finalizeChanged(ctx, touched, b.rng.Last+1)
}

// formerRows adds rows that are older than what removes them and have no lower
// versions: of a topic that was made anew, or of the partition that a trace was in
// before there were more. They are told by their receipt, and named one by one:
// should this be done again, by whomever and whenever, later rows are safe.
func (w *worker) formerRows(ctx context.Context, g *group, below uint64, gone *removals) error {
	if g.version < below {
		return nil
	}
	before := fmt.Sprintf("fromUnixTimestamp64Micro(%d, 'UTC')", rows.Micros(g.receivedAt.Add(-w.sink.cfg.MaxClockSkew)))
	which := clickhouse.OfTrace(g.key) + " AND " + g.bounds.SQL()
	if g.removedSpans != nil {
		which += " AND " + clickhouse.OfSpans(slices.Collect(maps.Keys(g.removedSpans)))
	}
	own := make(map[string]bool, len(g.written))
	for _, e := range g.written {
		own[clickhouse.VersionLiteral(e.Version, e.Span.SpanID)] = true
	}
	statement := fmt.Sprintf("SELECT version, span_id FROM %s WHERE %s AND version >= %d AND greatest(created_at, updated_at) < %s",
		w.store.Table(schema.Spans), which, below, before)
	var found []string
	err := w.store.Query(ctx, "find former rows", statement, func() { found = nil }, func(result driver.Rows) error {
		var version uint64
		var raw string
		var id trace.SpanID
		if err := result.Scan(&version, &raw); err != nil {
			return err
		}
		copy(id[:], raw)
		if row := clickhouse.VersionLiteral(version, id); !own[row] {
			found = append(found, row)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	w.log.LogAttrs(ctx, slog.LevelWarn, "edit or delete removes earlier rows with later offsets: the topic was created again or its partitions were increased",
		slog.String("trace_id", g.key.Trace.String()), slog.Int("rows", len(found)))
	for some := range slices.Chunk(found, outdatedAtOnce) {
		named := " AND (version, span_id) IN (" + strings.Join(some, ",") + ")"
		gone.Spans, gone.Payloads = append(gone.Spans, which+named), append(gone.Payloads, which+named)
		if g.annotated {
			gone.Annotations = append(gone.Annotations, clickhouse.OfTrace(g.key)+named)
		}
	}
	gone.Totals = append(gone.Totals, fmt.Sprintf("%s AND version >= %d AND finalized_at < %s", clickhouse.OfTrace(g.key), below, before))
	if g.removed && len(g.written) == 0 {
		gone.Index = append(gone.Index, fmt.Sprintf("%s AND last_version >= %d AND last_write_at < %s", clickhouse.OfTrace(g.key), below, before))
		gone.Rejected = append(gone.Rejected, fmt.Sprintf("%s AND stream_offset >= %d AND rejected_at < %s", clickhouse.RejectedSpansOf([]rows.TraceKey{g.key}), below>>schema.VersionShift, before))
	}
	return nil
}

// finalizeChanged settles traces of which rows were removed, once the store is there.
// An edit must not hold up the stream: if they are too much, or take long, they
// are left to settleGroup.
func (w *worker) finalizeChanged(ctx context.Context, groups []*group, next int64) error {
	keys := make([]rows.TraceKey, len(groups))
	for i, g := range groups {
		keys[i] = g.key
	}
	err := w.store.Within(ctx, w.sink.cfg.FinalizeTimeout/3, func(ctx context.Context) error { return w.finalizeSafely(ctx, keys, next) })
	if err == nil || ctx.Err() != nil {
		return err
	}
	w.log.LogAttrs(ctx, slog.LevelWarn, "finalization of edited traces failed, their totals are computed later", slog.Int("traces", len(keys)), slog.Any("error", err))
	return w.reopen(ctx, groups)
}

// reopen has traces settled later of which rows were removed and none written,
// by the next owner of the partition, too: what was written is open already.
func (w *worker) reopen(ctx context.Context, groups []*group) error {
	var keys []rows.TraceKey
	for _, g := range groups {
		if len(g.written) == 0 {
			keys = append(keys, g.key)
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
		reopened = append(reopened, rows.IndexRow{Key: key, Summary: rows.Summary{ // which says what was said, but for the time
			MinStart: x.MinStart, MaxStart: x.MaxStart, MinPartitionWeek: x.MinPartitionWeek, MaxPartitionWeek: x.MaxPartitionWeek, Created: x.CreatedAt, LastVersion: x.LastVersion, FirstVersion: x.FirstVersion,
		}})
	}
	return w.store.Insert(ctx, clickhouse.Insertion{Table: schema.TraceIndex, Block: rows.TraceIndex(reopened, w.partition.Number(), now)})
}

// removals are conditions on the rows that go, by table.
type removals struct{ plan.Removal }

// traces adds the lower versions of traces in every table that holds a part of them.
func (r *removals) traces(groups []*group, below uint64) {
	keys, index := make([]rows.TraceKey, len(groups)), make(map[rows.TraceKey]clickhouse.IndexedTrace, len(groups))
	var annotated, gone []rows.TraceKey
	for i, g := range groups {
		keys[i], index[g.key] = g.key, clickhouse.IndexedTrace{Bounds: g.bounds}
		if g.annotated {
			annotated = append(annotated, g.key)
		}
		if g.removed && len(g.written) == 0 { // of an edit, settling mends the index, which is never without the trace
			gone = append(gone, g.key)
		}
	}
	for _, which := range clickhouse.Conditions(keys, clickhouse.BoundsIn(index)) {
		r.Buckets = append(r.Buckets, which)
		r.lowerSpans(which, below)
	}
	for some := range slices.Chunk(keys, clickhouse.TracesAtOnce) {
		r.lowerTotals(clickhouse.OfTraces(some), below)
	}
	for some := range slices.Chunk(annotated, clickhouse.TracesAtOnce) {
		r.Annotations = append(r.Annotations, fmt.Sprintf("%s AND version < %d", clickhouse.OfTraces(some), below))
	}
	for some := range slices.Chunk(gone, clickhouse.TracesAtOnce) {
		r.Index = append(r.Index, fmt.Sprintf("%s AND last_version < %d", clickhouse.OfTraces(some), below))
		r.Rejected = append(r.Rejected, fmt.Sprintf("%s AND stream_offset < %d", clickhouse.RejectedSpansOf(some), below>>schema.VersionShift))
	}
}

// lowerSpans adds the lower versions of spans.
func (r *removals) lowerSpans(which string, below uint64) {
	which += fmt.Sprintf(" AND version < %d", below)
	r.Spans, r.Payloads = append(r.Spans, which), append(r.Payloads, which)
}

// lowerTotals adds those of the totals of traces: of what is left they may have a
// lower version, which would not replace these.
func (r *removals) lowerTotals(which string, below uint64) {
	r.Totals = append(r.Totals, fmt.Sprintf("%s AND version < %d", which, below))
}

// spans adds the lower versions of some of a trace's spans.
func (r *removals) spans(g *group, below uint64) {
	ids := make([]trace.SpanID, 0, len(g.removedSpans))
	for id := range g.removedSpans {
		ids = append(ids, id)
	}
	which := clickhouse.OfTrace(g.key) + " AND " + g.bounds.SQL()
	r.Buckets = append(r.Buckets, which)
	for some := range slices.Chunk(ids, clickhouse.SpansAtOnce) {
		r.lowerSpans(which+" AND "+clickhouse.OfSpans(some), below)
	}
	r.lowerTotals(clickhouse.OfTrace(g.key), below)
}

// ofAnnotations adds the rows that the replacements of a group leave behind, of
// lower versions. Those of whole traces are added with the traces.
func (r *removals) ofAnnotations(g *group, below uint64) {
	ids := slices.Clone(g.superseded)
	if g.stored && g.annotated {
		ids = slices.AppendSeq(ids, maps.Keys(g.removedSpans))
	}
	if g.removed || len(ids) == 0 {
		return
	}
	for some := range slices.Chunk(ids, clickhouse.SpansAtOnce) {
		r.Annotations = append(r.Annotations, fmt.Sprintf("%s AND version < %d AND %s", clickhouse.OfTrace(g.key), below, clickhouse.OfSpans(some)))
	}
}
