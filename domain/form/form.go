// Package form reads a JSON object field by field, for bodies whose field
// names are data: the lineage of an application and of an environment differ
// in nothing but their names. Here: exact parsing, typed getters, and the
// locations of everything that is wrong, all at once (contract §8). Not here:
// what the fields mean. The api packages of both wings call it.
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
)

const (
	// maxDepth bounds nesting, so that neither we nor a store recurses without end.
	maxDepth = 100
	// maxProblems bounds the reply, as that of domain/body: more are not named.
	maxProblems = 32
)

// problems gathers what is wrong with one body; its objects share it.
type problems struct{ fields []domain.Field }

func (p *problems) add(typ, msg string, input any, loc []any) {
	if len(p.fields) == maxProblems {
		return
	}
	p.fields = append(p.fields, domain.Field{Type: typ, Loc: loc, Msg: msg, Input: input})
}

// Object is a JSON object that is being read. A nil Object reads as one
// without members, so that an optional branch needs no test of its own.
type Object struct {
	members  map[string]any
	loc      []any
	problems *problems
	taken    map[string]bool
}

// Parse reads a request body that must be an object. Numbers stay as they were
// written (json.Number), so that what is stored is what was sent. An empty
// body, bad JSON, nesting beyond a hundred levels and the character NUL, which
// Postgres does not hold, are Invalid with their location.
func Parse(body []byte) (*Object, error) {
	value, err := Decode(body)
	if err != nil {
		return nil, err
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, invalid("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", value, "body")
	}
	o := Of(members, "body")
	if !o.sound(value, o.loc, 0) {
		return nil, o.Err()
	}
	return o, nil
}

// Of reads an object that is already parsed; loc leads to it.
func Of(members map[string]any, loc ...any) *Object {
	return &Object{members: members, loc: loc, problems: &problems{}, taken: map[string]bool{}}
}

// Decode reads one JSON value with exact numbers.
func Decode(body []byte) (any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, invalid("missing", "Field required", nil, "body")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	err := dec.Decode(&value)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return value, nil
		}
		err = errors.New("something follows the value")
	}
	return nil, invalid("json_invalid", "JSON decode error: "+err.Error(), nil, "body", int(dec.InputOffset()))
}

// Sound refuses a value that no store could hold, as Parse does: nested too
// deeply, with the character NUL, or with a number that is too large.
func Sound(value any) error {
	o := Of(nil)
	o.sound(value, o.loc, 0)
	return o.Err()
}

func invalid(typ, msg string, input any, loc ...any) error {
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: typ, Loc: loc, Msg: msg, Input: input}}}
}

// sound looks for what no store could hold. It stops at the first find: the
// input is hostile or broken, not mistaken.
func (o *Object) sound(value any, loc []any, depth int) bool {
	if depth > maxDepth {
		o.problems.add("recursion_loop", "The value is nested too deeply", nil, loc)
		return false
	}
	switch v := value.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			o.problems.add("string_unicode", "The character NUL cannot be stored", nil, loc)
			return false
		}
	case json.Number:
		if !storable(v) {
			o.problems.add("finite_number", "The number is too large", v, loc)
			return false
		}
	case []any:
		for i, e := range v {
			if !o.sound(e, at(loc, i), depth+1) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if strings.IndexByte(k, 0) >= 0 {
				o.problems.add("string_unicode", "The character NUL cannot be stored", nil, loc)
				return false
			}
			if !o.sound(e, at(loc, k), depth+1) {
				return false
			}
		}
	default:
	}
	return true
}

// storable keeps out 1e999999: a store would write out its zeroes.
func storable(n json.Number) bool {
	_, err := strconv.ParseFloat(string(n), 64)
	return err == nil
}

func at(loc []any, more ...any) []any { return append(slices.Clip(loc), more...) }

// Err is all that was found wrong so far, in this object and those below and
// above it; nil when nothing was.
func (o *Object) Err() error {
	if o == nil || len(o.problems.fields) == 0 {
		return nil
	}
	return &domain.Error{Kind: domain.Invalid, Message: o.problems.fields[0].Msg, Fields: o.problems.fields}
}

// Refuse records a problem of a member; no name means the object itself.
func (o *Object) Refuse(typ, msg string, input any, name ...any) {
	o.problems.add(typ, msg, input, at(o.loc, name...))
}

// Loc leads to this object, for problems that are found later.
func (o *Object) Loc() []any { return slices.Clone(o.loc) }

// Close reports every member that nobody asked for: input is never ignored in
// silence.
func (o *Object) Close() {
	if o == nil {
		return
	}
	var extra []string
	for name := range o.members {
		if !o.taken[name] {
			extra = append(extra, name)
		}
	}
	slices.Sort(extra)
	for _, name := range extra {
		o.problems.add("extra_forbidden", "Extra inputs are not permitted", o.members[name], at(o.loc, name))
	}
}

// Ignore takes members that a client may send back from a reply and that mean nothing here.
func (o *Object) Ignore(names ...string) {
	for _, name := range names {
		o.take(name)
	}
}

func (o *Object) take(name string) any {
	if o == nil {
		return nil
	}
	o.taken[name] = true
	return o.members[name]
}

// Has tells whether the member is there and not null. One that is null is as
// good as absent, and is not reported as one that nobody asked for.
func (o *Object) Has(name string) bool {
	if o == nil {
		return false
	}
	if o.members[name] == nil {
		o.taken[name] = true
	}
	return o.members[name] != nil
}

// Present tells whether the member is there, null or not.
func (o *Object) Present(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.members[name]
	return ok
}

// Require reports a member that is missing or null. Of a nil Object nothing is
// required: that it is missing itself was its parent's to report.
func (o *Object) Require(names ...string) {
	if o == nil {
		return
	}
	for _, name := range names {
		if !o.Has(name) {
			o.problems.add("missing", "Field required", nil, at(o.loc, name))
		}
	}
}

// Names are the members' names, sorted.
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

// OneOf takes the first of several names for the same thing that is there.
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
