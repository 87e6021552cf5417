package evaluators

import (
	"context"
	"slices"
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
)

// contains judges whether the answer holds a text. Source: contract §5.7, auto_contains.
func (i *Evaluators) contains(_ context.Context, c *handler.Call) (any, error) {
	return compareText(c, "substring", strings.Contains)
}

// containsAny is contains for one of several texts. Source: contract §5.7, auto_contains_any.
func (i *Evaluators) containsAny(ctx context.Context, c *handler.Call) (any, error) {
	found, _, err := countContained(ctx, c)
	if err != nil {
		return nil, err
	}
	return handler.Passes(found > 0), nil
}

// containsAll is contains for all of several texts. Source: contract §5.7, auto_contains_all.
func (i *Evaluators) containsAll(ctx context.Context, c *handler.Call) (any, error) {
	found, all, err := countContained(ctx, c)
	if err != nil {
		return nil, err
	}
	return handler.Passes(found == all), nil
}

func countContained(ctx context.Context, c *handler.Call) (found, all int, err error) {
	texts, err := handler.Texts(c, "substrings")
	if err != nil {
		return 0, 0, err
	}
	answer, err := judgedText(c)
	if err != nil {
		return 0, 0, err
	}
	folded := folded(c, slices.Concat([]string{answer}, texts)...)
	for _, text := range folded[1:] {
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		if strings.Contains(folded[0], text) {
			found++
		}
	}
	return found, len(texts), nil
}

// containsJSON judges whether there is a JSON object in the answer: from its
// first brace to its last. Source: contract §5.7, auto_contains_json.
func (i *Evaluators) containsJSON(_ context.Context, c *handler.Call) (any, error) {
	answer, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	begin, end := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if begin < 0 || end < begin {
		return handler.Passes(false), nil
	}
	_, err = jsonvalue.ParseString(answer[begin : end+1])
	return handler.Passes(err == nil), nil
}
