package compile

import (
	"strconv"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Said is what a filter asks of all its matches that annotations or
// evaluation_index is in the order of, so that one of them tells where the matches
// are. Every span that links to another has a row in annotations for each, and
// every root that names an evaluator one in evaluation_index, before readers see
// it: nothing that matches is missing there.
type Said struct {
	// Of are the traces of which every match links to one; nil where the filter
	// does not say. Then the matches are in annotation_index, else in evaluation_index.
	Of []trace.TraceID
	// Slugs and Evaluators (ids) name the evaluators of which every match names
	// one; both empty where the filter does not say.
	Slugs      []string
	Evaluators []uuid.UUID
	// ApplicationRevisions, TestsetRevisions and Testcases are ids of which every
	// match names one; empty means that it may name any.
	ApplicationRevisions, TestsetRevisions, Testcases []uuid.UUID
}

// maxSaid bounds the names and ids of one sort that such a read begins with.
const maxSaid = 1024

// said reads a filter; nil where no table knows where its matches are.
func said(e filter.Expr) *Said {
	s := Said{Of: alternatives(e, linkedTrace)}
	if s.Of == nil && alternatives(e, root) == nil {
		return nil
	}
	evaluators := alternatives(e, evaluator)
	if s.Of == nil && evaluators == nil {
		return nil
	}
	for _, r := range evaluators {
		if r.Slug != "" {
			s.Slugs = append(s.Slugs, r.Slug)
		} else {
			s.Evaluators = append(s.Evaluators, r.ID)
		}
	}
	if s.Of == nil {
		s.ApplicationRevisions = alternatives(e, idOf("application_revision"))
		s.TestsetRevisions = alternatives(e, idOf("testset_revision"))
		s.Testcases = alternatives(e, idOf("testcase"))
	}
	return &s
}

// alternatives gives values of which every match of a filter has one, the
// fewest that it says; nil where it leaves that open, or says too many. of
// tells what one condition says.
func alternatives[T any](e filter.Expr, of func(filter.Expr) []T) []T {
	switch e := e.(type) {
	case filter.And:
		var best []T
		for _, child := range e {
			if found := alternatives(child, of); found != nil && (best == nil || len(found) < len(best)) {
				best = found
			}
		}
		return best
	case filter.Or:
		var all []T
		for _, child := range e {
			found := alternatives(child, of)
			if found == nil || len(all)+len(found) > maxSaid {
				return nil
			}
			all = append(all, found...)
		}
		return all
	default:
		return of(e)
	}
}

func linkedTrace(e filter.Expr) []trace.TraceID {
	if l, ok := e.(filter.Link); ok && !l.TraceID.IsZero() {
		return []trace.TraceID{l.TraceID}
	}
	return nil
}

// root says that matches have no parent.
func root(e filter.Expr) []bool {
	if p, ok := e.(filter.ParentID); ok && len(p.In) == 1 && p.In[0].IsZero() {
		return []bool{true}
	}
	return nil
}

func evaluator(e filter.Expr) []domain.Reference {
	r, ok := e.(filter.Reference)
	if !ok || r.Key != "evaluator" || r.Slug == "" && r.ID == uuid.Nil {
		return nil
	}
	return []domain.Reference{{ID: r.ID, Slug: r.Slug}}
}

// idOf says that matches name a thing by its id, which is its key then
// (schema.RevisionKey). A slug says less: who names the id as well has that one.
func idOf(key string) func(filter.Expr) []uuid.UUID {
	return func(e filter.Expr) []uuid.UUID {
		if r, ok := e.(filter.Reference); ok && r.Key == key && r.ID != uuid.Nil {
			return []uuid.UUID{r.ID}
		}
		return nil
	}
}

// EvaluatorKeys asks under which keys evaluators have results that are known by
// their ids, by way of an index. Its rows are evaluator_key.
func EvaluatorKeys(project domain.ProjectID, evaluators []uuid.UUID) Statement {
	w := new(writer)
	w.put("SELECT DISTINCT evaluator_key FROM "+schema.EvaluationIndex+" WHERE project_id = ? AND ", project.String())
	among("evaluator_id", words(evaluators)).write(w, nil)
	return w.statement()
}

// Places asks where spans are that a Said tells of: one read of the key's
// ranges, its rows start Int64 (Unix microseconds) and tie UInt64 in the order
// of the list. Places of replaced versions and of spans that the rest of the
// filter refuses are among them, and one place may come several times.
type Places struct {
	Project domain.ProjectID
	Said    *Said
	// Keys are the evaluators' (schema.EvaluatorKey), as Said.Slugs and
	// EvaluatorKeys tell them; empty means any, which takes Said.Of.
	Keys []string
	// Range, Order and Limit are as in Scan.
	Range Range
	Order domain.Order
	Limit int
}

// Statement is the query.
func (p Places) Statement() Statement {
	table := schema.EvaluationIndex
	var nodes []node
	if p.Said.Of != nil {
		table = schema.AnnotationIndex
		nodes = append(nodes, ids("link_trace_id", p.Said.Of))
	}
	if len(p.Keys) > 0 {
		nodes = append(nodes, among("evaluator_key", p.Keys))
	}
	for _, c := range []struct {
		column string
		ids    []uuid.UUID
	}{
		{"application_revision", p.Said.ApplicationRevisions}, {"testset_revision", p.Said.TestsetRevisions}, {"testcase", p.Said.Testcases},
	} {
		if len(c.ids) > 0 {
			nodes = append(nodes, among(c.column, words(c.ids)))
		}
	}
	w := new(writer)
	w.put("SELECT toUnixTimestamp64Micro(start_time), sort_hash FROM "+table+" WHERE project_id = ?", p.Project.String())
	for _, n := range append(nodes, p.Range.places()...) {
		w.put(" AND ")
		n.write(w, nil)
	}
	w.put(byPlace(p.Order, p.Limit))
	return w.statement()
}

// amongPlaces is "the row is at one of these places".
func amongPlaces(places []Position) node {
	if len(places) == 0 {
		return constant(false)
	}
	// Numbers of ours, written out: thousands of arguments would be read one by one.
	text := []byte("(start_time, sort_hash) IN (")
	for i, p := range places {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(text, '(')
		text = append(text, momentOf(p.Start)...)
		text = append(text, ", "...)
		text = strconv.AppendUint(text, p.Tie, 10)
		text = append(text, ')')
	}
	return sql(string(append(text, ')')))
}
