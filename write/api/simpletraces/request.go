package simpletraces

import (
	"encoding/json"
	"maps"
	"slices"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/domain/semconv"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/write/api"
)

// simpleCreation is a new record as a caller gives it. Source: contract §4.2.
type simpleCreation struct {
	Origin     simple.Origin                  `json:"origin"`
	Kind       simple.Kind                    `json:"kind"`
	Channel    simple.Channel                 `json:"channel"`
	Tags       map[string]any                 `json:"tags"`
	Meta       map[string]any                 `json:"meta"`
	Data       map[string]any                 `json:"data" request:"required"`
	References map[string]domain.Reference    `json:"references" request:"required"`
	Links      request.Maybe[json.RawMessage] `json:"links"`
}

// simpleEdition is an edit: what is left out stays, null clears, what is given
// replaces. Members that a read shows and an edit cannot change are taken, so
// that what was read can be sent back; ids must be those of the path.
// Source: contract §0 row 11.
type simpleEdition struct {
	Origin     simple.Origin                              `json:"origin"`
	Kind       simple.Kind                                `json:"kind"`
	Channel    simple.Channel                             `json:"channel"`
	Tags       request.Maybe[map[string]any]              `json:"tags"`
	Meta       request.Maybe[map[string]any]              `json:"meta"`
	Data       request.Maybe[map[string]any]              `json:"data"`
	References request.Maybe[map[string]domain.Reference] `json:"references"`
	Links      request.Maybe[json.RawMessage]             `json:"links"`

	TraceID     trace.TraceID   `json:"trace_id"`
	SpanID      trace.SpanID    `json:"span_id"`
	CreatedAt   json.RawMessage `json:"created_at"`
	UpdatedAt   json.RawMessage `json:"updated_at"`
	DeletedAt   json.RawMessage `json:"deleted_at"`
	CreatedByID json.RawMessage `json:"created_by_id"`
	UpdatedByID json.RawMessage `json:"updated_by_id"`
	DeletedByID json.RawMessage `json:"deleted_by_id"`
}

type (
	traceCreation struct {
		Trace simpleCreation `json:"trace" request:"required"`
	}
	annotationCreation struct {
		Annotation simpleCreation `json:"annotation" request:"required"`
	}
	invocationCreation struct {
		Invocation simpleCreation `json:"invocation" request:"required"`
	}
	traceEdition struct {
		Trace simpleEdition `json:"trace" request:"required"`
	}
	annotationEdition struct {
		Annotation simpleEdition `json:"annotation" request:"required"`
	}
	invocationEdition struct {
		Invocation simpleEdition `json:"invocation" request:"required"`
	}
)

func creationView(f simple.Face) any {
	switch f {
	case simple.Annotation:
		return annotationCreation{}
	case simple.Invocation:
		return invocationCreation{}
	default:
		return traceCreation{}
	}
}

func editView(f simple.Face) any {
	switch f {
	case simple.Annotation:
		return annotationEdition{}
	case simple.Invocation:
		return invocationEdition{}
	default:
		return traceEdition{}
	}
}

// readCreation reads the body of a creation.
func readCreation(f simple.Face, data []byte) (simple.Record, error) {
	b, err := decodeCreation(f, data)
	if err != nil {
		return simple.Record{}, err
	}
	loc := api.Body(f.Member())
	r := simple.Record{
		Origin: wordOr(b.Origin, simple.Custom), Kind: wordOr(b.Kind, simple.Adhoc), Channel: wordOr(b.Channel, simple.API),
		Tags: b.Tags, Meta: b.Meta, Data: b.Data,
	}
	// The key must be there; only an invocation may say that it has none (contract §4.2, §4.4).
	if !b.Links.Given || b.Links.Null && f != simple.Invocation {
		return r, request.Invalid("missing", "Field required", nil, loc.At("links").Path()...)
	}
	if len(b.Data) == 0 {
		return r, request.Invalid("too_short", "Dictionary should have at least 1 item after validation, not 0", b.Data, loc.At("data").Path()...)
	}
	if err := checkTags(b.Tags, loc.At("tags")); err != nil {
		return r, err
	}
	if r.References, err = api.CheckReferences(b.References, loc.At("references")); err != nil {
		return r, err
	}
	if b.Links.Null {
		return r, nil
	}
	r.Links, r.List, err = api.ReadLinks(b.Links.Value, loc.At("links"))
	return r, err
}

