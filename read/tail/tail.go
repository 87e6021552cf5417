// Package tail follows spans: a tail receives every span of a project that matches a
// filter, from the time it is opened, as soon as queries find the span.
//
// A hub reads the topic from its end, without a consumer group, and holds each record
// back until the sink's progress has passed it: a span that a tail shows is stored and
// visible. The sink and the reads may be different processes; the topic and the sink's
// progress are what all of them share, so that one mechanism serves the single process
// and the separate roles. The topic is read a second time only while a tail is open, and
// only records of projects with a tail are decoded.
//
// A span is shown as its record alone describes it: the type of the trace and the
// cumulative metrics are those of the spans of the same request. A span that a client
// sends again is shown again; a span that is deleted is not shown.
//
// A client that reads too slowly misses spans and receives their number. The hub waits
// for no client. This package does not import the Kafka client: cmd passes a Source.
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
	// Spans decodes its spans as queries return them. It is expensive and is called only
	// for projects with a tail.
	Spans func() ([]trace.Span, error)
}

// Source reads the topic from the time at which it was opened.
type Source interface {
	// Poll returns the next records of the wanted projects, none if ctx ends first. The
	// records keep no other memory alive, so that the hub may hold them for long. After an
	// error the source cannot be used.
	Poll(ctx context.Context, wanted func(domain.ProjectID) bool) ([]Record, error)
	// Pause stops reading partitions until Resume.
	Pause(partitions ...int32)
	Resume(partitions ...int32)
	Close()
}

// End is why a tail ended.
type End string

// The reasons that a client receives.
const (
	// Stopping: the service stops. Another process, or this one, will answer a new request.
	Stopping End = "stopping"
	// Interrupted: reading from Kafka failed, and spans may have been missed.
	Interrupted End = "interrupted"
	// Forbidden: the caller may no longer read; see read/api/spans.
	Forbidden End = "forbidden"
)

// Batch holds the spans that waited for a client.
type Batch struct {
	// Spans are JSON documents in the order of their partitions.
	Spans [][]byte
	// Dropped counts the spans after these that did not fit into the buffer.
	Dropped uint64
	// End is set, without spans, if nothing follows.
	End End
}

// Tail is the queue of one client. Only one goroutine calls Take.
type Tail struct {
	hub     *Hub
	project domain.ProjectID
	where   filter.Expr
	// ready is closed once the tail receives every later span, over once it receives none.
	ready, over chan struct{}
	// arrived holds one signal: the queue is not empty.
	arrived chan struct{}

	mu      sync.Mutex // guards the rest
	queue   [][]byte
	bytes   int
	dropped uint64
	end     End
}

// offer appends a span to the queue, or counts it as dropped. After a dropped span all
// further ones are dropped until the client takes the queue, so that the client receives
// spans in order, then the number of missing ones.
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
	default: // a signal is pending
	}
}

// Take waits for spans, a count of dropped ones, or the end. Its error is that of ctx.
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

// Close ends the tail and discards its queue.
func (t *Tail) Close() { t.hub.remove(t) }
