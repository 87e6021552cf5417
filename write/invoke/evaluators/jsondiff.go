package evaluators

import (
	"context"
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
)

// jsonDiff judges how many leaves of the expected JSON are in the answer.
// Source: contract §5.7, auto_json_diff.
func (i *Evaluators) jsonDiff(_ context.Context, c *handler.Call) (any, error) {
	key, value, err := expectedOf(c)
	if err != nil {
		return nil, err
	}
	expected, ok := documentOf(value)
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.InvalidInput, "Invalid input '%s': expected JSON, got %s", key, handler.Shown(value))
	}
	answer, ok := documentOf(c.Outputs)
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.InvalidOutputs, "Invalid outputs: expected JSON, got %s", handler.Shown(c.Outputs))
	}
	threshold, err := handler.Threshold(c.Parameters)
	if err != nil {
		return nil, err
	}
	score, err := difference(expected, answer, diffRules{
		schemaOnly: handler.Flag(c, "compare_schema_only", false),
		bothKeys:   handler.Flag(c, "predict_keys", false),
		foldKeys:   handler.Flag(c, "case_insensitive_keys", false),
	})
	if err != nil {
		return nil, err
	}
	return handler.Scores(score, threshold), nil
}

// documentOf is an object or a list, or the one that a string holds as JSON.
func documentOf(v any) (any, bool) {
	if text, ok := v.(string); ok {
		parsed, err := jsonvalue.ParseString(text)
		if err != nil {
			return nil, false
		}
		v = parsed
	}
	switch v.(type) {
	case map[string]any, []any:
		return v, true
	default:
		return nil, false
	}
}

// diffRules say what counts as a difference.
type diffRules struct {
	// schemaOnly compares the types of leaves, not their values.
	schemaOnly bool
	// bothKeys counts leaves that only the answer has, too.
	bothKeys bool
	// foldKeys lets the case of names not matter.
	foldKeys bool
}

// maxPathsBytes bounds the paths of the leaves of a document, all together: each
// repeats the names above it, so that one long name makes much of a small document.
const maxPathsBytes = 64 << 20

// difference is the share of leaves that agree, from 0 to 1; 0 where there are none.
func difference(expected, answer any, rules diffRules) (float64, error) {
	want, got := map[string]any{}, map[string]any{}
	for into, document := range map[*map[string]any]any{&want: expected, &got: answer} {
		left := maxPathsBytes
		if leaves(*into, "", document, rules.foldKeys, &left); left < 0 {
			return 0, handler.Fail(domain.TooLarge, handler.InvalidOutputs, "The names in the answer or the expected one are too long to be compared leaf by leaf.")
		}
	}
	all, right := len(want), 0
	for path, value := range want {
		theirs, ok := got[path]
		switch {
		case !ok, value == nil, theirs == nil:
		case rules.schemaOnly:
			if typeOf(value) == typeOf(theirs) {
				right++
			}
		case same(value, theirs):
			right++
		default:
		}
	}
	if rules.bothKeys {
		for path := range got {
			if _, ok := want[path]; !ok {
				all++
			}
		}
	}
	if all == 0 {
		return 0, nil
	}
	return float64(right) / float64(all), nil
}

// leaves lists the scalars of a document by path: names and indices with dots
// between. It ends where what is left for paths is spent.
func leaves(into map[string]any, path string, v any, fold bool, left *int) {
	if *left < 0 {
		return
	}
	step := func(name string) string {
		if *left -= len(path) + 1 + len(name); *left < 0 {
			return ""
		}
		if fold {
			name = strings.ToLower(name)
		}
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			leaves(into, step(name), member, fold, left)
		}
	case []any:
		for i, element := range v {
			leaves(into, step(strconv.Itoa(i)), element, fold, left)
		}
	default:
		into[path] = v
	}
}

// typeOf is a scalar's type in JSON; whole numbers and fractions are two, for
// a schema tells them apart.
func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "number"
	default:
		return "null"
	}
}
