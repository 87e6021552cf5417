package traits

import (
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
)

// Annotations is what a filter asks of all its matches and what annotation_index
// or evaluation_index is ordered by, so that a lookup there finds the matches. Every
// span that links to another has a row in annotation_index for each link, and every
// root that names an evaluator has a row in evaluation_index, before the span is
// visible: no match is missing there.
type Annotations struct {
	// LinkedTraces are the traces of which every match links to one, and the matches
	// are in annotation_index. Nil where the filter names none: then the matches are
	// in evaluation_index.
	LinkedTraces []trace.TraceID
	// Slugs and Evaluators (ids) are the evaluators of which every match names one;
	// both are empty where the filter names none.
	Slugs      []string
	Evaluators []uuid.UUID
	// ApplicationRevisions, TestsetRevisions and Testcases are ids of which every
	// match names one; empty means that it may name any.
	ApplicationRevisions, TestsetRevisions, Testcases []uuid.UUID
}

// maxLookupValues bounds the names and ids of one kind that a lookup begins with.
const maxLookupValues = 1024

// FindAnnotations returns the annotation lookup of a filter; nil where no index finds its matches.
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

// alternatives returns values of which every match of a filter has one, the fewest
// that the filter names; nil where it names none or too many. of returns the values
// of one condition.
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

// root returns a value if the condition asks for spans without parent.
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

// idOf returns a function for the ids that a condition on references of a key names;
// the id is then the key (schema.RevisionKey). A slug is not enough: a span that
// names the id as well is stored under the id.
func idOf(key string) func(filter.Expr) []uuid.UUID {
	return func(e filter.Expr) []uuid.UUID {
		if r, ok := e.(filter.Reference); ok && r.Key == key && r.ID != uuid.Nil {
			return []uuid.UUID{r.ID}
		}
		return nil
	}
}
