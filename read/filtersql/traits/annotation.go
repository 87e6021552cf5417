package traits

import (
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
)

// Said is what a filter asks of all its matches that annotations or
// evaluation_index is in the order of, so that one of them tells where the matches
// are. Every span that links to another has a row in annotations for each, and
// every root that names an evaluator one in evaluation_index, before readers see
// it: nothing that matches is missing there.
type Annotations struct {
	// Of are the traces of which every match links to one; nil where the filter
	// does not say. Then the matches are in annotation_index, else in evaluation_index.
	LinkedTraces []trace.TraceID
	// Slugs and Evaluators (ids) name the evaluators of which every match names
	// one; both empty where the filter does not say.
	Slugs      []string
	Evaluators []uuid.UUID
	// ApplicationRevisions, TestsetRevisions and Testcases are ids of which every
	// match names one; empty means that it may name any.
	ApplicationRevisions, TestsetRevisions, Testcases []uuid.UUID
}

// maxSaid bounds the names and ids of one sort that such a read begins with.
const maxLookupValues = 1024

// said reads a filter; nil where no table knows where its matches are.
func FindAnnotations(e filter.Expr) *Annotations {
	s := Annotations{LinkedTraces: alternatives(e, linkedTrace)}
	if s.LinkedTraces == nil && alternatives(e, root) == nil {
		return nil
	}
	evaluators := alternatives(e, evaluator)
	if s.LinkedTraces == nil && evaluators == nil {
		return nil
	}
	for _, r := range evaluators {
		if r.Slug != "" {
			s.Slugs = append(s.Slugs, r.Slug)
		} else {
			s.Evaluators = append(s.Evaluators, r.ID)
		}
	}
	if s.LinkedTraces == nil {
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
			if found == nil || len(all)+len(found) > maxLookupValues {
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
