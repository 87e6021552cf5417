package handler

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"colonnade/domain/jsonvalue"
)

// Canonical copies a value that came out of a JSON decoder, a script or a
// template into canonical JSON: whole numbers within int64 are int64, others
// float64; a number that JSON cannot say becomes nil. What is no JSON value at
// all is read from what encoding/json makes of it.
func Canonical(value any) any {
	switch v := value.(type) {
	case nil, bool, string, int64:
		return v
	case float64:
		return number(v)
	case int:
		return int64(v)
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return nil
		}
		return number(f)
	case map[string]any:
		if v == nil {
			return nil
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = Canonical(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Canonical(e)
		}
		return out
	default:
		return foreign(value)
	}
}

// number drops what JSON cannot say.
func number(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

// foreign goes through text.
func foreign(value any) any {
	if r := reflect.ValueOf(value); r.Kind() == reflect.Pointer && r.IsNil() {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	parsed, err := jsonvalue.Parse(text)
	if err != nil {
		return nil
	}
	return parsed
}

// Object is a value that must be one to be looked into; nil otherwise.
func Object(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}
