package evaluators

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/template"
)

// fieldMatch judges whether a field of a JSON answer equals the expected
// answer. An answer without the field is wrong, not an error.
// Source: contract §5.7, field_match_test.
func (i *Evaluators) fieldMatch(_ context.Context, c *handler.Call) (any, error) {
	field, err := handler.Text(c, "json_field")
	if err != nil {
		return nil, err
	}
	_, expected, err := expectedOf(c)
	if err != nil {
		return nil, err
	}
	answer, ok := objectOf(c.Outputs)
	if !ok {
		return handler.Passes(false), nil
	}
	value, err := template.Resolve(field, answer)
	if domain.KindOf(err) == domain.TooLarge {
		return nil, handler.WithProblem(err, handler.InvalidParameter)
	}
	return handler.Passes(err == nil && same(value, expected)), nil
}

// objectOf is an object, or the one that a string holds as JSON.
func objectOf(v any) (map[string]any, bool) {
	if text, ok := v.(string); ok {
		parsed, err := jsonvalue.ParseString(text)
		if err != nil {
			return nil, false
		}
		v = parsed
	}
	object, ok := v.(map[string]any)
	return object, ok
}

// multiFieldMatch judges each of several fields, by dotted path, JSONPath or
// JSON Pointer, and how many of them are right. Source: contract §5.7,
// json_multi_field_match.
func (i *Evaluators) multiFieldMatch(ctx context.Context, c *handler.Call) (any, error) {
	if _, ok := c.Parameters["fields"]; !ok {
		return nil, handler.Missing("fields")
	}
	fields, err := handler.Texts(c, "fields")
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, handler.Invalid("fields", "a list of paths that is not empty", c.Parameters["fields"])
	}
	key, value, err := expectedOf(c)
	if err != nil {
		return nil, err
	}
	expected, ok := objectOf(value)
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.InvalidInput, "Invalid input '%s': expected an object or JSON of one, got %s", key, handler.Shown(value))
	}
	answer, readable := objectOf(c.Outputs)
	wanted, given := template.NewPaths(expected), template.NewPaths(answer)
	result := map[string]any{}
	right := 0
	for _, field := range fields {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		want, err := atPath(wanted, field)
		if err != nil {
			return nil, err
		}
		got, err := atPath(given, field)
		if err != nil {
			return nil, err
		}
		score := 0.0
		// A field that neither has is right: nothing was to be found, and nothing was.
		if readable && same(want, got) {
			score = 1
			right++
		}
		result[field] = score
	}
	result["aggregate_score"] = float64(right) / float64(len(fields))
	return result, nil
}

// atPath is the value at a path; nil where there is none.
func atPath(document *template.Paths, path string) (any, error) {
	value, err := document.Resolve(path)
	if domain.KindOf(err) == domain.TooLarge {
		return nil, handler.WithProblem(err, handler.InvalidParameter)
	}
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // nothing is at the path, which is an answer
	}
	return value, nil
}
