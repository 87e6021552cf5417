// Package body reads the JSON body of a request into a struct, strictly: an
// unknown key, a wrong type or a missing member is an error with its location
// (contract §8), never a silently ignored body. All locations are found at
// once. Handlers bound the size of a body before they read it; what a value
// means they check themselves, and use Invalid to say where it is wrong.
//
// The struct is described by its json tags, and:
//
//   - `body:"required"` on a member that must be there and not null;
//   - `body:"bound"` on a *time.Time that others are compared with: see trace.ParseBound;
//   - any other null is the same as an absent member, except in Maybe, which
//     tells absent, null and given apart (contract §0 row 11), and in
//     json.RawMessage, which holds the text as sent;
//   - uuid.UUID, time.Time (see trace.ParseTime), and types with UnmarshalJSON
//     or UnmarshalText read themselves; the sentence of a domain.Error they
//     return is shown, an Invalid one's fields keep their locations below the member's;
//   - any holds what trace.ParseJSON gives; maps have string keys, or keys with
//     UnmarshalText; a struct embedded without a name gives its members;
//   - `json:",string"` and channels, functions and complex numbers are not read.
package body

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"colonnade/domain"
)

const (
	// MaxDepth is how many objects and arrays may stand within each other.
	MaxDepth = 128
	// maxFields bounds the reply: more mistakes than these are not named.
	maxFields = 32
	// maxInputBytes is the longest wrong value that is shown back.
	maxInputBytes = 1024
)

// Decode reads data into v, a pointer to a struct, map or slice. Any mistake is
// domain.Invalid with Fields whose locations begin with "body"; v then holds a
// part of the body. No data, and nothing but blanks, is the missing body of
// contract §8; a route whose body is optional (Operation.Lazy) does not call Decode for it.
func Decode(data []byte, v any) error { return DecodeAt(data, v, "body") }

// DecodeAt is Decode for JSON that stands elsewhere, as in a parameter of the
// query string: locations begin with loc.
func DecodeAt(data []byte, v any, loc ...any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return Invalid("missing", "Field required", nil, loc...)
	}
	if err := check(data, loc); err != nil {
		return err
	}
	d := decoder{}
	d.value(reflect.ValueOf(v).Elem(), bytes.TrimSpace(data), loc)
	if len(d.fields) > 0 {
		return &domain.Error{Kind: domain.Invalid, Message: d.fields[0].Msg, Fields: d.fields}
	}
	return nil
}

// Invalid is one mistake at a location, for what a handler finds itself:
// Invalid("missing", "Field required", nil, "body", "application", "slug").
func Invalid(kind, msg string, input any, loc ...any) error {
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: kind, Loc: loc, Msg: msg, Input: input}}}
}

// Maybe is a member of which the body tells whether it was left out, null or
// given. Source: contract §0 row 11.
type Maybe[T any] struct {
	// Given tells that the member was there, null or not.
	Given bool
	// Null tells that it was null; Value is then zero.
	Null  bool
	Value T
}

// Set tells whether a value was given.
func (m Maybe[T]) Set() bool { return m.Given && !m.Null }

// UnmarshalJSON lets encoding/json read a Maybe as Decode does.
func (m *Maybe[T]) UnmarshalJSON(data []byte) error {
	m.Given, m.Null = true, string(data) == "null"
	if m.Null {
		return nil
	}
	return json.Unmarshal(data, &m.Value)
}

// MarshalJSON writes the value, or null where none was given.
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

// below adds keys to a location without sharing its memory.
func below(loc []any, more ...any) []any { return slices.Concat(loc, more) }
