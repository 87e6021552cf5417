package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// Edits of one trace take turns: one that looks before it writes must see what
// the one before it wrote, and none may write in between. The stream orders what
// is written, a turn what is looked at. Turns are of this process: see deploy/docs/api.md, edits and deletes.

// maxIdleTurns is of how many traces, at which nobody is, the last edit is remembered one by one.
const maxIdleTurns = 10_000

// tracePlace names a trace of a project.
type tracePlace struct {
	project domain.ProjectID
	trace   trace.TraceID
}

// turns are the traces that are being edited, or were lately.
type turns struct {
	mu    sync.Mutex
	lines map[tracePlace]*line
	// idle is how many lines nobody is in.
	idle int
	// past is where the edits stand of all lines that were forgotten.
	past domain.Token
}

// line is who edits a trace and who waits to.
type line struct {
	head   chan struct{} // holds whose turn it is
	people int
	// wrote is where the edits of the trace stand that may not be visible yet.
	// Only whose turn it is touches it.
	wrote domain.Token
}

// enter gives the line of a trace.
func (t *turns) enter(at tracePlace) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[at]
	switch {
	case l == nil:
		l = &line{head: make(chan struct{}, 1), wrote: slices.Clone(t.past)}
		t.lines[at] = l
	case l.people == 0:
		t.idle--
	}
	l.people++
	return l
}

// leave takes one out of a line. The last one leaves word of what was written.
func (t *turns) leave(at tracePlace, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.people--; l.people > 0 {
		return
	}
	if len(l.wrote) == 0 {
		delete(t.lines, at)
		return
	}
	if t.idle++; t.idle > maxIdleTurns {
		t.forget()
	}
}

// forget lets go of the lines that nobody is in. Who edits one of their traces
// waits for the latest of all of them: mostly it is visible long since.
func (t *turns) forget() {
	for at, l := range t.lines {
		if l.people > 0 {
			continue
		}
		for _, p := range l.wrote {
			t.past = t.past.Add(p)
		}
		delete(t.lines, at)
	}
	t.idle = 0
}

// Turn is leave to edit one trace, which nobody else of this process has. End gives it back.
type Turn struct {
	stored *Stored
	at     tracePlace
	line   *line
}

// Turn waits until no other edit of the trace is under way. When that takes too
// long it is Unavailable.
func (s *Stored) Turn(ctx context.Context, project domain.ProjectID, id trace.TraceID) (*Turn, error) {
	t := &Turn{stored: s, at: tracePlace{project, id}}
	t.line = s.turns.enter(t.at)
	timer := time.NewTimer(s.cfg.WaitTimeout)
	defer timer.Stop()
	select {
	case t.line.head <- struct{}{}:
		return t, nil
	case <-ctx.Done():
		s.turns.leave(t.at, t.line)
		return nil, ctx.Err()
	case <-timer.C:
		s.turns.leave(t.at, t.line)
		e := domain.E(domain.Unavailable, "Other edits of this trace are under way; send the same request again.")
		e.RetryAfter = time.Second
		return nil, e
	}
}

// End lets the next one have its turn.
func (t *Turn) End() {
	<-t.line.head
	t.stored.turns.leave(t.at, t.line)
}

// Outline looks the trace up once what was written before is visible: all edits
// that had their turn, and the caller's own writes, which the token names.
func (t *Turn) Outline(ctx context.Context, token domain.Token) (*Outline, error) {
	token = slices.Clone(token)
	for _, p := range t.line.wrote {
		token = token.Add(p)
	}
	if err := t.stored.Await(ctx, token); err != nil {
		return nil, err
	}
	t.line.wrote = nil
	return t.stored.Outline(ctx, t.at.project, t.at.trace)
}

// note remembers where an edit stands. One that was not acknowledged needs none:
// who does not see it does not undo what anybody was promised, and the stream
// keeps it before what is written after it.
func (t *Turn) note(token domain.Token) {
	for _, p := range token {
		t.line.wrote = t.line.wrote.Add(p)
	}
}

// holds tells whether spans are all of the trace that the turn is for.
func (t *Turn) holds(spans []trace.Span) error {
	for i := range spans {
		if spans[i].TraceID != t.at.trace {
			return fmt.Errorf("ingest: an edit of trace %s with a span of %s", t.at.trace, spans[i].TraceID)
		}
	}
	return nil
}
