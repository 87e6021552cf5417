package invoke

import "context"

// local are the handlers that call nobody: they compute.
func (i *Invoke) local() map[string]Handler {
	return map[string]Handler{
		"echo:v0": i.echo,
	}
}

// echo gives its inputs back.
func (i *Invoke) echo(_ context.Context, c *Call) (any, error) {
	return c.Inputs, nil
}
