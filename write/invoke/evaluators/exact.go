package evaluators

import (
	"context"

	"colonnade/write/invoke/handler"
)

// exactMatch judges whether the answer equals the expected one.
// Source: contract §5.7, auto_exact_match.
func (i *Evaluators) exactMatch(_ context.Context, c *handler.Call) (any, error) {
	_, expected, err := expectedOf(c)
	if err != nil {
		return nil, err
	}
	return handler.Passes(same(c.Outputs, expected)), nil
}
