package sink

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
)

// execute makes changes, one after the other: each must be durable before the next.
func (w *worker) execute(ctx context.Context, steps []plan.Step) error {
	for _, step := range steps {
		var err error
		switch s := step.(type) {
		case plan.Insert:
			err = w.store.Insert(ctx, clickhouse.Insertion{Table: s.Table, Block: s.Block})
		case plan.Statement:
			err = w.store.Exec(ctx, s.What, s.SQL)
		case plan.Delete:
			err = w.store.Delete(ctx, s.Table, s.Where)
		case plan.Superseded:
			for _, v := range s {
				w.outdated = append(w.outdated, outdated{Version: v})
			}
		case *plan.Removal:
			err = w.remove(ctx, s)
		default:
			err = fmt.Errorf("sink: a plan has a step of type %T", step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove hides rows, first those that make a trace visible.
func (w *worker) remove(ctx context.Context, gone *plan.Removal) error {
	buckets, err := w.sink.rollup.BucketsOf(ctx, gone.Buckets)
	if err != nil {
		return err
	}
	if err := w.sink.rollup.MarkStale(ctx, buckets, rows.Micros(w.clock())); err != nil {
		return err
	}
	for _, of := range []struct {
		table string
		rows  []string
	}{
		{schema.Spans, gone.Spans},
		{schema.AnnotationIndex, gone.Annotations},
		{schema.EvaluationIndex, gone.Annotations},
		{schema.SpanPayloads, gone.Payloads},
		{schema.SpanCumulative, gone.Spans},
		{schema.TraceTotals, gone.Totals},
		{schema.TraceIndex, gone.Index},
	} {
		for which := range clickhouse.AnyOf(of.rows) {
			if err := w.store.Delete(ctx, of.table, which); err != nil {
				return err
			}
		}
	}
	for which := range clickhouse.AnyOf(gone.Rejected) {
		if err := w.removeRejected(ctx, which); err != nil {
			return err
		}
	}
	w.metrics.stale.Add(float64(gone.Traces))
	return nil
}

// removeRejected hides rejected spans of traces; usually there are none.
func (w *worker) removeRejected(ctx context.Context, which string) error {
	var n uint64
	err := w.store.Query(ctx, "count rejected_spans of traces", "SELECT count() FROM "+w.store.Table(schema.RejectedSpans)+" WHERE "+which,
		func() { n = 0 }, func(result driver.Rows) error { return result.Scan(&n) })
	if err != nil || n == 0 {
		return err
	}
	return w.store.Delete(ctx, schema.RejectedSpans, which)
}
