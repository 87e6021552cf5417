package trace

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
)

// Orphans returns those of the spans of a whole trace, which ascend by start, that are at the
// top of the tree although they have a parent.
func Orphans(spans []Span) (out []*Span) {
	edges := make([]Edge, len(spans))
	for i := range spans {
		edges[i] = EdgeOf(&spans[i])
	}
	_, parents := Forest(edges)
	for i := range spans {
		if parents[i] < 0 && !spans[i].IsRoot() {
			out = append(out, &spans[i])
		}
	}
	return out
}

// IdentifyRoots gives the roots among the spans of a whole trace, which ascend by start, the
// session, user and agent that they or the first of the other spans name, as the finalizer
// does with stored rows.
func IdentifyRoots(spans []Span) {
	paths := [...][]string{{semconv.Root, semconv.Session, semconv.ID}, {semconv.Root, semconv.User, semconv.ID}, {semconv.Root, semconv.Unsupported, semconv.Agent, semconv.ID}}
	for k, path := range paths {
		name := func(s *Span) string {
			v, _ := jsonvalue.Lookup(s.Attributes, path)
			id, _ := v.(string)
			return id
		}
		var lacking []*string
		for i := range spans {
			if s := &spans[i]; s.Root {
				to := [...]*string{&s.SessionID, &s.UserID, &s.AgentID}[k]
				if *to = cmp.Or(*to, name(s)); *to == "" {
					lacking = append(lacking, to)
				}
			}
		}
		named := ""
		for i := 0; i < len(spans) && named == "" && len(lacking) > 0; i++ { // ascending
			if !spans[i].Root {
				named = name(&spans[i])
			}
		}
		for _, to := range lacking {
			*to = named
		}
	}
}

// ReferencesOf returns the references of attributes, sorted by key, from ag.references, which
// normalization has conformed to the schema.
func ReferencesOf(attributes map[string]any) []Reference {
	v, _ := jsonvalue.Lookup(attributes, []string{semconv.Root, semconv.References})
	object, _ := v.(map[string]any)
	var out []Reference
	for key, v := range object {
		entry, ok := v.(map[string]any)
		if !ok || !semconv.ReferenceKey(key) {
			continue
		}
		r := Reference{Key: key}
		if text, ok := entry[semconv.ID].(string); ok {
			r.ID, _ = uuid.Parse(text) // normalization parks a malformed one
		}
		r.Slug, _ = entry[semconv.Slug].(string)
		r.Version, _ = entry[semconv.Version].(string)
		if r.Reference != (domain.Reference{}) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Reference) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
