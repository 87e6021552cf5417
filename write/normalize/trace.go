package normalize

import (
	"cmp"
	"slices"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Trace completes the spans of one trace that were fitted together, all of
// them at once: it gives them one trace type and promotes to a root that has
// no session, user or agent the first that one of its spans names.
//
// A type that a span declared stands; of two that differ, annotation. Where no
// span declared one it is annotation if any has a link, else invocation.
// declared tells which of the two it was: an inferred type yields to what the
// spans of other requests say, a declared one does not. Trace is to be called
// once for each span, straight after Spans: it takes a type already set for a
// declared one. Source: contract §0 row 7, §1.7, §1.4.
func Trace(spans []*trace.Span) (t trace.Type, declared bool) {
	linked := false
	for _, s := range spans {
		linked = linked || len(s.Links) > 0
		if s.Type == trace.Annotation || s.Type != 0 && t == 0 {
			t = s.Type
		}
	}
	declared = t != 0
	switch {
	case declared:
	case linked:
		t = trace.Annotation
	default:
		t = trace.Invocation
	}
	for _, s := range spans {
		s.Type = t
		ag, _ := s.Attributes[semconv.Root].(map[string]any)
		if types, ok := ag[semconv.Type].(map[string]any); ok {
			types[semconv.TypeTrace] = t.String()
		}
	}
	promoteAcross(spans)
	return t, declared
}

// promoteAcross gives roots the identifiers that only their descendants carry.
func promoteAcross(spans []*trace.Span) {
	var rest []*trace.Span
	for _, s := range spans {
		if s.IsRoot() {
			continue
		}
		ag, _ := s.Attributes[semconv.Root].(map[string]any)
		if ag[semconv.Session] != nil || ag[semconv.User] != nil || ag[semconv.Unsupported] != nil {
			rest = append(rest, s)
		}
	}
	if len(rest) == 0 {
		return
	}
	slices.SortFunc(rest, func(a, b *trace.Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), slices.Compare(a.SpanID[:], b.SpanID[:]))
	})
	var session, user, agent string
	for _, s := range rest {
		ag, _ := s.Attributes[semconv.Root].(map[string]any)
		parked, _ := ag[semconv.Unsupported].(map[string]any)
		session = cmp.Or(session, identifier(ag, semconv.Session))
		user = cmp.Or(user, identifier(ag, semconv.User))
		agent = cmp.Or(agent, identifier(parked, semconv.Agent))
	}
	for _, s := range spans {
		if s.IsRoot() {
			s.SessionID = cmp.Or(s.SessionID, session)
			s.UserID = cmp.Or(s.UserID, user)
			s.AgentID = cmp.Or(s.AgentID, agent)
		}
	}
}
