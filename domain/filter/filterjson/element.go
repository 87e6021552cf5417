package filterjson

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// parts returns the leaves of the fields that are lists of objects: links, references, events and
// hashes. "in" takes partial objects and holds if an element contains one of them (each of them,
// with all); "has" holds if the member of an element at the key is the value.
func (c *condition) parts() (filter.Expr, error) {
	switch c.op {
	case "exists":
		return c.anyPart(), nil
	case "has":
		return c.partWith()
	}
	items, err := c.items()
	if err != nil {
		return nil, err
	}
	found := make([]filter.Expr, len(items))
	for i, item := range items {
		if found[i], err = c.part(item); err != nil {
			return nil, err
		}
	}
	if c.all {
		return all(found), nil
	}
	return anyOf(found), nil
}

func (c *condition) anyPart() filter.Expr {
	switch c.field {
	case "links":
		return filter.Link{}
	case "references":
		return filter.Reference{}
	default:
		return filter.Event{}
	}
}

func (c *condition) part(item any) (filter.Expr, error) {
	if id, ok := uuidOf(item); ok && c.field == "hashes" {
		return filter.Hash{ID: id}, nil
	}
	object, ok := item.(map[string]any)
	if !ok || len(object) == 0 {
		return nil, c.bad(item, "it takes objects with some members")
	}
	attributes, ok := object["attributes"].(map[string]any)
	if !ok && object["attributes"] != nil {
		return nil, c.bad(item, "attributes is an object")
	}
	if attributes != nil {
		n, err := c.normal(attributes)
		if err != nil {
			return nil, err
		}
		attributes, _ = n.(map[string]any)
	}
	switch c.field {
	case "links":
		return c.link(object, attributes)
	case "references":
		return c.reference(object, attributes)
	case "events":
		return c.event(object, attributes)
	default:
		id, valid := uuidOf(object["id"])
		if err := c.members(object, "id", "attributes"); err != nil || !valid && object["id"] != nil {
			return nil, c.bad(item, "it takes a hash's id and attributes")
		}
		return filter.Hash{ID: id, Attributes: attributes}, nil
	}
}

// members rejects members that the objects of the field do not have.
func (c *condition) members(object map[string]any, known ...string) error {
	if err := onlyKeys(object, nil, known...); err != nil {
		return c.bad(object, "it takes "+strings.Join(known, ", "))
	}
	return nil
}

func (c *condition) link(object, attributes map[string]any) (filter.Expr, error) {
	if err := c.members(object, "trace_id", "span_id", "attributes"); err != nil {
		return nil, err
	}
	l := filter.Link{Attributes: attributes}
	if v := object["trace_id"]; v != nil {
		s, _ := v.(string)
		id, err := trace.ParseTraceID(s)
		if l.TraceID = id; err != nil {
			return nil, c.bad(v, "it is not a trace_id")
		}
	}
	if v := object["span_id"]; v != nil {
		s, _ := v.(string)
		id, err := trace.ParseSpanID(s)
		if l.SpanID = id; err != nil {
			return nil, c.bad(v, "it is not a span_id")
		}
	}
	return l, nil
}

// reference returns a leaf for each of id, slug and version: one of them is enough. A key in the
// attributes belongs to each of them.
func (c *condition) reference(object, attributes map[string]any) (filter.Expr, error) {
	if err := c.members(object, "id", "slug", "version", "attributes"); err != nil {
		return nil, err
	}
	key, isKey := attributes["key"].(string)
	if len(attributes) > 1 || len(attributes) == 1 && !isKey {
		return filter.Or{}, nil // a reference's attributes are its key and nothing else
	}
	var found []filter.Expr
	if v := object["id"]; v != nil {
		id, ok := uuidOf(v)
		if !ok {
			return nil, c.bad(v, "id is a UUID")
		}
		found = append(found, filter.Reference{Key: key, ID: id})
	}
	for _, name := range []string{"slug", "version"} {
		v := object[name]
		s, ok := v.(string)
		switch {
		case v == nil:
		case !ok || s == "":
			return nil, c.bad(v, name+" is a string")
		case name == "slug":
			found = append(found, filter.Reference{Key: key, Slug: s})
		default:
			found = append(found, filter.Reference{Key: key, Version: s})
		}
	}
	if len(found) == 0 {
		return filter.Reference{Key: key}, nil
	}
	return anyOf(found), nil
}

func (c *condition) event(object, attributes map[string]any) (filter.Expr, error) {
	if err := c.members(object, "name", "timestamp", "attributes"); err != nil {
		return nil, err
	}
	e := filter.Event{Attributes: attributes}
	if v := object["name"]; v != nil {
		s, ok := v.(string)
		if e.Name = s; !ok || s == "" {
			return nil, c.bad(v, "name is a string")
		}
	}
	if v := object["timestamp"]; v != nil {
		t, err := c.micros(v)
		if err != nil {
			return nil, err
		}
		e.Time = &t
	}
	return e, nil
}

// partWith parses has: the key is "attributes." and a path; for hashes also "id", for the other
// fields also their own members. Attributes of links and events keep a dotted key as one key, so
// both readings of a path are tested.
func (c *condition) partWith() (filter.Expr, error) {
	path, isAttribute := strings.CutPrefix(c.key, "attributes.")
	if !isAttribute {
		if c.value == nil {
			return nil, c.bad(c.value, "it takes a value")
		}
		e, err := c.part(map[string]any{c.key: c.value})
		if err != nil {
			return nil, rejected("Field %s does not take the key %s with the value %s.", c.field, shorten(c.key), show(c.value))
		}
		return e, nil
	}
	value, err := c.normal(c.value)
	if err != nil {
		return nil, err
	}
	flat := map[string]any{path: value}
	keys := jsonvalue.SplitPath(path)
	if c.field == "references" {
		return c.reference(map[string]any{"attributes": flat}, flat)
	}
	if len(keys) == 1 {
		return c.withAttributes(map[string]any{keys[0]: value}), nil
	}
	nested := value
	for _, key := range slices.Backward(keys) {
		nested = map[string]any{key: nested}
	}
	object, _ := nested.(map[string]any)
	return filter.Or{c.withAttributes(flat), c.withAttributes(object)}, nil
}

func (c *condition) withAttributes(attributes map[string]any) filter.Expr {
	switch c.field {
	case "links":
		return filter.Link{Attributes: attributes}
	case "hashes":
		return filter.Hash{ID: uuid.Nil, Attributes: attributes}
	default:
		return filter.Event{Attributes: attributes}
	}
}
