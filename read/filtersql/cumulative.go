package filtersql

import (
	"strings"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
)

// The sums of a span over all spans below it are in span_cumulative once its trace is
// finalized, under the key of its row in spans, so that a statement reads the same range
// of the key there. The sums of a span without a row there are its own values. About
// traces that were written to after they were finalized filter.Match decides.

// hasCumulative holds for rows for which span_cumulative has a row with a sum in the
// column, if the condition holds for that row. The row finalized last counts.
type hasCumulative struct {
	column string
	of     sqltext.Node
}

func (n hasCumulative) Write(w *sqltext.Writer, s *sqltext.Scope) {
	w.Put("(trace_type, start_time, sort_hash) IN (SELECT trace_type, start_time, sort_hash FROM " + schema.SpanCumulative + " FINAL WHERE ")
	s.Bounds(w)
	w.Put(" AND " + n.column + " != 0")
	if n.of != sqltext.Constant(true) {
		w.Put(" AND ")
		n.of.Write(w, s)
	}
	w.Put(")")
}

// pendingTraces holds for rows of traces that were written to after they were finalized, so
// that their sums are not those of their spans. Only traces written after all
// partitions were finalized can be pending: they are few, and one lookup for each
// statement finds them. The clocks of sinks may differ by one minute.
type pendingTraces struct{}

func (pendingTraces) Write(w *sqltext.Writer, s *sqltext.Scope) {
	const from = "(SELECT ifNull(min(until), toDateTime64(0, 6, 'UTC')) - INTERVAL 1 MINUTE FROM (SELECT max(finalized_until) AS until FROM " + schema.SinkProgress + " GROUP BY topic, stream_partition))"
	w.Put("(trace_id IN (SELECT trace_id FROM (SELECT trace_id, max(last_version) AS written FROM "+schema.TraceIndex+" WHERE project_id = ? AND last_write_at >= "+from+" GROUP BY trace_id) AS touched"+
		" LEFT ANY JOIN (SELECT trace_id, max(version) AS finalized FROM "+schema.TraceTotals+" WHERE project_id = ? AND finalized_at >= "+from+" GROUP BY trace_id) AS done USING (trace_id) WHERE finalized < written))", s.Project, s.Project)
}

// sum compiles a test of a cumulative value: the sum where there is one, else the value
// that a client sent. Source: spanmetrics.Cumulate.
func (a AttributePath) sum(t filter.Test) (pair, error) {
	alone := strings.Replace(a.Path, "."+semconv.Cumulative, "."+semconv.Incremental, 1)
	own, _ := schema.NumberColumn(alone)
	long := NewAttributePath(jsonvalue.SplitPath(alone)).counted(own)
	test, err := numberColumn(own, sqltext.Constant(false), t)
	if err != nil {
		return pair{}, err
	}
	sent, err := a.stored(t)
	if err != nil {
		return pair{}, err
	}
	// NaN in a row means that the span's own value and those below it cancel out.
	number, cancelled := sqltext.Expr("NOT isNaN("+own+")"), sqltext.Expr("isNaN("+own+")")
	none := sqltext.Expr("(isNaN(" + own + ") OR " + own + " = 0)")
	value := func(below, sent sqltext.Node) sqltext.Node {
		alone := sqltext.Or(sqltext.And(sqltext.Not(none), test.superset), sqltext.And(none, sent))
		return sqltext.Or(below, sqltext.And(sqltext.Not(hasCumulative{own, sqltext.Constant(true)}), alone))
	}
	in, sure := sqltext.Or(cancelled, test.superset), sqltext.And(number, test.superset)
	if _, ordered := t.(filter.Number); !ordered && beyond(t) { // sums that large are rounded
		rounded := sqltext.Expr("abs("+own+") >= ?", float64(maxExact))
		in, sure = sqltext.Or(in, rounded), sqltext.And(sure, sqltext.Not(rounded))
	}
	over := value(hasCumulative{own, in}, sent.superset)
	under := sqltext.Node(sqltext.Constant(false))
	if sure != sqltext.Constant(false) {
		under = hasCumulative{own, sure}
	}
	under = value(under, sent.subset)
	return between(sqltext.Or(pendingTraces{}, long, over), sqltext.And(sqltext.Not(pendingTraces{}), sqltext.Not(long), under)), nil
}
