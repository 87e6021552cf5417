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

// EvaluatorKeys returns the statement that asks for the keys of evaluators that are known by
// their ids, through an index. Its rows are evaluator_key.
func EvaluatorKeys(project domain.ProjectID, evaluators []uuid.UUID) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT DISTINCT evaluator_key FROM "+schema.EvaluationIndex+" WHERE project_id = ? AND ", project.String())
	sqltext.Among("evaluator_id", sqltext.Names(evaluators)).Write(w, nil)
	return w.Statement()
}

// AnnotationPositions asks for the positions of the spans of an annotation lookup: one read
// of ranges of the key, with rows start Int64 (Unix microseconds) and sort_hash UInt64 in
// the order of the list. Positions of superseded versions and of spans that the rest of
// the filter excludes are among them, and a position may come several times.
type AnnotationPositions struct {
	Project domain.ProjectID
	Lookup  *traits.Annotations
	// Keys are the keys of the evaluators (schema.EvaluatorKey), from Lookup.Slugs and
	// EvaluatorKeys; empty means any, which needs Lookup.LinkedTraces.
	Keys []string
	// Range, Order and Limit are as in Scan.
	Range order.Range
	Order domain.Order
	Limit int
}

// Statement returns the statement.
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

// amongPositions returns "the row is at one of these positions".
func amongPositions(places []order.Position) sqltext.Node {
	if len(places) == 0 {
		return sqltext.Constant(false)
	}
	// The numbers are not a caller's text, and are written out: ClickHouse parses thousands of arguments one by one.
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
