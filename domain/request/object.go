package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
)

// maxObjectDepth bounds the nesting of an Object, so that neither Colonnade nor Postgres
// recurses without end.
const maxObjectDepth = 100

// Object is an object of a body whose members are read one by one. A nil Object has no
// members, so that an optional member needs no test of its own.
type Object struct {
	members map[string]any
	loc     []any
	errors  *fieldErrors
	read    map[string]bool
}

// ParseObject parses a body that must be an object. Numbers stay as they were
// written (json.Number), so that the stored text is the sent one. An empty
// body, malformed JSON, nesting beyond 100 levels and the character NUL, which
// Postgres cannot store, are Invalid with their location.
func ParseObject(body []byte) (*Object, error) {
	value, err := ParseValue(body)
	if err != nil {
		return nil, err
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, Invalid("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", value, "body")
	}
	o := ObjectOf(members, "body")
	if !o.checkStorable(value, o.loc, 0) {
		return nil, o.Err()
	}
	return o, nil
}

// ObjectOf returns an Object of parsed members; loc is its location.
func ObjectOf(members map[string]any, loc ...any) *Object {
	return &Object{members: members, loc: loc, errors: &fieldErrors{}, read: map[string]bool{}}
}

// ParseValue parses one JSON value, with numbers as json.Number; of members of one name the last one counts.
func ParseValue(body []byte) (any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, Invalid("missing", "Field required", nil, "body")
	}
	r := NewReader(body, "body")
	value, err := r.value()
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// CheckStorable rejects a value that no database could store, as ParseObject does: nested too
// deeply, with the character NUL, or with a number that is too large.
func CheckStorable(value any) error {
	o := ObjectOf(nil)
	o.checkStorable(value, o.loc, 0)
	return o.Err()
}

// checkStorable stops at the first error: such input is hostile or broken, not mistaken.
func (o *Object) checkStorable(value any, loc []any, depth int) bool {
	if depth > maxObjectDepth {
		o.add("recursion_loop", "The value is nested too deeply", nil, loc)
		return false
	}
	switch v := value.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			o.add("string_unicode", "The character NUL cannot be stored", nil, loc)
			return false
		}
	case json.Number:
		if !storable(v) {
			o.add("finite_number", "The number is too large", v, loc)
			return false
		}
	case []any:
		for i, e := range v {
			if !o.checkStorable(e, below(loc, i), depth+1) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if strings.IndexByte(k, 0) >= 0 {
				o.add("string_unicode", "The character NUL cannot be stored", nil, loc)
				return false
			}
			if !o.checkStorable(e, below(loc, k), depth+1) {
				return false
			}
		}
	default:
	}
	return true
}

// storable reports whether a number fits a float64: Postgres would write out the zeroes of 1e999999.
func storable(n json.Number) bool {
	_, err := strconv.ParseFloat(string(n), 64)
	return err == nil
}

// Err returns the errors found so far, in this object and those below and
// above it; nil if there are none.
func (o *Object) Err() error {
	if o == nil {
		return nil
	}
	return o.errors.err()
}

func (o *Object) add(typ, msg string, input any, loc []any) {
	o.errors.add(domain.Field{Type: typ, Loc: loc, Msg: msg, Input: input})
}

// Fail records an error of a member; without a name, of the object itself.
func (o *Object) Fail(typ, msg string, input any, name ...any) {
	o.add(typ, msg, input, below(o.loc, name...))
}

// Loc returns the location of the object, for errors that are found later.
func (o *Object) Loc() []any { return slices.Clone(o.loc) }

// FailUnknown records an error for every member that was not read.
func (o *Object) FailUnknown() {
	if o == nil {
		return
	}
	var extra []string
	for name := range o.members {
		if !o.read[name] {
			extra = append(extra, name)
		}
	}
	slices.Sort(extra)
	for _, name := range extra {
		o.add("extra_forbidden", "Extra inputs are not permitted", o.members[name], below(o.loc, name))
	}
}

// Ignore reads members that a client may send back from a reply and that have no meaning in a request.
func (o *Object) Ignore(names ...string) {
	for _, name := range names {
		o.get(name)
	}
}

// get returns a member and marks it as read.
func (o *Object) get(name string) any {
	if o == nil {
		return nil
	}
	o.read[name] = true
	return o.members[name]
}

// Has reports whether the member is present and not null. A null member counts as read,
// so that FailUnknown does not report it.
func (o *Object) Has(name string) bool {
	if o == nil {
		return false
	}
	if o.members[name] == nil {
		o.read[name] = true
	}
	return o.members[name] != nil
}

// Present reports whether the member is present, null or not.
func (o *Object) Present(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.members[name]
	return ok
}

// Require records an error for each member that is absent or null. A nil Object has no
// required members: its own absence is an error of its parent.
func (o *Object) Require(names ...string) {
	if o == nil {
		return
	}
	for _, name := range names {
		if !o.Has(name) {
			o.add("missing", "Field required", nil, below(o.loc, name))
		}
	}
}

// Names returns the names of the members, sorted.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	names := make([]string, 0, len(o.members))
	for name := range o.members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// OneOf returns the first of several names of one member that is present; the first name if none is.
func (o *Object) OneOf(names ...string) string {
	found := ""
	for _, name := range names {
		if o.Has(name) && found == "" {
			found = name
		}
	}
	if found == "" {
		return names[0]
	}
	return found
}

func quoted(values []string) string {
	q := make([]string, len(values))
	for i, v := range values {
		q[i] = fmt.Sprintf("'%s'", v)
	}
	if len(q) == 1 {
		return q[0]
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}