func decodeCreation(f simple.Face, data []byte) (simpleCreation, error) {
	switch f {
	case simple.Annotation:
		var b annotationCreation
		err := request.Decode(data, &b)
		return b.Annotation, err
	case simple.Invocation:
		var b invocationCreation
		err := request.Decode(data, &b)
		return b.Invocation, err
	default:
		var b traceCreation
		err := request.Decode(data, &b)
		return b.Trace, err
	}
}

func wordOr[T ~string](given, otherwise T) T {
	if given == "" {
		return otherwise
	}
	return given
}

// checkTags refuses values that are no labels: they would be parked, and not
// be where the caller looks for them.
func checkTags(tags map[string]any, loc *api.Location) error {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if !semconv.Label(tags[key]) {
			return request.Invalid("value_error", "A tag is a boolean, a string, a whole number, or an object of these", tags[key], loc.At(key).Path()...)
		}
	}
	return nil
}

// simpleEdit is an edition understood.
type simpleEdit struct {
	simpleEdition
	loc        *api.Location
	references map[string]domain.Reference
	links      request.Maybe[[]simple.Link]
}

// readEdit reads the body of an edit.
func readEdit(f simple.Face, data []byte) (simpleEdit, error) {
	var e simpleEdit
	var err error
	if e.simpleEdition, err = decodeEdition(f, data); err != nil {
		return e, err
	}
	e.loc = api.Body(f.Member())
	if e.Data.Given && len(e.Data.Value) == 0 {
		return e, request.Invalid("too_short", "Data cannot be cleared: it should have at least 1 item", e.Data.Value, e.loc.At("data").Path()...)
	}
	if err := checkTags(e.Tags.Value, e.loc.At("tags")); err != nil {
		return e, err
	}
	if e.references, err = api.CheckReferences(e.References.Value, e.loc.At("references")); err != nil {
		return e, err
	}
	e.links.Given = e.Links.Given
	if e.Links.Set() {
		e.links.Value, _, err = api.ReadLinks(e.Links.Value, e.loc.At("links"))
	}
	return e, err
}

func decodeEdition(f simple.Face, data []byte) (simpleEdition, error) {
	switch f {
	case simple.Annotation:
		var b annotationEdition
		err := request.Decode(data, &b)
		return b.Annotation, err
	case simple.Invocation:
		var b invocationEdition
		err := request.Decode(data, &b)
		return b.Invocation, err
	default:
		var b traceEdition
		err := request.Decode(data, &b)
		return b.Trace, err
	}
}

// judged tells whether what the record is made about has a say in the edit.
func (e *simpleEdit) judged() bool { return e.Data.Given || e.References.Given }

// apply changes a record.
func (e *simpleEdit) apply(r *simple.Record) error {
	if !e.TraceID.IsZero() && e.TraceID != r.TraceID {
		return request.Invalid("value_error", "The trace_id is not that of the path", e.TraceID.String(), e.loc.At("trace_id").Path()...)
	}
	if !e.SpanID.IsZero() && e.SpanID != r.SpanID {
		return request.Invalid("value_error", "The span_id is not that of the record", e.SpanID.String(), e.loc.At("span_id").Path()...)
	}
	r.Origin, r.Kind, r.Channel = wordOr(e.Origin, r.Origin), wordOr(e.Kind, r.Kind), wordOr(e.Channel, r.Channel)
	if e.Data.Given {
		r.Data = e.Data.Value
	}
	if e.Tags.Given {
		r.Tags = e.Tags.Value
	}
	if e.Meta.Given {
		r.Meta = e.Meta.Value
	}
	if e.References.Given {
		r.References = e.references
	}
	if e.links.Given {
		r.Links = e.links.Value
	}
	return nil
}
