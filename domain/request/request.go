// Package request decodes the JSON bodies of requests strictly: an unknown member, a value
// of another type and an absent required member are errors with their locations, never ignored.
// All errors of a body are found at once. Decode fills a struct; an Object is read member by member, for bodies
// whose member names are data; Reader walks a body of any form. All three read the tokens of
// jsontext. The meaning of members is checked by the callers, the API packages of both sides,
// which also bound the size of a body before they read it.
//
// Decode reads the json tags of a struct, and:
//
//   - `request:"required"`: the member must be present and not null;
//   - `request:"bound"`: the *time.Time is a bound that times are compared with, see trace.ParseBound;
//   - any other null is the same as an absent member, except in Maybe, which
//     distinguishes absent, null and given, and in json.RawMessage, which keeps the text as sent;
//   - uuid.UUID, time.Time (see trace.ParseTime), and types with UnmarshalJSON
//     or UnmarshalText parse themselves; the message of a domain.Error that they return is
//     shown, and the fields of an Invalid one keep their locations below the member;
//   - any receives what jsonvalue.Parse returns; maps have string keys, or keys with
//     UnmarshalText; a struct that is embedded without a name contributes its members;
//   - `json:",string"` and channels, functions and complex numbers are not decoded.
package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"colonnade/domain"
)

const (
	// MaxDepth is the greatest depth of objects and arrays that Decode accepts.
	MaxDepth = 128
	// maxErrors bounds the reply: a body may have millions of errors, of which the first are reported.
	maxErrors = 32
	// maxInputBytes is the length of the longest wrong value that a reply shows.
	maxInputBytes = 1024
)

// Decode decodes data into v, a pointer to a struct, map or slice. Any error is
// domain.Invalid with Fields whose locations begin with "body"; v then has a
// part of the body. Empty and blank data is a missing body; a route whose body is
// optional (Operation.Lazy) does not call Decode for it.
func Decode(data []byte, v any) error { return DecodeAt(data, v, "body") }

// DecodeAt is Decode for JSON that is not the body, for example a parameter of the
// query string: locations begin with loc.
func DecodeAt(data []byte, v any, loc ...any) error { return decode(data, v, false, loc) }

// DecodeKnown is Decode for bodies to which clients add members of their own: it ignores
// members that it does not know, at any depth. Other errors are those of Decode.
func DecodeKnown(data []byte, v any) error { return decode(data, v, true, []any{"body"}) }

func decode(data []byte, v any, ignoreUnknown bool, loc []any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return Invalid("missing", "Field required", nil, loc...)
	}
	if err := check(data, loc); err != nil {
		return err
	}
	d := decoder{r: NewReader(data, loc...), ignoreUnknown: ignoreUnknown}
	if err := d.value(reflect.ValueOf(v).Elem(), loc); err != nil {
		return err
	}
	return d.err()
}

// Invalid returns the error of one field, for errors that a handler finds itself:
// Invalid("missing", "Field required", nil, "body", "application", "slug").
func Invalid(kind, msg string, input any, loc ...any) error {
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: kind, Loc: loc, Msg: msg, Input: input}}}
}

// fieldErrors collects the errors of one body.
type fieldErrors struct{ fields []domain.Field }

func (e *fieldErrors) add(f domain.Field) {
	if len(e.fields) < maxErrors {
		e.fields = append(e.fields, f)
	}
}

// err returns the errors as one; nil if there are none.
func (e *fieldErrors) err() error {
	if len(e.fields) == 0 {
		return nil
	}
	return &domain.Error{Kind: domain.Invalid, Message: e.fields[0].Msg, Fields: e.fields}
}

// messageOf returns the message of an error that a type's own parser returned.
func messageOf(err error) string {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// below returns a location with more keys; it does not share the memory of loc.
func below(loc []any, more ...any) []any { return slices.Concat(loc, more) }

// Maybe is a member that distinguishes absent, null and given.
type Maybe[T any] struct {
	// Given is true if the member was present, null or not.
	Given bool
	// Null is true if the member was null; Value is then zero.
	Null  bool
	Value T
}

// Set reports whether the member has a value other than null.
func (m Maybe[T]) Set() bool { return m.Given && !m.Null }

// UnmarshalJSON decodes a Maybe for encoding/json as Decode does.
func (m *Maybe[T]) UnmarshalJSON(data []byte) error {
	m.Given, m.Null = true, string(data) == "null"
	if m.Null {
		return nil
	}
	return json.Unmarshal(data, &m.Value)
}

// MarshalJSON writes the value, or null if there is none.
func (m Maybe[T]) MarshalJSON() ([]byte, error) {
	if !m.Set() {
		return []byte("null"), nil
	}
	return json.Marshal(m.Value)
}

func (m *Maybe[T]) bind(null bool) reflect.Value {
	m.Given, m.Null = true, null
	return reflect.ValueOf(&m.Value).Elem()
}

type maybe interface{ bind(null bool) reflect.Value }
