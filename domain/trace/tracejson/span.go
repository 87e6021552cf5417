package tracejson

import (
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// AppendSpan appends the JSON form of a span: times as RFC 3339 in UTC with every
// nanosecond, no absent members. It appends no children; see AppendTree.
func AppendSpan(dst []byte, s *trace.Span) []byte {
	return append(AppendOpenSpan(dst, s), '}')
}

// AppendOpenSpan appends a span as AppendSpan does and leaves the object open, so that its children can follow as "spans".
func AppendOpenSpan(dst []byte, s *trace.Span) []byte {
	dst = append(dst, `{"trace_id":"`...)
	dst = hex.AppendEncode(dst, s.TraceID[:])
	dst = append(dst, `","span_id":"`...)
	dst = hex.AppendEncode(dst, s.SpanID[:])
	if !s.ParentID.IsZero() {
		dst = append(dst, `","parent_id":"`...)
		dst = hex.AppendEncode(dst, s.ParentID[:])
	}
	dst = append(dst, '"')
	dst = appendText(dst, `,"trace_type":`, s.Type.String())
	dst = append(dst, `,"span_type":"`...)
	dst = append(dst, s.EffectiveType().String()...)
	dst = append(dst, `","span_kind":"`...)
	dst = append(dst, s.Kind.String()...)
	dst = append(dst, `","span_name":`...)
	dst = jsonvalue.AppendString(dst, s.Name)
	dst = append(dst, `,"start_time":`...)
	dst = appendNano(dst, s.Start)
	dst = append(dst, `,"end_time":`...)
	dst = appendNano(dst, s.End)
	dst = append(dst, `,"status_code":"`...)
	dst = append(dst, s.Status.String()...)
	dst = append(dst, '"')
	dst = appendText(dst, `,"status_message":`, s.StatusMessage)
	dst = appendText(dst, `,"session_id":`, s.SessionID)
	dst = appendText(dst, `,"user_id":`, s.UserID)
	dst = appendText(dst, `,"agent_id":`, s.AgentID)
	dst = append(dst, `,"attributes":`...)
	dst = jsonvalue.AppendObject(dst, s.Attributes)
	if len(s.References) > 0 {
		dst = append(dst, `,"references":`...)
		dst = AppendReferences(dst, s.References)
	}
	if len(s.Links) > 0 {
		dst = append(dst, `,"links":`...)
		dst = AppendLinks(dst, s.Links)
	}
	if len(s.Hashes) > 0 {
		dst = append(dst, `,"hashes":`...)
		dst = appendHashes(dst, s.Hashes)
	}
	if len(s.Events) > 0 {
		dst = append(dst, `,"events":`...)
		dst = AppendEvents(dst, s.Events)
	}
	if s.Resource != nil {
		dst = append(dst, `,"resource":`...)
		dst = jsonvalue.AppendObject(dst, s.Resource)
	}
	if s.Scope != nil {
		dst = append(dst, `,"scope":`...)
		dst = AppendScope(dst, s.Scope)
	}
	dst = appendOptionalTime(dst, `,"created_at":`, s.CreatedAt)
	dst = appendOptionalTime(dst, `,"updated_at":`, s.UpdatedAt)
	dst = appendUser(dst, `,"created_by_id":"`, s.CreatedBy)
	return appendUser(dst, `,"updated_by_id":"`, s.UpdatedBy)
}

// AppendReferences appends references as a JSON array, with the key of each in its attributes.
func AppendReferences(dst []byte, refs []trace.Reference) []byte {
	dst = append(dst, '[')
	for i, r := range refs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		dst = appendUser(dst, `"id":"`, r.ID)
		if r.ID != uuid.Nil {
			dst = append(dst, ',')
		}
		if dst = appendText(dst, `"slug":`, r.Slug); r.Slug != "" {
			dst = append(dst, ',')
		}
		if dst = appendText(dst, `"version":`, r.Version); r.Version != "" {
			dst = append(dst, ',')
		}
		dst = append(dst, `"attributes":{"key":`...)
		dst = append(jsonvalue.AppendString(dst, r.Key), "}}"...)
	}
	return append(dst, ']')
}

// AppendLinks appends links as a JSON array. They are also stored in this form.
func AppendLinks(dst []byte, links []trace.Link) []byte {
	dst = append(dst, '[')
	for i, l := range links {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"trace_id":"`...)
		dst = hex.AppendEncode(dst, l.TraceID[:])
		dst = append(dst, `","span_id":"`...)
		dst = hex.AppendEncode(dst, l.SpanID[:])
		dst = append(dst, '"')
		dst = append(appendAttributes(dst, l.Attributes), '}')
	}
	return append(dst, ']')
}

func appendHashes(dst []byte, hashes []trace.Hash) []byte {
	dst = append(dst, '[')
	for i, h := range hashes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":"`...)
		dst = append(dst, h.ID.String()...)
		dst = append(dst, '"')
		dst = append(appendAttributes(dst, h.Attributes), '}')
	}
	return append(dst, ']')
}

// AppendEvents appends events as a JSON array. They are also stored and searched in this form.
func AppendEvents(dst []byte, events []trace.Event) []byte {
	dst = append(dst, '[')
	for i, e := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = jsonvalue.AppendString(dst, e.Name)
		dst = append(dst, `,"timestamp":`...)
		dst = appendNano(dst, e.Time)
		dst = append(appendAttributes(dst, e.Attributes), '}')
	}
	return append(dst, ']')
}

// AppendScope appends an instrumentation scope as its Object. It is also stored in this form.
func AppendScope(dst []byte, s *trace.Scope) []byte {
	open := len(dst)
	dst = appendAttributes(dst, s.Attributes)
	dst = appendText(dst, `,"name":`, s.Name)
	dst = appendText(dst, `,"version":`, s.Version)
	if len(dst) == open {
		return append(dst, "{}"...)
	}
	dst[open] = '{'
	return append(dst, '}')
}

func appendAttributes(dst []byte, attributes map[string]any) []byte {
	if attributes == nil {
		return dst
	}
	dst = append(dst, `,"attributes":`...)
	return jsonvalue.AppendObject(dst, attributes)
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return jsonvalue.AppendString(append(dst, key...), s)
}

func appendNano(dst []byte, nano int64) []byte { return appendTime(dst, time.Unix(0, nano)) }

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

func appendOptionalTime(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	return appendTime(append(dst, key...), t)
}

// appendUser writes a UUID; key ends with the opening quote.
func appendUser(dst []byte, key string, id uuid.UUID) []byte {
	if id == uuid.Nil {
		return dst
	}
	dst = append(dst, key...)
	dst = append(dst, id.String()...)
	return append(dst, '"')
}
