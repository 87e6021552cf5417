package invoke

import (
	"fmt"
	"math"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
)

// What evaluators have in common: how they read their parameters and what they
// judge, and the two forms of their verdict. Source: contract §5.7.

// passes is the verdict of those that only say yes or no.
func passes(success bool) map[string]any { return map[string]any{"success": success} }

// scores is the verdict of those that measure.
func scores(score, threshold float64) map[string]any {
	return map[string]any{"score": score, "success": score >= threshold}
}

func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v)
	default:
		return 0, false
	}
}

// flagOf reads a boolean; anything else than true is false, as the reference has it.
func flagOf(c *Call, name string, otherwise bool) bool {
	value, ok := c.Parameters[name]
	if !ok || value == nil {
		return otherwise
	}
	return value == true
}

func missingParameter(name string) error {
	return Fail(domain.Rejected, MissingParameter, "Missing configuration parameter: '%s'", name)
}

// maxShown bounds what an error repeats of a value.
const maxShown = 200

func invalidParameter(name, expected string, got any) error {
	return Fail(domain.Rejected, InvalidParameter, "Invalid configuration parameter '%s': expected %s, got %s", name, expected, shownValue(got))
}

func shownValue(v any) string {
	text := string(jsonvalue.Append(nil, v))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return text
}

// textParameter is a parameter that must be there and be a string.
func textParameter(c *Call, name string) (string, error) {
	value, ok := c.Parameters[name]
	if !ok {
		return "", missingParameter(name)
	}
	text, ok := value.(string)
	if !ok {
		return "", invalidParameter(name, "a string", value)
	}
	return text, nil
}

// textsParameter is a list of strings, trimmed.
func textsParameter(c *Call, name string) ([]string, error) {
	value, ok := c.Parameters[name]
	if !ok {
		return nil, missingParameter(name)
	}
	list, ok := value.([]any)
	if !ok {
		return nil, invalidParameter(name, "a list of strings", value)
	}
	texts := make([]string, len(list))
	for i, element := range list {
		text, ok := element.(string)
		if !ok {
			return nil, invalidParameter(fmt.Sprintf("%s.%d", name, i), "a string", element)
		}
		texts[i] = strings.TrimSpace(text)
	}
	return texts, nil
}

// expectedOf is the right answer: the input that correct_answer_key names,
// among the inputs or, where the run brought one, in the testcase.
func expectedOf(c *Call) (key string, value any, err error) {
	named, ok := c.Parameters["correct_answer_key"]
	if !ok {
		return "", nil, missingParameter("correct_answer_key")
	}
	key, ok = named.(string)
	if !ok || key == "" {
		return "", nil, invalidParameter("correct_answer_key", "the name of an input", named)
	}
	if value, ok = c.Inputs[key]; ok {
		return key, value, nil
	}
	if value, ok = c.Testcase[key]; ok {
		return key, value, nil
	}
	if c.Inputs == nil && c.Testcase == nil {
		return "", nil, Fail(domain.Rejected, InvalidInputs, "Invalid inputs: expected an object, got none")
	}
	return "", nil, Fail(domain.Rejected, MissingInput, "Missing input: '%s'", key)
}

// judgedText is what is judged as text: a string as it is, an object as JSON.
func judgedText(c *Call) (string, error) {
	switch v := c.Outputs.(type) {
	case string:
		return v, nil
	case map[string]any:
		return string(jsonvalue.Append(nil, v)), nil
	default:
		return "", Fail(domain.Rejected, InvalidOutputs, "Invalid outputs: expected a string or an object, got %s", shownValue(c.Outputs))
	}
}

// expectedText is the right answer as text, likewise.
func expectedText(c *Call) (string, error) {
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
		return "", Fail(domain.Rejected, InvalidInput, "Invalid input '%s': expected a string or an object, got %s", key, shownValue(value))
	}
}

// folded lowers texts where the parameters say that case does not matter.
func folded(c *Call, texts ...string) []string {
	if flagOf(c, "case_sensitive", true) {
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
	x, isNumber := numberOf(a)
	y, both := numberOf(b)
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
