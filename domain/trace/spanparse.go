package trace

import (
	"time"

	"colonnade/domain"
)

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

func linkFrom(r *reader) Link {
	return Link{read(r, "trace_id", wide), read(r, "span_id", narrow), r.child("attributes")}
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
