package statements

import (
	"strconv"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/traits"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// EvaluatorKeys asks under which keys evaluators have results that are known by
// their ids, by way of an index. Its rows are evaluator_key.
func EvaluatorKeys(project domain.ProjectID, evaluators []uuid.UUID) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT DISTINCT evaluator_key FROM "+schema.EvaluationIndex+" WHERE project_id = ? AND ", project.String())
	sqltext.Among("evaluator_id", sqltext.Names(evaluators)).Write(w, nil)
	return w.Statement()
}

// Places asks where spans are that a Said tells of: one read of the key's
// ranges, its rows start Int64 (Unix microseconds) and tie UInt64 in the order
// of the list. Places of replaced versions and of spans that the rest of the
// filter refuses are among them, and one place may come several times.
type AnnotationPositions struct {
	Project domain.ProjectID
	Lookup  *traits.Annotations
	// Keys are the evaluators' (schema.EvaluatorKey), as Said.Slugs and
	// EvaluatorKeys tell them; empty means any, which takes Said.Of.
	Keys []string
	// Range, Order and Limit are as in Scan.
	Range order.Range
	Order domain.Order
	Limit int
}

// Statement is the query.
func (p AnnotationPositions) Statement() sqltext.Statement {
	table := schema.EvaluationIndex
	var nodes []sqltext.Node
	if p.Lookup.LinkedTraces != nil {
		table = schema.AnnotationIndex
		nodes = append(nodes, sqltext.IDs("link_trace_id", p.Lookup.LinkedTraces))
	}
	if len(p.Keys) > 0 {
		nodes = append(nodes, sqltext.Among("evaluator_key", p.Keys))
	}
	for _, c := range []struct {
		column string
		ids    []uuid.UUID
	}{
		{"application_revision", p.Lookup.ApplicationRevisions}, {"testset_revision", p.Lookup.TestsetRevisions}, {"testcase", p.Lookup.Testcases},
	} {
		if len(c.ids) > 0 {
			nodes = append(nodes, sqltext.Among(c.column, sqltext.Names(c.ids)))
		}
	}
	w := new(sqltext.Writer)
	w.Put("SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM "+table+" WHERE project_id = ?", p.Project.String())
	for _, n := range append(nodes, sqltext.PositionBounds(p.Range)...) {
		w.Put(" AND ")
		n.Write(w, nil)
	}
	w.Put(byPosition(p.Order, p.Limit))
	return w.Statement()
}

// amongPlaces is "the row is at one of these places".
func amongPositions(places []order.Position) sqltext.Node {
	if len(places) == 0 {
		return sqltext.Constant(false)
	}
	// Numbers of ours, written out: thousands of arguments would be read one by one.
	text := []byte("(start_time, sort_hash) IN (")
	for i, p := range places {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, '(')
		text = append(text, sqltext.TimeLiteral(p.Start)...)
		text = append(text, ", "...)
		text = strconv.AppendUint(text, p.SortHash, 10)
		text = append(text, ')')
	}
	return sqltext.Expr(string(append(text, ')')))
}
