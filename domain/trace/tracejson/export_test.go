package tracejson

import (
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// ParseSpan parses a span that AppendSpan wrote. All fields but Version, which the JSON
// form does not have, equal those of the written span, so no field of a span is lost.
func ParseSpan(data []byte) (trace.Span, error) {
	v, err := jsonvalue.Parse(data)
	if err != nil {
		return trace.Span{}, err
	}
	r := reader{object: asObject(v)}
	if r.object == nil {
		return trace.Span{}, domain.E(domain.Rejected, "A span is an object.")
	}
	s := trace.Span{
		TraceID:       read(&r, "trace_id", trace.ParseTraceID),
		SpanID:        read(&r, "span_id", trace.ParseSpanID),
		ParentID:      read(&r, "parent_id", trace.ParseSpanID),
		Type:          read(&r, "trace_type", enum(trace.ParseType)),
		SpanType:      read(&r, "span_type", enum(trace.ParseSpanType)),
		Kind:          read(&r, "span_kind", enum(trace.ParseKind)),
		Name:          read(&r, "span_name", identity),
		Start:         read(&r, "start_time", parseNano),
		End:           read(&r, "end_time", parseNano),
		Status:        read(&r, "status_code", enum(trace.ParseStatus)),
		StatusMessage: read(&r, "status_message", identity),
		Identifiers:   trace.Identifiers{SessionID: read(&r, "session_id", identity), UserID: read(&r, "user_id", identity), AgentID: read(&r, "agent_id", identity)},
		Attributes:    r.child("attributes"),
		Resource:      r.child("resource"),
		CreatedAt:     read(&r, "created_at", parseTime),
		UpdatedAt:     read(&r, "updated_at", parseTime),
		CreatedBy:     read(&r, "created_by_id", uuid.Parse),
		UpdatedBy:     read(&r, "updated_by_id", uuid.Parse),
	}
	if s.SpanType == trace.Task && !declared(s.Attributes) {
		s.SpanType = 0
	}
	s.References = each(&r, "references", referenceFrom)
	s.Links = each(&r, "links", linkFrom)
	s.Hashes = each(&r, "hashes", hashFrom)
	s.Events = each(&r, "events", eventFrom)
	if scope := r.child("scope"); scope != nil {
		in := reader{object: scope}
		s.Scope = scopeFrom(&in)
		r.fail(in.err)
	}
	return s, r.err
}

// declared reports whether the attributes declare the type of the span: AppendSpan writes
// task for a span that declared none.
func declared(attributes map[string]any) bool {
	_, ok := jsonvalue.Lookup(attributes, []string{"ag", "type", "span"})
	return ok
}

func referenceFrom(r *reader) trace.Reference {
	in := reader{object: r.child("attributes")}
	ref := trace.Reference{Key: read(&in, "key", identity), Reference: domain.Reference{
		ID: read(r, "id", uuid.Parse), Slug: read(r, "slug", identity), Version: read(r, "version", identity),
	}}
	r.fail(in.err)
	return ref
}

func hashFrom(r *reader) trace.Hash {
	return trace.Hash{ID: read(r, "id", uuid.Parse), Attributes: r.child("attributes")}
}

func enum[T any](parse func(string) (T, bool)) func(string) (T, error) {
	return func(s string) (T, error) {
		v, ok := parse(s)
		if !ok {
			return v, domain.E(domain.Rejected, "Unknown value.")
		}
		return v, nil
	}
}
