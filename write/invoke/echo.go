package invoke

import "context"

// echo answers with its inputs. Source: contract §5.7.
func (i *Invoke) echo(_ context.Context, c *Call) (any, error) { return nonNil(c.Inputs), nil }

// nonNil is an object where none was sent.
func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
