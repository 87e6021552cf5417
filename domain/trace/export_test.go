package trace

import (
	"github.com/google/uuid"

	"colonnade/domain"
)

// ParseSpan reads what AppendSpan wrote, to an equal Span but for Version, which the
// form does not hold: that shows that nothing of a span is lost on its way out.
func ParseSpan(data []byte) (Span, error) {
	v, err := ParseJSON(data)
	if err != nil {
		return Span{}, err
	}
	r := reader{object: asObject(v)}
	if r.object == nil {
		return Span{}, domain.E(domain.Rejected, "A span is an object.")
	}
	s := Span{
		TraceID:       read(&r, "trace_id", ParseTraceID),
		SpanID:        read(&r, "span_id", ParseSpanID),
		ParentID:      read(&r, "parent_id", ParseSpanID),
		Type:          read(&r, "trace_type", known(ParseType)),
		SpanType:      read(&r, "span_type", known(ParseSpanType)),
		Kind:          read(&r, "span_kind", known(ParseKind)),
		Name:          read(&r, "span_name", same),
		Start:         read(&r, "start_time", nano),
		End:           read(&r, "end_time", nano),
		Status:        read(&r, "status_code", known(ParseStatus)),
		StatusMessage: read(&r, "status_message", same),
		SessionID:     read(&r, "session_id", same),
		UserID:        read(&r, "user_id", same),
		AgentID:       read(&r, "agent_id", same),
		Attributes:    r.child("attributes"),
		Resource:      r.child("resource"),
		CreatedAt:     read(&r, "created_at", moment),
		UpdatedAt:     read(&r, "updated_at", moment),
		CreatedBy:     read(&r, "created_by_id", uuid.Parse),
		UpdatedBy:     read(&r, "updated_by_id", uuid.Parse),
	}
	if s.SpanType == Task && !declared(s.Attributes) {
		s.SpanType = 0
	}
	s.References = each(&r, "references", referenceFrom)
	s.Links = each(&r, "links", linkFrom)
	s.Hashes = each(&r, "hashes", hashFrom)
	s.Events = each(&r, "events", eventFrom)
	if scope := r.child("scope"); scope != nil {
		in := reader{object: scope}
		s.Scope = &Scope{read(&in, "name", same), read(&in, "version", same), in.child("attributes")}
		r.fail(in.err)
	}
	return s, r.err
}

// declared tells whether the attributes say the span's type: task is written
// for a span that declared none (contract §1.4).
func declared(attributes map[string]any) bool {
	_, ok := Lookup(attributes, []string{"ag", "type", "span"})
	return ok
}

func referenceFrom(r *reader) Reference {
	in := reader{object: r.child("attributes")}
	ref := Reference{read(&in, "key", same), domain.Reference{
		ID: read(r, "id", uuid.Parse), Slug: read(r, "slug", same), Version: read(r, "version", same),
	}}
	r.fail(in.err)
	return ref
}

func hashFrom(r *reader) Hash {
	return Hash{read(r, "id", uuid.Parse), r.child("attributes")}
}

func known[T any](parse func(string) (T, bool)) func(string) (T, error) {
	return func(s string) (T, error) {
		v, ok := parse(s)
		if !ok {
			return v, domain.E(domain.Rejected, "Unknown word.")
		}
		return v, nil
	}
}
