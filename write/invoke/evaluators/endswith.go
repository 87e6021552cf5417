package evaluators

import (
	"context"
	"strings"

	"colonnade/write/invoke/handler"
)

// endsWith judges whether the answer ends with a text. Source: contract §5.7, auto_ends_with.
func (i *Evaluators) endsWith(_ context.Context, c *handler.Call) (any, error) {
	return compareText(c, "suffix", strings.HasSuffix)
}
