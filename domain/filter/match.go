package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
)

// Match reports whether the filter holds for the span. It is the reference meaning of every node
// and test. It reads the span as it is given: attributes that are stored elsewhere (ag.type.trace
// and the metrics, including the cumulative ones) count if the caller put them there, and so does
// trace.Span.Root.
func Match(e Expr, s *trace.Span) bool {
	m := matcher{span: s}
	return m.holds(e)
}

type matcher struct {
	span *trace.Span
	// payloads are the folded texts that Content searches, built at its first use.
	payloads []string
	built    bool
}

func (m *matcher) holds(e Expr) bool {
	s := m.span
	switch e := e.(type) {
	case nil:
		return true
	case And:
		return !slices.ContainsFunc(e, func(c Expr) bool { return !m.holds(c) })
	case Or:
		return slices.ContainsFunc(e, m.holds)
	case Not:
		return !m.holds(e.Expr)
	case TraceID:
		return slices.Contains(e.In, s.TraceID)
	case SpanID:
		return slices.Contains(e.In, s.SpanID)
	case ParentID:
		return slices.Contains(e.In, s.ParentID)
	case Root:
		return s.Root
	case TraceType:
		return slices.Contains(e.In, s.Type)
	case SpanType:
		return slices.Contains(e.In, s.EffectiveType())
	case SpanKind:
		return slices.Contains(e.In, s.Kind)
	case StatusCode:
		return slices.Contains(e.In, s.Status)
	case Text:
		text := m.text(e.Field)
		return text != "" && passes(e.Test, text)
	case Time:
		t, ok := m.micros(e.Field)
		return ok && e.Min <= t && t <= e.Max
	case TimeText:
		t, ok := m.micros(e.Field)
		return ok && passes(e.Test, time.UnixMicro(t).UTC().Format(TimeLayout))
	case User:
		return slices.Contains(e.In, m.user(e.Field))
	case Attribute:
		value, ok := jsonvalue.Lookup(m.tree(e.Of), jsonvalue.SplitPath(e.Path))
		return ok && Passes(e.Test, value)
	case Link:
		return slices.ContainsFunc(s.Links, e.in)
	case Reference:
		return slices.ContainsFunc(s.References, e.in)
	case Event:
		return slices.ContainsFunc(s.Events, e.in)
	case Hash:
		return slices.ContainsFunc(s.Hashes, e.in)
	case Content:
		return slices.ContainsFunc(m.searched(), func(d string) bool { return strings.Contains(d, e.Phrase) })
	default:
		return false
	}
}

func (m *matcher) text(f Field) string {
	switch f {
	case SpanName:
		return m.span.Name
	case StatusMessage:
		return m.span.StatusMessage
	case SessionID:
		return m.span.SessionID
	case UserID:
		return m.span.UserID
	case AgentID:
		return m.span.AgentID
	default:
		return ""
	}
}

func (m *matcher) micros(f Field) (int64, bool) {
	switch f {
	case StartTime:
		return time.Unix(0, m.span.Start).UnixMicro(), true
	case EndTime:
		return time.Unix(0, m.span.End).UnixMicro(), true
	case CreatedAt:
		return m.span.CreatedAt.UnixMicro(), !m.span.CreatedAt.IsZero()
	case UpdatedAt:
		return m.span.UpdatedAt.UnixMicro(), !m.span.UpdatedAt.IsZero()
	default:
		return 0, false
	}
}

func (m *matcher) user(f Field) uuid.UUID {
	if f == UpdatedByID {
		return m.span.UpdatedBy
	}
	return m.span.CreatedBy
}

func (m *matcher) tree(of Tree) map[string]any {
	switch {
	case of == Attributes:
		return m.span.Attributes
	case of == Resource:
		return m.span.Resource
	case m.span.Scope != nil:
		return m.span.Scope.Object()
	default:
		return nil
	}
}

func (m *matcher) searched() []string {
	if m.built {
		return m.payloads
	}
	m.built = true
	for _, path := range [][]string{
		{"ag", "data", "inputs"}, {"ag", "data", "outputs"}, {"ag", "data", "parameters"}, {"ag", "data", "internals"}, {"ag", "exception"},
	} {
		if text := jsonvalue.LookupJSON(m.span.Attributes, path); text != "" {
			m.payloads = append(m.payloads, Fold(text))
		}
	}
	if len(m.span.Events) > 0 {
		m.payloads = append(m.payloads, Fold(string(tracejson.AppendEvents(nil, m.span.Events))))
	}
	return m.payloads
}

func (e Link) in(l trace.Link) bool {
	return (e.TraceID.IsZero() || e.TraceID == l.TraceID) && (e.SpanID.IsZero() || e.SpanID == l.SpanID) &&
		attributesContain(l.Attributes, e.Attributes)
}

func (e Reference) in(r trace.Reference) bool {
	return (e.Key == "" || e.Key == r.Key) && (e.ID == uuid.Nil || e.ID == r.ID) &&
		(e.Slug == "" || e.Slug == r.Slug) && (e.Version == "" || e.Version == r.Version)
}

func (e Event) in(v trace.Event) bool {
	return (e.Name == "" || e.Name == v.Name) && (e.Time == nil || *e.Time == time.Unix(0, v.Time).UnixMicro()) &&
		attributesContain(v.Attributes, e.Attributes)
}

func (e Hash) in(h trace.Hash) bool {
	return (e.ID == uuid.Nil || e.ID == h.ID) && attributesContain(h.Attributes, e.Attributes)
}

// attributesContain reports whether stored contains asked; nil is contained in anything.
func attributesContain(stored, asked map[string]any) bool {
	return asked == nil || stored != nil && containsObject(stored, asked)
}
