package compile

import (
	"strings"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// What a span sums over all below it (contract §1.6) stands in span_cumulative once
// its trace is settled, under the key of its row in spans: a statement asks
// there by the same stretch of the key. A span without a row there sums what is
// its own. Of traces that were written to since they were settled no row knows:
// for those filter.Match decides.

// summing holds for rows of which span_cumulative has a row whose column holds
// something to sum, and of which the rest holds. The last settled row counts.
type summing struct {
	column string
	of     node
}

func (n summing) write(w *writer, s *scope) {
	w.put("(trace_type, start_time, sort_hash) IN (SELECT trace_type, start_time, sort_hash FROM " + schema.SpanCumulative + " FINAL WHERE ")
	s.bounds(w)
	w.put(" AND " + n.column + " != 0")
	if n.of != constant(true) {
		w.put(" AND ")
		n.of.write(w, s)
	}
	w.put(")")
}

// unsettled holds for rows of traces whose sums are not those of their spans:
// written to since they were settled. Only traces
// touched since all partitions were settled can be: those are few, and looked
// up once for a statement. The minute is what clocks of sinks may lie apart.
type unsettled struct{}

func (unsettled) write(w *writer, s *scope) {
	const from = "(SELECT ifNull(min(until), toDateTime64(0, 6, 'UTC')) - INTERVAL 1 MINUTE FROM (SELECT max(finalized_until) AS until FROM " + schema.SinkProgress + " GROUP BY topic, stream_partition))"
	w.put("(trace_id IN (SELECT trace_id FROM (SELECT trace_id, max(last_version) AS written FROM "+schema.TraceIndex+" WHERE project_id = ? AND last_write_at >= "+from+" GROUP BY trace_id) AS touched"+
		" LEFT ANY JOIN (SELECT trace_id, max(version) AS settled FROM "+schema.TraceTotals+" WHERE project_id = ? AND finalized_at >= "+from+" GROUP BY trace_id) AS done USING (trace_id) WHERE settled < written))", s.project, s.project)
}

// sum compiles a test of a value that readers compute: the sum where there is
// one, else what a client sent. Source: spanmetrics.Cumulate.
func (a at) sum(t filter.Test) (pair, error) {
	alone := strings.Replace(a.path, "."+semconv.Cumulative, "."+semconv.Incremental, 1)
	own, _ := schema.NumberColumn(alone)
	long := place(jsonvalue.SplitPath(alone)).counted(own)
	test, err := numberColumn(own, constant(false), t)
	if err != nil {
		return pair{}, err
	}
	sent, err := a.stored(t)
	if err != nil {
		return pair{}, err
	}
	// A row of NaN tells that what is the span's own and what is below it cancel out.
	number, cancelled := sql("NOT isNaN("+own+")"), sql("isNaN("+own+")")
	none := sql("(isNaN(" + own + ") OR " + own + " = 0)")
	value := func(below, sent node) node {
		alone := either(both(not(none), test.over), both(none, sent))
		return either(below, both(not(summing{own, constant(true)}), alone))
	}
	in, sure := either(cancelled, test.over), both(number, test.over)
	if _, ordered := t.(filter.Number); !ordered && beyond(t) { // sums there are rounded
		in, sure = constant(true), constant(false)
	}
	over := value(summing{own, in}, sent.over)
	under := node(constant(false))
	if sure != constant(false) {
		under = summing{own, sure}
	}
	under = value(under, sent.under)
	return between(either(unsettled{}, long, over), both(not(unsettled{}), not(long), under)), nil
}

// Written looks up up to where traces were written. Its rows are trace_id and
// last_version UInt64: several for a trace, of which the highest counts.
func Written(project domain.ProjectID, in []trace.TraceID) Statement {
	return versionsOf("last_version", schema.TraceIndex, project, in)
}

// Settled looks up up to where traces were settled until a moment, Unix
// microseconds, those that were. Its rows are trace_id and version UInt64, as
// those of Written: a trace is settled where this is no less.
func Settled(project domain.ProjectID, in []trace.TraceID, until int64) Statement {
	s := versionsOf("version", schema.TraceTotals, project, in)
	s.SQL += " WHERE finalized_at <= " + momentOf(until)
	return s
}

func versionsOf(column, table string, project domain.ProjectID, in []trace.TraceID) Statement {
	w := new(writer)
	w.put("SELECT trace_id, "+column+" FROM "+table+" PREWHERE project_id = ? AND ", project.String())
	ids("trace_id", in).write(w, nil)
	return w.lookup().at(len(in))
}
