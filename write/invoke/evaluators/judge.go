package evaluators

import (
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
)

// What evaluators have in common: how they read their parameters and what they
// judge, and the two forms of their verdict. Source: contract §5.7.

// expectedOf is the right answer: the input that correct_answer_key names,
// among the inputs or, where the run brought one, in the testcase.
func expectedOf(c *handler.Call) (key string, value any, err error) {
	named, ok := c.Parameters["correct_answer_key"]
	if !ok {
		named = "correct_answer"
	}
	key, ok = named.(string)
	if !ok || key == "" {
		return "", nil, handler.Invalid("correct_answer_key", "the name of an input", named)
	}
	if value, ok = c.Inputs[key]; ok {
		return key, value, nil
	}
	if value, ok = c.Testcase[key]; ok {
		return key, value, nil
	}
	if c.Inputs == nil && c.Testcase == nil {
		return "", nil, handler.Fail(domain.Rejected, handler.InvalidInputs, "Invalid inputs: expected an object, got none")
	}
	return "", nil, handler.Fail(domain.Rejected, handler.MissingInput, "Missing input: '%s'", key)
}

// judgedText is what is judged as text: a string as it is, an object as JSON.
func judgedText(c *handler.Call) (string, error) {
	switch v := c.Outputs.(type) {
	case string:
		return v, nil
	case map[string]any:
		return string(jsonvalue.Append(nil, v)), nil
	default:
		return "", handler.Fail(domain.Rejected, handler.InvalidOutputs, "Invalid outputs: expected a string or an object, got %s", handler.Shown(c.Outputs))
	}
}

// expectedText is the right answer as text, likewise.
func expectedText(c *handler.Call) (string, error) {
	key, value, err := expectedOf(c)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case map[string]any:
		return string(jsonvalue.Append(nil, v)), nil
	default:
		return "", handler.Fail(domain.Rejected, handler.InvalidInput, "Invalid input '%s': expected a string or an object, got %s", key, handler.Shown(value))
	}
}

// folded lowers texts where the parameters say that case does not matter.
func folded(c *handler.Call, texts ...string) []string {
	if handler.Flag(c, "case_sensitive", true) {
		return texts
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ToLower(text)
	}
	return out
}

// same compares two values of JSON: whole numbers equal floats of the same value.
func same(a, b any) bool {
	x, isNumber := handler.Number(a)
	y, both := handler.Number(b)
	if isNumber || both {
		return isNumber && both && x == y
	}
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for name, member := range a {
			theirs, ok := other[name]
			if !ok || !same(member, theirs) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for i := range a {
			if !same(a[i], other[i]) {
				return false
			}
		}
		return true
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false
		default:
			return a == b
		}
	}
}
