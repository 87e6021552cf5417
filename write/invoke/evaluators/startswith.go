package evaluators

import (
	"context"
	"strings"

	"colonnade/write/invoke/handler"
)

// startsWith judges whether the answer begins with a text. Source: contract §5.7, auto_starts_with.
func (i *Evaluators) startsWith(_ context.Context, c *handler.Call) (any, error) {
	return compareText(c, "prefix", strings.HasPrefix)
}

// compareText holds the answer against one text of the parameters.
func compareText(c *handler.Call, name string, holds func(answer, text string) bool) (any, error) {
	text, err := handler.Text(c, name)
	if err != nil {
		return nil, err
	}
	answer, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	pair := folded(c, answer, text)
	return handler.Passes(holds(pair[0], pair[1])), nil
}
