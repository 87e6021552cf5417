package clickhouse

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/slot"
)

// admission is the project and the class of the statements below a context.
type admission struct {
	project domain.ProjectID
	class   slot.Class
}

type admissionKey struct{}

// Admit returns a context whose statements take the slots of a project.
func Admit(ctx context.Context, project domain.ProjectID, class slot.Class) context.Context {
	return context.WithValue(ctx, admissionKey{}, admission{project, class})
}

// acquire takes a slot for one statement. Statements that belong to no project
// need none: there are few of them, for example the progress of the sink.
func (c *Client) acquire(ctx context.Context) (release func(), err error) {
	of, ok := ctx.Value(admissionKey{}).(admission)
	if !ok {
		return func() {}, nil
	}
	return c.slots.Acquire(ctx, of.project, of.class)
}

// Slots returns the pool from which statements take their slots.
func (c *Client) Slots() *slot.Pool { return c.slots }
