package trace

import (
	"time"

	"github.com/google/uuid"
)

// AppendSpan appends the JSON form of a span that both wings speak (contract
// §1.10): times as RFC 3339 in UTC with every nanosecond, members that are
// absent left out. It appends no children; see AppendTree.
func AppendSpan(dst []byte, s *Span) []byte {
	return append(appendOpenSpan(dst, s), '}')
}

// appendOpenSpan leaves the object open, so that "spans" can follow.
func appendOpenSpan(dst []byte, s *Span) []byte {
	dst = append(dst, `{"trace_id":"`...)
	dst = appendHex(dst, s.TraceID[:])
	dst = append(dst, `","span_id":"`...)
	dst = appendHex(dst, s.SpanID[:])
	if !s.ParentID.IsZero() {
		dst = append(dst, `","parent_id":"`...)
		dst = appendHex(dst, s.ParentID[:])
	}
	dst = append(dst, '"')
	dst = appendText(dst, `,"trace_type":`, s.Type.String())
	dst = append(dst, `,"span_type":"`...)
	dst = append(dst, s.EffectiveType().String()...)
	dst = append(dst, `","span_kind":"`...)
	dst = append(dst, s.Kind.String()...)
	dst = append(dst, `","span_name":`...)
	dst = AppendString(dst, s.Name)
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
	dst = appendObject(dst, s.Attributes)
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
		dst = appendObject(dst, s.Resource)
	}
	if s.Scope != nil {
		dst = append(dst, `,"scope":`...)
		dst = AppendScope(dst, s.Scope)
	}
	dst = appendMoment(dst, `,"created_at":`, s.CreatedAt)
	dst = appendMoment(dst, `,"updated_at":`, s.UpdatedAt)
	dst = appendUser(dst, `,"created_by_id":"`, s.CreatedBy)
	return appendUser(dst, `,"updated_by_id":"`, s.UpdatedBy)
}

// AppendReferences appends references as a JSON array, the key of each in its attributes.
func AppendReferences(dst []byte, refs []Reference) []byte {
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
		dst = append(AppendString(dst, r.Key), "}}"...)
	}
	return append(dst, ']')
}

// AppendLinks appends links as a JSON array; it is also how they are stored.
func AppendLinks(dst []byte, links []Link) []byte {
	dst = append(dst, '[')
	for i, l := range links {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"trace_id":"`...)
		dst = appendHex(dst, l.TraceID[:])
		dst = append(dst, `","span_id":"`...)
		dst = appendHex(dst, l.SpanID[:])
		dst = append(dst, '"')
		dst = append(appendAttributes(dst, l.Attributes), '}')
	}
	return append(dst, ']')
}

func appendHashes(dst []byte, hashes []Hash) []byte {
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

// AppendEvents appends events as a JSON array; it is also how they are stored and searched.
func AppendEvents(dst []byte, events []Event) []byte {
	dst = append(dst, '[')
	for i, e := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = AppendString(dst, e.Name)
		dst = append(dst, `,"timestamp":`...)
		dst = appendNano(dst, e.Time)
		dst = append(appendAttributes(dst, e.Attributes), '}')
	}
	return append(dst, ']')
}

// AppendScope appends the JSON of an instrumentation scope's Object; it is also how it is stored.
func AppendScope(dst []byte, s *Scope) []byte {
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

// Object is the scope as an attribute tree: name, version and attributes, each where there is one.
func (s *Scope) Object() map[string]any {
	object := map[string]any{}
	if s.Name != "" {
		object["name"] = s.Name
	}
	if s.Version != "" {
		object["version"] = s.Version
	}
	if s.Attributes != nil {
		object["attributes"] = s.Attributes
	}
	return object
}

func appendAttributes(dst []byte, attributes map[string]any) []byte {
	if attributes == nil {
		return dst
	}
	dst = append(dst, `,"attributes":`...)
	return appendObject(dst, attributes)
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return AppendString(append(dst, key...), s)
}

func appendHex(dst, id []byte) []byte {
	for _, b := range id {
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

func appendNano(dst []byte, nano int64) []byte { return appendTime(dst, time.Unix(0, nano)) }

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

func appendMoment(dst []byte, key string, t time.Time) []byte {
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
