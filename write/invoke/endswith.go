package invoke

import (
	"context"
	"strings"
)

// endsWith judges whether the answer ends with a text. Source: contract §5.7, auto_ends_with.
func (i *Invoke) endsWith(_ context.Context, c *Call) (any, error) {
	return compareText(c, "suffix", strings.HasSuffix)
}
