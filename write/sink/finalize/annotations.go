package finalize

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
)

// moveAnnotations returns the steps that give the annotations of traces their type.
// Usually there are none.
func (t *Traces) moveAnnotations(ctx context.Context, to trace.Type, which string) (steps []plan.Step, err error) {
	for _, table := range [...]string{schema.AnnotationIndex, schema.EvaluationIndex} {
		n := uint64(0)
		err := t.from.DB.Query(ctx, "count rows of "+table, fmt.Sprintf("SELECT count() FROM %s WHERE trace_type != '%s' AND %s", t.from.DB.Table(table), to, which),
			func() { n = 0 }, func(result driver.Rows) error { return result.Scan(&n) })
		if err != nil {
			return nil, err
		}
		if n > 0 {
			steps = append(steps, t.moveRows(table, to, which)...)
		}
	}
	return steps, nil
}

// cleanAnnotations removes, of traces that were stored before they were recent, the
// annotations of versions that a later one has replaced.
func (t *Traces) cleanAnnotations(ctx context.Context) ([]plan.Step, error) {
	t.noteRepaired()
	keys := t.where(func(x *total) bool {
		indexed, k := t.index[x.key], t.from.Cache.Trace(x.key)
		return rows.MayHaveAnnotations(max(x.declared, indexed.Declared), x.linked || indexed.Linked, indexed.HasEvaluator) && (k == nil || k.OlderThan(indexed.CreatedAt))
	})
	var removal plan.Removal
	for which := range clickhouse.AnyOf(t.conditions(keys)) {
		superseded, err := t.supersededAnnotations(ctx, keys, which)
		if err != nil {
			return nil, err
		}
		removal.Annotations = append(removal.Annotations, superseded...)
	}
	if len(removal.Annotations) == 0 {
		return nil, nil
	}
	return []plan.Step{&removal}, nil
}

// supersededAnnotations returns conditions on the annotations of replaced versions, of
// those of the traces whose spans are stored.
func (t *Traces) supersededAnnotations(ctx context.Context, keys []rows.TraceKey, which string) (superseded []string, err error) {
	db := t.from.DB
	of := fmt.Sprintf("project_id IN %s AND (project_id, trace_id) IN %s", clickhouse.ProjectList(keys), clickhouse.TraceList(keys))
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, max(newest) AS latest FROM (
  SELECT project_id, trace_id, span_id, version, toUInt64(0) AS newest FROM %s WHERE %s
  UNION ALL SELECT project_id, trace_id, span_id, version, toUInt64(0) FROM %s WHERE %s
  UNION ALL SELECT project_id, trace_id, span_id, toUInt64(-1), version FROM %s WHERE trace_type IN ('invocation', 'annotation', 'unknown') AND (%s)
) GROUP BY project_id, trace_id, span_id HAVING min(version) < latest`,
		db.Table(schema.AnnotationIndex), of, db.Table(schema.EvaluationIndex), of, db.Table(schema.Spans), which)
	err = db.Query(ctx, "find replaced annotations", statement, func() { superseded = nil }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var version uint64
		if err := result.Scan(&project, &rawTrace, &rawSpan, &version); err != nil {
			return err
		}
		superseded = append(superseded, fmt.Sprintf("%s AND span_id = unhex('%s') AND version < %d",
			clickhouse.OfTrace(rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}), hex.EncodeToString([]byte(rawSpan)), version))
		return nil
	})
	return superseded, err
}
