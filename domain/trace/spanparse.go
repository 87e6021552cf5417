package trace

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
)

// ParseSpan reads the JSON form of a span: what AppendSpan wrote, to an equal
// Span but for Version, which the form does not hold. Members it does not know,
// such as the children of a tree, are left. A member of a wrong type is Rejected.
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

// ParseLinks reads what AppendLinks wrote; nothing gives nil.
func ParseLinks(text string) ([]Link, error) { return parts(text, linkFrom) }

// ParseEvents reads what AppendEvents wrote; nothing gives nil.
func ParseEvents(text string) ([]Event, error) { return parts(text, eventFrom) }

// ParseScope reads what AppendScope wrote; nothing gives nil.
func ParseScope(text string) (*Scope, error) {
	object, err := ParseObject(text)
	if err != nil || object == nil {
		return nil, err
	}
	r := reader{object: object}
	s := &Scope{read(&r, "name", same), read(&r, "version", same), r.child("attributes")}
	return s, r.err
}

// ParseObject is ParseText where an object must stand; nothing gives nil.
func ParseObject(text string) (map[string]any, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a stored document that is absent
	}
	v, err := ParseText(text)
	if err != nil {
		return nil, err
	}
	object := asObject(v)
	if object == nil {
		return nil, domain.E(domain.Rejected, "The JSON is not an object.")
	}
	return object, nil
}

func parts[T any](text string, from func(*reader) T) ([]T, error) {
	if text == "" {
		return nil, nil
	}
	v, err := ParseText(text)
	if err != nil {
		return nil, err
	}
	r := reader{object: map[string]any{"parts": v}}
	out := each(&r, "parts", from)
	return out, r.err
}

func referenceFrom(r *reader) Reference {
	in := reader{object: r.child("attributes")}
	ref := Reference{read(&in, "key", same), domain.Reference{
		ID: read(r, "id", uuid.Parse), Slug: read(r, "slug", same), Version: read(r, "version", same),
	}}
	r.fail(in.err)
	return ref
}

func linkFrom(r *reader) Link {
	return Link{read(r, "trace_id", wide), read(r, "span_id", narrow), r.child("attributes")}
}

func hashFrom(r *reader) Hash {
	return Hash{read(r, "id", uuid.Parse), r.child("attributes")}
}

func eventFrom(r *reader) Event {
	return Event{read(r, "name", same), read(r, "timestamp", nano), r.child("attributes")}
}

// reader takes members out of an object and keeps the first error.
type reader struct {
	object map[string]any
	err    error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) child(key string) map[string]any {
	v := r.object[key]
	object := asObject(v)
	if object == nil && v != nil {
		r.fail(domain.E(domain.Rejected, "Member %s of a span is not an object.", key))
	}
	return object
}

func asObject(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}

// read takes a string member through its parser; an absent or null one is the zero value.
func read[T any](r *reader, key string, parse func(string) (T, error)) (zero T) {
	v := r.object[key]
	if v == nil {
		return zero
	}
	s, ok := v.(string)
	out, err := parse(s)
	if !ok || err != nil {
		r.fail(domain.Wrap(domain.Rejected, err, "Member %s of a span is not valid.", key))
		return zero
	}
	return out
}

func each[T any](r *reader, key string, from func(*reader) T) []T {
	array, ok := r.object[key].([]any)
	if !ok && r.object[key] != nil {
		r.fail(domain.E(domain.Rejected, "Member %s of a span is not a list.", key))
	}
	var out []T
	for _, e := range array {
		in := reader{object: asObject(e)}
		if in.object == nil {
			r.fail(domain.E(domain.Rejected, "Member %s of a span holds what is not an object.", key))
			return nil
		}
		out = append(out, from(&in))
		r.fail(in.err)
	}
	return out
}

func same(s string) (string, error) { return s, nil }

func known[T any](parse func(string) (T, bool)) func(string) (T, error) {
	return func(s string) (T, error) {
		v, ok := parse(s)
		if !ok {
			return v, domain.E(domain.Rejected, "Unknown word.")
		}
		return v, nil
	}
}

func moment(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UTC(), err
}

func nano(s string) (int64, error) {
	t, err := moment(s)
	n := t.UnixNano()
	if err == nil && !time.Unix(0, n).Equal(t) {
		err = domain.E(domain.Rejected, "The time is out of range.")
	}
	return n, err
}

// wide and narrow read ids of links, which may be zero: what a link points at is not ours to judge.
func wide(s string) (id TraceID, err error) {
	if !decode(id[:], s) {
		err = domain.E(domain.Rejected, "Invalid trace_id.")
	}
	return id, err
}

func narrow(s string) (id SpanID, err error) {
	if !decode(id[:], s) {
		err = domain.E(domain.Rejected, "Invalid span_id.")
	}
	return id, err
}
