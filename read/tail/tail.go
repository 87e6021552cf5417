// Package tail shows spans as they come: who opens a tail gets every span of a
// project that a filter chooses, from that moment on, as soon as queries find it.
//
// What is fanned out is the stream itself, read from its end by a follower
// without a group, and held back until the sink's progress has passed it: a
// span that a tail shows is stored and visible, and one that the stream lost or
// the sink never stored is not shown. The sink and the reads may be different
// processes, and a span belongs to whichever sink owns its partition; the
// stream and the sink's progress are what all of them share, so that one
// mechanism serves the single process and the separate roles. It costs a second
// reading of the stream while, and only while, a tail is open; only records of
// projects that have one are made spans again.
//
// A span is shown as its record alone makes it: its trace's type and its
// cumulative metrics are those of the spans that came in the same request. What
// is sent again is shown again; what is deleted is not shown.
//
// A reader that does not keep up misses spans and is told how many; nobody
// waits for it. This package imports no stream: cmd gives it a Source.
package tail

import (
	"context"
	"sync"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
)

// Record is what one request sent of one trace.
type Record struct {
	Project domain.ProjectID
	At      domain.Position
	// Bytes is its size in memory.
	Bytes int
	// Spans makes its spans as readers see them. It costs, and is called for
	// followed projects only.
	Spans func() ([]trace.Span, error)
}

// Source reads the stream from the moment it was opened.
type Source interface {
	// Poll gives the next records of the projects that are wanted, none when ctx
	// ends first. They hold on to no memory but their own: they may be kept for
	// long. After an error it is of no more use.
	Poll(ctx context.Context, wanted func(domain.ProjectID) bool) ([]Record, error)
	// Pause stops reading partitions until Resume.
	Pause(partitions ...int32)
	Resume(partitions ...int32)
	Close()
}

// End says why a tail is over.
type End string

// The ends that the reader of a tail is told.
const (
	// Stopping: the service stops. Another process, or this one, will answer a new request.
	Stopping End = "stopping"
	// Interrupted: the stream broke off, and spans may have passed unseen.
	Interrupted End = "interrupted"
	// Forbidden: the caller may no longer read; see read/api/spans.
	Forbidden End = "forbidden"
)

// Batch is what waited for a reader.
type Batch struct {
	// Spans are JSON documents in the order of their partitions.
	Spans [][]byte
	// Dropped counts the spans after these that did not fit into the buffer.
	Dropped uint64
	// End is set, alone, when nothing will follow.
	End End
}

// Tail is one reader's view. Take is for one goroutine.
type Tail struct {
	hub     *Hub
	project domain.ProjectID
	where   filter.Expr
	// ready is closed when every later span will be seen, over when nothing more will.
	ready, over chan struct{}
	// arrived has room for one signal: there is something to take.
	arrived chan struct{}

	mu      sync.Mutex // guards the rest
	queue   [][]byte
	bytes   int
	dropped uint64
	end     End
}

// offer puts a span into the buffer, or counts it as dropped. Once one is
// dropped all are until the reader has taken what is there, so that what it gets
// is in order: spans, then how many it did not get.
func (t *Tail) offer(text []byte) (took bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cfg := &t.hub.cfg
	full := len(t.queue) > 0 && (len(t.queue) >= cfg.ClientBufferSpans || t.bytes+len(text) > cfg.ClientBufferBytes)
	if t.dropped > 0 || full {
		t.dropped++
		return false
	}
	t.queue = append(t.queue, text)
	t.bytes += len(text)
	t.signal()
	return true
}

func (t *Tail) finish(why End) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == "" {
		t.end = why
		close(t.over)
	}
}

func (t *Tail) signal() {
	select {
	case t.arrived <- struct{}{}:
	default: // it knows
	}
}

// Take waits for something to show. Its error is the context's.
func (t *Tail) Take(ctx context.Context) (Batch, error) {
	for {
		if b, ok := t.take(); ok {
			return b, nil
		}
		select {
		case <-t.arrived:
		case <-t.over:
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
}

func (t *Tail) take() (Batch, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) > 0 || t.dropped > 0 {
		b := Batch{Spans: t.queue, Dropped: t.dropped}
		t.queue, t.bytes, t.dropped = nil, 0, 0
		return b, true
	}
	return Batch{End: t.end}, t.end != ""
}

// Close ends the tail; what it still holds is forgotten.
func (t *Tail) Close() { t.hub.remove(t) }
