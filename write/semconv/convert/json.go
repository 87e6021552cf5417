// Package convert gives the values of foreign attributes the types that the ag
// schema has for them: numbers, lists and objects that came as text. It knows
// the attributes of ag, not those of conventions; write/semconv calls it.
package convert

import (
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/write/otlp/wire"
)

// MaxJSONDepth bounds text that becomes part of the attribute tree as values
// that came as such are bounded: with the dotted key above it, the tree as a whole
// stays below what readers parse (jsonvalue.MaxDepth).
const MaxJSONDepth = wire.MaxValueDepth - 1

// ParseJSON reads JSON text into an attribute value, which shares the text's
// memory. ok is false where the text is not JSON, nests too deep or would not be
// kept as it says; the caller then keeps the text.
func ParseJSON(text string) (value any, ok bool) {
	value, err := jsonvalue.ParseExact(text)
	if err != nil {
		return nil, false
	}
	if strings.Count(text, "[")+strings.Count(text, "{") > MaxJSONDepth && deeper(value, MaxJSONDepth) {
		return nil, false
	}
	return value, true
}

func deeper(value any, than int) bool {
	if than < 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			if deeper(e, than-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if deeper(e, than-1) {
				return true
			}
		}
	}
	return false
}

// Parsed returns the value of JSON text, and anything else as it is.
func Parsed(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	if v, ok := ParseJSON(text); ok {
		return v
	}
	return value
}

// ParsedEach parses JSON text or each element of a list of JSON texts.
func ParsedEach(value any) any {
	list, ok := value.([]any)
	if !ok {
		return Parsed(value)
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = Parsed(e)
	}
	return out
}

// ObjectOr returns the object that JSON text has, and anything else as it is.
func ObjectOr(value any) any {
	if object, ok := Parsed(value).(map[string]any); ok {
		return object
	}
	return value
}

// ListOf returns the list that JSON text has or the value already is.
func ListOf(value any) []any {
	list, _ := Parsed(value).([]any)
	return list
}
