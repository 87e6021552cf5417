package api

import (
	"encoding/json"
	"maps"
	"slices"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/semconv"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
)

// CheckReferences returns the references that name an entity, and refuses keys that no reference has.
func CheckReferences(given map[string]domain.Reference, loc *Location) (map[string]domain.Reference, error) {
	references := map[string]domain.Reference{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		ref := given[key]
		switch {
		case !semconv.ReferenceKey(key) && key != simple.Selector:
			return nil, request.Invalid("extra_forbidden", "Extra inputs are not permitted", ref, loc.At(key).Path()...)
		case ref.Slug != "" && key != simple.Selector && !semconv.ValidSlug(ref.Slug):
			return nil, request.Invalid("string_pattern_mismatch", `String should match pattern '^[a-zA-Z0-9_\-][a-zA-Z0-9_.\-]*$'`, ref.Slug, loc.At(key).At("slug").Path()...)
		case !ref.IsZero():
			references[key] = ref
		}
	}
	return references, nil
}

// ReadLinks parses links, which are an object by their names or a list. An entry
// without trace_id or span_id is skipped. list reports whether raw was a list, so
// that a reply can have the same form. Source: contract §4.2.
func ReadLinks(raw json.RawMessage, loc *Location) (links []simple.Link, list bool, err error) {
	v, err := jsonvalue.Parse(raw)
	if err != nil {
		return nil, false, err
	}
	var names simple.Names
	add := func(name string, v any, loc *Location) error {
		l, ok, err := readLink(v, loc)
		if ok {
			if given, _ := l.Attributes["key"].(string); given != "" && list {
				name = given
			}
			l.Name = names.Unique(name)
			links = append(links, l)
		}
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := add(name, v[name], loc.At(name)); err != nil {
				return nil, false, err
			}
		}
	case []any:
		list = true
		for i, e := range v {
			if err := add(simple.ListName, e, loc.At(i)); err != nil {
				return nil, false, err
			}
		}
	default:
		return nil, false, request.Invalid("dict_type", WantObjectOrList, v, loc.Path()...)
	}
	return links, list, nil
}

func readLink(v any, loc *Location) (l simple.Link, ok bool, err error) {
	if v == nil {
		return l, false, nil
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		return l, false, request.Invalid("dict_type", WantObject, v, loc.Path()...)
	}
	for key := range object {
		if key != "trace_id" && key != "span_id" && key != "attributes" {
			return l, false, request.Invalid("extra_forbidden", "Extra inputs are not permitted", object[key], loc.At(key).Path()...)
		}
	}
	if l.Attributes, isObject = object["attributes"].(map[string]any); !isObject && object["attributes"] != nil {
		return l, false, request.Invalid("dict_type", WantObject, object["attributes"], loc.At("attributes").Path()...)
	}
	if object["trace_id"] == nil || object["span_id"] == nil {
		return l, false, nil
	}
	text, _ := object["trace_id"].(string)
	if l.TraceID, err = trace.ParseTraceID(text); err != nil {
		return l, false, request.Invalid("value_error", "Invalid trace_id.", object["trace_id"], loc.At("trace_id").Path()...)
	}
	text, _ = object["span_id"].(string)
	if l.SpanID, err = trace.ParseSpanID(text); err != nil {
		return l, false, request.Invalid("value_error", "Invalid span_id.", object["span_id"], loc.At("span_id").Path()...)
	}
	return l, true, nil
}
