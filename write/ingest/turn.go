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

// Edits of one trace hold a lock in turns: an edit that reads before it writes must see the
// edit before it, and no other may write in between. Kafka orders the writes, the lock the
// reads. The lock is of this process: see deploy/docs/api.md, edits and deletes.

// maxIdleTurns is the number of traces without a waiting edit whose last edit is kept.
const maxIdleTurns = 10_000

// tracePlace identifies a trace of a project.
type tracePlace struct {
	project domain.ProjectID
	trace   trace.TraceID
}

// turns holds the locks of traces that are being edited or were edited recently.
type turns struct {
	mu    sync.Mutex
	lines map[tracePlace]*line
	// idle is the number of locks that no edit holds or waits for.
	idle int
	// past holds the positions of the edits of all dropped locks.
	past domain.Token
}

// line is the lock of one trace with its queue.
type line struct {
	head   chan struct{} // holds the lock
	people int
	// wrote holds the positions of edits that may not be visible yet. Only the holder of the
	// lock uses it.
	wrote domain.Token
}

// enter returns the lock of a trace and counts the caller in its queue.
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

// leave removes a caller from a lock's queue.
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

// forget drops the locks without callers. A later edit of one of their traces waits until the
// latest position of all of them is visible, which it usually is.
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

// Turn is the exclusive lock of one trace within this process. End releases it.
type Turn struct {
	stored *Stored
	at     tracePlace
	line   *line
}

// Turn waits until no other edit holds the trace's lock. It returns Unavailable after
// WaitTimeout.
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

// End releases the lock.
func (t *Turn) End() {
	<-t.line.head
	t.stored.turns.leave(t.at, t.line)
}

// Outline reads the trace's skeleton when earlier writes are visible: all earlier edits of
// this process, and the caller's own writes, which the token names.
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

// note keeps the position of an edit. An edit that Kafka did not acknowledge has none: its
// caller got no receipt, and Kafka orders it before later writes.
func (t *Turn) note(token domain.Token) {
	for _, p := range token {
		t.line.wrote = t.line.wrote.Add(p)
	}
}

// holds reports whether all spans belong to the turn's trace.
func (t *Turn) holds(spans []trace.Span) error {
	for i := range spans {
		if spans[i].TraceID != t.at.trace {
			return fmt.Errorf("ingest: an edit of trace %s with a span of %s", t.at.trace, spans[i].TraceID)
		}
	}
	return nil
}
