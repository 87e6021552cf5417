package tracejson

import (
	"encoding/hex"
	"time"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// ParseLinks parses links that AppendLinks wrote; an empty text is nil.
func ParseLinks(text string) ([]trace.Link, error) { return parseList(text, linkFrom) }

// ParseEvents parses events that AppendEvents wrote; an empty text is nil.
func ParseEvents(text string) ([]trace.Event, error) { return parseList(text, eventFrom) }

// ParseScope parses a scope that AppendScope wrote; an empty text is nil.
func ParseScope(text string) (*trace.Scope, error) {
	object, err := jsonvalue.ParseObject(text)
	if err != nil || object == nil {
		return nil, err
	}
	r := reader{object: object}
	s := scopeFrom(&r)
	return s, r.err
}

func parseList[T any](text string, from func(*reader) T) ([]T, error) {
	if text == "" {
		return nil, nil
	}
	v, err := jsonvalue.ParseString(text)
	if err != nil {
		return nil, err
	}
	r := reader{object: map[string]any{"list": v}}
	out := each(&r, "list", from)
	return out, r.err
}

func scopeFrom(r *reader) *trace.Scope {
	return &trace.Scope{Name: read(r, "name", identity), Version: read(r, "version", identity), Attributes: r.child("attributes")}
}

func linkFrom(r *reader) trace.Link {
	return trace.Link{TraceID: read(r, "trace_id", linkTraceID), SpanID: read(r, "span_id", linkSpanID), Attributes: r.child("attributes")}
}

func eventFrom(r *reader) trace.Event {
	return trace.Event{Name: read(r, "name", identity), Time: read(r, "timestamp", parseNano), Attributes: r.child("attributes")}
}

// reader reads the members of an object and keeps the first error.
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

// read parses a string member; an absent or null one is the zero value.
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
			r.fail(domain.E(domain.Rejected, "Member %s of a span has an element that is not an object.", key))
			return nil
		}
		out = append(out, from(&in))
		r.fail(in.err)
	}
	return out
}

func identity(s string) (string, error) { return s, nil }

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UTC(), err
}

func parseNano(s string) (int64, error) {
	t, err := parseTime(s)
	n := t.UnixNano()
	if err == nil && !time.Unix(0, n).Equal(t) {
		err = domain.E(domain.Rejected, "The time is out of range.")
	}
	return n, err
}

// Links may have zero ids, which trace.ParseTraceID and trace.ParseSpanID reject.
func linkTraceID(s string) (id trace.TraceID, err error) {
	err = decodeHex(id[:], s)
	return id, err
}

func linkSpanID(s string) (id trace.SpanID, err error) {
	err = decodeHex(id[:], s)
	return id, err
}

func decodeHex(dst []byte, s string) error {
	if len(s) != hex.EncodedLen(len(dst)) {
		return hex.ErrLength
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}
