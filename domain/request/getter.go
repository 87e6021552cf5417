package request

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The getters below return the zero value of an absent or null member, and of one of
// another type, which they record as an error.

// String returns a string.
func (o *Object) String(name string) string {
	s, _ := o.string(name)
	return s
}

// StringPtr returns a string, nil if it is absent.
func (o *Object) StringPtr(name string) *string {
	if s, ok := o.string(name); ok {
		return &s
	}
	return nil
}

func (o *Object) string(name string) (string, bool) {
	value := o.get(name)
	if value == nil {
		return "", false
	}
	s, ok := value.(string)
	if !ok {
		o.Fail("string_type", "Input should be a valid string", value, name)
	}
	return s, ok
}

// Enum returns a string that must be one of values.
func (o *Object) Enum(name string, values ...string) string {
	s, ok := o.string(name)
	if ok && !slices.Contains(values, s) {
		o.Fail("enum", "Input should be "+quoted(values), s, name)
		return ""
	}
	return s
}

// Bool returns a boolean, nil if it is absent.
func (o *Object) Bool(name string) *bool {
	value := o.get(name)
	if value == nil {
		return nil
	}
	b, ok := value.(bool)
	if !ok {
		o.Fail("bool_type", "Input should be a valid boolean", value, name)
		return nil
	}
	return &b
}

// True reports whether a boolean is present and true.
func (o *Object) True(name string) bool {
	b := o.Bool(name)
	return b != nil && *b
}

// Int returns a whole number of at minimum minimum, nil if it is absent.
func (o *Object) Int(name string, minimum int) *int {
	value := o.get(name)
	if value == nil {
		return nil
	}
	number, ok := value.(json.Number)
	n, err := strconv.Atoi(string(number))
	switch {
	case !ok || err != nil:
		o.Fail("int_type", "Input should be a valid integer", value, name)
		return nil
	case n < minimum:
		o.Fail("greater_than_equal", "Input should be greater than or equal to "+strconv.Itoa(minimum), value, name)
		return nil
	default:
		return &n
	}
}

// UUID returns an id, uuid.Nil if it is absent.
func (o *Object) UUID(name string) uuid.UUID {
	value := o.get(name)
	if value == nil {
		return uuid.Nil
	}
	id, ok := parseUUID(value)
	if !ok {
		o.Fail("uuid_parsing", "Input should be a valid UUID", value, name)
	}
	return id
}

func parseUUID(value any) (uuid.UUID, bool) {
	s, ok := value.(string)
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}

// Time returns an ISO 8601 time, the zero time if it is absent. A time without
// a zone is UTC.
func (o *Object) Time(name string) time.Time {
	value := o.get(name)
	if value == nil {
		return time.Time{}
	}
	s, _ := value.(string)
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	o.Fail("datetime_parsing", "Input should be a valid datetime", value, name)
	return time.Time{}
}

// Map returns an object of any members, nil if it is absent.
func (o *Object) Map(name string) map[string]any {
	value := o.get(name)
	if value == nil {
		return nil
	}
	m, ok := value.(map[string]any)
	if !ok {
		o.Fail("dict_type", "Input should be a valid dictionary", value, name)
	}
	return m
}

// Any returns a value of any type.
func (o *Object) Any(name string) any { return o.get(name) }

// Object returns an object, nil if it is absent.
func (o *Object) Object(name string) *Object {
	m := o.Map(name)
	if m == nil {
		return nil
	}
	return o.below(m, name)
}

func (o *Object) below(members map[string]any, loc ...any) *Object {
	return &Object{members: members, loc: below(o.loc, loc...), errors: o.errors, read: map[string]bool{}}
}

// List returns a list, nil if it is absent.
func (o *Object) List(name string) []any {
	value := o.get(name)
	if value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		o.Fail("list_type", "Input should be a valid list", value, name)
	}
	return list
}

// Objects returns a list of objects.
func (o *Object) Objects(name string) []*Object {
	var objects []*Object
	for i, e := range o.List(name) {
		m, ok := e.(map[string]any)
		if !ok {
			o.Fail("dict_type", "Input should be a valid dictionary", e, name, i)
			continue
		}
		objects = append(objects, o.below(m, name, i))
	}
	return objects
}

// Strings returns a list of strings.
func (o *Object) Strings(name string) []string {
	var list []string
	for i, e := range o.List(name) {
		s, ok := e.(string)
		if !ok {
			o.Fail("string_type", "Input should be a valid string", e, name, i)
			continue
		}
		list = append(list, s)
	}
	return list
}

// UUIDs returns a list of ids.
func (o *Object) UUIDs(name string) []uuid.UUID {
	var ids []uuid.UUID
	for i, e := range o.List(name) {
		id, ok := parseUUID(e)
		if !ok {
			o.Fail("uuid_parsing", "Input should be a valid UUID", e, name, i)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}
