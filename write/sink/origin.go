package sink

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain/trace"
	"colonnade/write/stream"
)

// In older logs an edit that did not fit one record came as several
// (stream.HeaderContinues). The first takes everything stored of the trace out;
// when the others are in later batches, the creations of their spans are known
// from here alone. A sink that ends in between loses them: such spans are then as
// old as the edit.

// origin is when and by whom a span was first written.
type origin struct {
	at time.Time
	by uuid.UUID
}

// keepOrigins keeps the creations of the spans that an edit took out and did
// not write again, until the trace settles or is removed again.
func (k *known) keepOrigins(g *group) {
	if k == nil || g.operation == "" {
		return
	}
	k.origins = nil
	if g.operation != stream.Edit || !g.removed || g.forgotten {
		return
	}
	keep := func(id trace.SpanID, o origin) {
		if g.bySpan[id] != nil {
			return
		}
		if k.origins == nil {
			k.origins = map[trace.SpanID]origin{}
		}
		k.origins[id] = o
	}
	if g.before != nil {
		for i := range g.before.list {
			s := &g.before.list[i]
			keep(s.id, origin{time.UnixMicro(s.createdAt).UTC(), s.createdBy})
		}
	}
	for id, o := range g.origins {
		keep(id, o)
	}
}

func (k *known) origin(id trace.SpanID) (o origin, ok bool) {
	if k != nil {
		o, ok = k.origins[id]
	}
	return o, ok
}
