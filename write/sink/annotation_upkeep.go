package sink

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// The rows of annotation_index and evaluation_index stand under what they are about, so
// that a span which is removed or replaced cannot name them by their key: they
// are found by the trace that they are of, through an index. Traces without
// links, declarations and evaluators have none, and cost nothing here.

// annotationTables are the tables of such rows.
func annotationTables() [2]string { return [...]string{schema.AnnotationIndex, schema.EvaluationIndex} }

// mayAnnotate tells whether a trace may have rows.
func mayAnnotate(declared trace.Type, linked, judging bool) bool {
	return linked || judging || declared == trace.Annotation
}

// supersede notes a span whose stored version may have rows under other keys than the new one.
func (g *group) supersede(k *recent.Trace, e *entry) {
	if mayAnnotate(k.Declared, k.Linked, k.HasEvaluator) || rows.HasAnnotation(&e.Entry) || rows.HasEvaluator(e.Span) {
		g.superseded = append(g.superseded, e.Span.SpanID)
	}
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
		r.annotations = append(r.annotations, fmt.Sprintf("%s AND version < %d AND %s", clickhouse.OfTrace(g.key), below, clickhouse.OfSpans(some)))
	}
}

// moveAnnotations gives the rows of traces their type. Mostly there are none.
func (w *worker) moveAnnotations(ctx context.Context, to trace.Type, which string) error {
	for _, table := range annotationTables() {
		n, err := w.countRows(ctx, table, fmt.Sprintf("trace_type != '%s' AND %s", to, which))
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := w.moveRows(ctx, table, to, which); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) countRows(ctx context.Context, table, which string) (n uint64, err error) {
	err = w.store.Query(ctx, "count rows of "+table, "SELECT count() FROM "+w.store.Table(table)+" WHERE "+which,
		func() { n = 0 }, func(result driver.Rows) error { return result.Scan(&n) })
	return n, err
}

// cleanUpAnnotations removes, of traces that were stored before the memory
// knew of them, the rows of versions that a later one has replaced.
func (w *worker) cleanUpAnnotations(ctx context.Context, found []total, index map[rows.TraceKey]indexed) error {
	var keys []rows.TraceKey
	for i := range found {
		t := &found[i]
		x := index[t.key]
		if k := w.memory.Trace(t.key); mayAnnotate(max(t.declared, x.declared), t.linked || x.linked, x.judging) && (k == nil || k.OlderThan(x.created)) {
			keys = append(keys, t.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var gone removals
	for which := range clickhouse.AnyOf(clickhouse.Conditions(keys, boundsIn(index))) {
		stale, err := w.staleAnnotations(ctx, keys, which)
		if err != nil {
			return err
		}
		gone.annotations = append(gone.annotations, stale...)
	}
	if len(gone.annotations) == 0 {
		return nil
	}
	return w.remove(ctx, &gone)
}

// staleAnnotations gives conditions on the rows of replaced versions, of those of
// the traces whose spans are there.
func (w *worker) staleAnnotations(ctx context.Context, keys []rows.TraceKey, which string) (stale []string, err error) {
	d := w.sink.cfg.Deployment
	of := fmt.Sprintf("project_id IN %s AND (project_id, trace_id) IN %s", clickhouse.ProjectList(keys), clickhouse.TraceList(keys))
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, max(newest) AS latest FROM (
  SELECT project_id, trace_id, span_id, version, toUInt64(0) AS newest FROM %s WHERE %s
  UNION ALL SELECT project_id, trace_id, span_id, version, toUInt64(0) FROM %s WHERE %s
  UNION ALL SELECT project_id, trace_id, span_id, toUInt64(-1), version FROM %s WHERE trace_type IN ('invocation', 'annotation', 'unknown') AND (%s)
) GROUP BY project_id, trace_id, span_id HAVING min(version) < latest`,
		d.Table(schema.AnnotationIndex), of, d.Table(schema.EvaluationIndex), of, d.Table(schema.Spans), which)
	err = w.store.Query(ctx, "find replaced annotations", statement, func() { stale = nil }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var version uint64
		if err := result.Scan(&project, &rawTrace, &rawSpan, &version); err != nil {
			return err
		}
		stale = append(stale, fmt.Sprintf("%s AND span_id = unhex('%s') AND version < %d",
			clickhouse.OfTrace(rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}), hex.EncodeToString([]byte(rawSpan)), version))
		return nil
	})
	return stale, err
}
