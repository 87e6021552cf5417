package traces

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/slot"
)

// maxShortLimit is the largest page that counts as a short read. It is the default
// page of a dashboard.
const maxShortLimit = 50

// admission is the project and the class of the statements below a context.
type admission struct {
	project domain.ProjectID
	class   slot.Class
}

type admissionKey struct{}

// admit returns a context whose statements take the slots of a project.
func admit(ctx context.Context, project domain.ProjectID, class slot.Class) context.Context {
	return context.WithValue(ctx, admissionKey{}, admission{project, class})
}

// class returns the class of a list with this limit. A list that searches
// payloads may read all of a project and is not short.
func (w *walk) class() slot.Class {
	if w.limit > maxShortLimit || w.cond.SearchesPayloads {
		return slot.Long
	}
	return slot.Short
}

// acquire takes a slot for one statement. Statements that belong to no project
// need none: there are few of them, for example the progress of the sink.
func (r *Reader) acquire(ctx context.Context) (release func(), err error) {
	of, ok := ctx.Value(admissionKey{}).(admission)
	if !ok {
		return func() {}, nil
	}
	return r.slots.Acquire(ctx, of.project, of.class)
}

// Slots returns the pool from which statements take their slots.
func (r *Reader) Slots() *slot.Pool { return r.slots }
