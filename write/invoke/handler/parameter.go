package handler

import (
	"fmt"
	"math"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
)

// Number returns a JSON value as a float64, and reports whether it is a number.
func Number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	default:
		return 0, false
	}
}

// Flag reads a boolean; anything else than true is false, as the reference has it.
func Flag(c *Call, name string, otherwise bool) bool {
	value, ok := c.Parameters[name]
	if !ok || value == nil {
		return otherwise
	}
	return value == true
}

// Missing returns the error of a required parameter that the configuration lacks.
func Missing(name string) error {
	return Fail(domain.Rejected, MissingParameter, "Missing configuration parameter: '%s'", name)
}

// maxShown is how many bytes of a value an error repeats: enough to recognize it.
const maxShown = 200

// Invalid returns the error of a parameter whose value is not the expected one.
func Invalid(name, expected string, got any) error {
	return Fail(domain.Rejected, InvalidParameter, "Invalid configuration parameter '%s': expected %s, got %s", name, expected, Shown(got))
}

// Shown returns a value as JSON for an error text, cut after maxShown bytes.
func Shown(v any) string {
	text := string(jsonvalue.Append(nil, v))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return text
}

// Text is a parameter that must be there and be a string.
func Text(c *Call, name string) (string, error) {
	value, ok := c.Parameters[name]
	if !ok {
		return "", Missing(name)
	}
	text, ok := value.(string)
	if !ok {
		return "", Invalid(name, "a string", value)
	}
	return text, nil
}

// Texts is a list of strings, trimmed.
func Texts(c *Call, name string) ([]string, error) {
	value, ok := c.Parameters[name]
	if !ok {
		return nil, Missing(name)
	}
	list, ok := value.([]any)
	if !ok {
		return nil, Invalid(name, "a list of strings", value)
	}
	texts := make([]string, len(list))
	for i, element := range list {
		text, ok := element.(string)
		if !ok {
			return nil, Invalid(fmt.Sprintf("%s.%d", name, i), "a string", element)
		}
		texts[i] = strings.TrimSpace(text)
	}
	return texts, nil
}

// Threshold is the score from which a judgement is a success.
func Threshold(parameters map[string]any) (float64, error) {
	t := 0.5
	switch v := parameters["threshold"].(type) {
	case nil:
	case float64:
		t = v
	case int64:
		t = float64(v)
	default:
		return 0, Fail(domain.Rejected, InvalidParameter, "Invalid parameter: threshold must be a number")
	}
	if t <= 0 || t > 1 {
		return 0, Fail(domain.Rejected, InvalidParameter, "Invalid parameter: threshold must be above 0 and at most 1")
	}
	return t, nil
}

// TextOf is a text as it is, and any other value as JSON.
func TextOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return string(jsonvalue.Append(nil, value))
}

// NonNil is an object where none was sent.
func NonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
