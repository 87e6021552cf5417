package simple

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// AppendJSON appends the record as it is served. Members that are absent are
// left out; references and links are always there. Source: contract §4.2.
func (r *Record) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"trace_id":"`...)
	dst = append(dst, r.TraceID.String()...)
	dst = append(dst, `","span_id":"`...)
	dst = append(dst, r.SpanID.String()...)
	dst = append(dst, '"')
	dst = appendMoment(dst, `,"created_at":"`, r.CreatedAt)
	dst = appendMoment(dst, `,"updated_at":"`, r.UpdatedAt)
	dst = appendID(dst, `,"created_by_id":"`, r.CreatedBy)
	dst = appendID(dst, `,"updated_by_id":"`, r.UpdatedBy)
	dst = append(dst, `,"origin":"`+string(r.Origin)+`","kind":"`+string(r.Kind)+`","channel":"`+string(r.Channel)+`"`...)
	if r.Tags != nil {
		dst = jsonvalue.Append(append(dst, `,"tags":`...), r.Tags)
	}
	if r.Meta != nil {
		dst = jsonvalue.Append(append(dst, `,"meta":`...), r.Meta)
	}
	dst = append(dst, `,"data":`...)
	if r.Data == nil {
		dst = append(dst, "{}"...)
	} else {
		dst = jsonvalue.Append(dst, r.Data)
	}
	references := make(map[string]any, len(r.References))
	for key, ref := range r.References {
		references[key] = referenceObject(ref)
	}
	dst = jsonvalue.Append(append(dst, `,"references":`...), references)
	dst = append(dst, `,"links":`...)
	return append(r.appendLinks(dst), '}')
}

// appendLinks keeps the order of the links, which is that of the caller.
func (r *Record) appendLinks(dst []byte) []byte {
	list := r.List && len(r.Links) > 0
	if list {
		dst = append(dst, '[')
	} else {
		dst = append(dst, '{')
	}
	for i, l := range r.Links {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !list {
			dst = append(jsonvalue.AppendString(dst, l.Name), ':')
		}
		dst = AppendLink(dst, l.TraceID, l.SpanID)
	}
	if list {
		return append(dst, ']')
	}
	return append(dst, '}')
}

// AppendLink appends {"trace_id", "span_id"}.
func AppendLink(dst []byte, t trace.TraceID, s trace.SpanID) []byte {
	dst = append(dst, `{"trace_id":"`...)
	dst = append(dst, t.String()...)
	dst = append(dst, `","span_id":"`...)
	dst = append(dst, s.String()...)
	return append(dst, `"}`...)
}

func appendMoment(dst []byte, key string, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst = append(dst, key...)
	return append(t.UTC().AppendFormat(dst, time.RFC3339Nano), '"')
}

func appendID(dst []byte, key string, id uuid.UUID) []byte {
	if id == uuid.Nil {
		return dst
	}
	dst = append(dst, key...)
	return append(append(dst, id.String()...), '"')
}

// RecordView is the record as the API page shows it; the replies are AppendJSON's.
type RecordView struct {
	TraceID     string                      `json:"trace_id"`
	SpanID      string                      `json:"span_id"`
	CreatedAt   time.Time                   `json:"created_at,omitzero"`
	UpdatedAt   time.Time                   `json:"updated_at,omitzero"`
	CreatedByID uuid.UUID                   `json:"created_by_id,omitzero"`
	UpdatedByID uuid.UUID                   `json:"updated_by_id,omitzero"`
	Origin      Origin                      `json:"origin"`
	Kind        Kind                        `json:"kind"`
	Channel     Channel                     `json:"channel"`
	Tags        map[string]any              `json:"tags,omitempty"`
	Meta        map[string]any              `json:"meta,omitempty"`
	Data        map[string]any              `json:"data"`
	References  map[string]domain.Reference `json:"references"`
	Links       map[string]LinkView         `json:"links"`
}

// LinkView is a link as the API page shows it.
type LinkView struct {
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
}
