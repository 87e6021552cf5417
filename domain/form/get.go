package form

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The getters below take a member and give its zero value when it is absent,
// null, or of the wrong form; the last is recorded as a problem.

// String reads a string.
func (o *Object) String(name string) string {
	s, _ := o.string(name)
	return s
}

// StringPtr reads a string that may be absent: nil.
func (o *Object) StringPtr(name string) *string {
	if s, ok := o.string(name); ok {
		return &s
	}
	return nil
}

func (o *Object) string(name string) (string, bool) {
	value := o.take(name)
	if value == nil {
		return "", false
	}
	s, ok := value.(string)
	if !ok {
		o.Refuse("string_type", "Input should be a valid string", value, name)
	}
	return s, ok
}

// Enum reads one of the given words.
func (o *Object) Enum(name string, words ...string) string {
	s, ok := o.string(name)
	if ok && !slices.Contains(words, s) {
		o.Refuse("enum", "Input should be "+quoted(words), s, name)
		return ""
	}
	return s
}

// Bool reads true or false; nil when absent.
func (o *Object) Bool(name string) *bool {
	value := o.take(name)
	if value == nil {
		return nil
	}
	b, ok := value.(bool)
	if !ok {
		o.Refuse("bool_type", "Input should be a valid boolean", value, name)
		return nil
	}
	return &b
}

// True reads a switch that is off unless it is true.
func (o *Object) True(name string) bool {
	b := o.Bool(name)
	return b != nil && *b
}

// Int reads a whole number not below least; nil when absent.
func (o *Object) Int(name string, least int) *int {
	value := o.take(name)
	if value == nil {
		return nil
	}
	number, ok := value.(json.Number)
	n, err := strconv.Atoi(string(number))
	switch {
	case !ok || err != nil:
		o.Refuse("int_type", "Input should be a valid integer", value, name)
		return nil
	case n < least:
		o.Refuse("greater_than_equal", "Input should be greater than or equal to "+strconv.Itoa(least), value, name)
		return nil
	default:
		return &n
	}
}

// UUID reads an id; uuid.Nil when absent.
func (o *Object) UUID(name string) uuid.UUID {
	value := o.take(name)
	if value == nil {
		return uuid.Nil
	}
	id, ok := parseUUID(value)
	if !ok {
		o.Refuse("uuid_parsing", "Input should be a valid UUID", value, name)
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

// Time reads an ISO-8601 moment; the zero time when absent. A moment without
// a zone is UTC.
func (o *Object) Time(name string) time.Time {
	value := o.take(name)
	if value == nil {
		return time.Time{}
	}
	s, _ := value.(string)
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	o.Refuse("datetime_parsing", "Input should be a valid datetime", value, name)
	return time.Time{}
}

// Map reads a free-form object; nil when absent.
func (o *Object) Map(name string) map[string]any {
	value := o.take(name)
	if value == nil {
		return nil
	}
	m, ok := value.(map[string]any)
	if !ok {
		o.Refuse("dict_type", "Input should be a valid dictionary", value, name)
	}
	return m
}

// Any reads whatever is there.
func (o *Object) Any(name string) any { return o.take(name) }

// Object reads an object to be read in its turn; nil when absent.
func (o *Object) Object(name string) *Object {
	m := o.Map(name)
	if m == nil {
		return nil
	}
	return o.below(m, name)
}

func (o *Object) below(members map[string]any, loc ...any) *Object {
	return &Object{members: members, loc: at(o.loc, loc...), problems: o.problems, taken: map[string]bool{}}
}

// List reads a list; nil when absent.
func (o *Object) List(name string) []any {
	value := o.take(name)
	if value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		o.Refuse("list_type", "Input should be a valid list", value, name)
	}
	return list
}

// Objects reads a list of objects.
func (o *Object) Objects(name string) []*Object {
	var objects []*Object
	for i, e := range o.List(name) {
		m, ok := e.(map[string]any)
		if !ok {
			o.Refuse("dict_type", "Input should be a valid dictionary", e, name, i)
			continue
		}
		objects = append(objects, o.below(m, name, i))
	}
	return objects
}

// Strings reads a list of strings.
func (o *Object) Strings(name string) []string {
	var words []string
	for i, e := range o.List(name) {
		s, ok := e.(string)
		if !ok {
			o.Refuse("string_type", "Input should be a valid string", e, name, i)
			continue
		}
		words = append(words, s)
	}
	return words
}

// UUIDs reads a list of ids.
func (o *Object) UUIDs(name string) []uuid.UUID {
	var ids []uuid.UUID
	for i, e := range o.List(name) {
		id, ok := parseUUID(e)
		if !ok {
			o.Refuse("uuid_parsing", "Input should be a valid UUID", e, name, i)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}
