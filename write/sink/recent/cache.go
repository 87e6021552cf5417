// Package recent remembers the spans that a partition stored lately: the versions of
// their rows, by which client retries are dropped and superseded rows are found, and
// the traces that are not finalized.
//
// A cache is rebuilt from ClickHouse when a partition changes its owner. Its content is
// a function of the rows of lower offsets, so that a batch that is repeated decides as
// its first attempt did.
package recent

import (
	"container/list"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/trace"
	"colonnade/write/sink/rows"
)

// Cache holds the recent traces of one partition. A span that is missing from it costs
// a duplicate row that merges remove, never a wrong result.
//
// It is for one goroutine, the partition's worker.
type Cache struct {
	keep time.Duration

	traces map[rows.TraceKey]*Trace
	// recent has the traces in the order of their last write, pending those that are
	// not finalized in the same order.
	recent, pending *list.List
	spans           int
}

// Trace is one recent trace.
type Trace struct {
	Key   rows.TraceKey
	Spans []Span
	// index finds a span in Spans if they are many.
	index map[trace.SpanID]int32
	// Declared is the strongest declared type, 0 for none; Linked reports that a span
	// has links, HasEvaluator that a root names an evaluator.
	Declared             trace.Type
	Linked, HasEvaluator bool
	// lastWriteAt is when the sink last wrote to the trace, by the sink's clock.
	lastWriteAt time.Time
	// receivedAt is the latest receipt of one of its records.
	receivedAt time.Time
	// FirstCreated is the earliest creation of its recent spans in microseconds, 0 for none.
	FirstCreated int64
	// lacking are the identifiers that a root does not name, naming those that another
	// span names, a bit for each; Restored reports that neither is known.
	lacking, naming uint8
	Restored        bool
	// Whole reports that Spans and Metrics have every span of the trace that was written
	// since FirstVersion; they are parallel then. Metrics are kept until the trace is
	// finalized.
	Whole        bool
	FirstVersion uint64
	Metrics      []SpanMetrics

	recent, pending *list.Element
}

// Span is the stored version of a span.
type Span struct {
	ID          trace.SpanID
	TraceType   trace.Type
	ContentHash uint64
	Version     uint64
	Start       int64 // microseconds
	CreatedAt   int64 // microseconds
	CreatedBy   uuid.UUID
}

// longList is the number of spans from which an index finds one.
const longList = 24

// New creates an empty cache that keeps a trace for so long after its last record.
func New(keep time.Duration) *Cache {
	return &Cache{keep: keep, traces: map[rows.TraceKey]*Trace{}, recent: list.New(), pending: list.New()}
}

// Trace returns a recent trace, or nil.
func (m *Cache) Trace(key rows.TraceKey) *Trace { return m.traces[key] }

// Touch makes a trace the latest and marks it pending; it creates the trace if needed.
func (m *Cache) Touch(key rows.TraceKey, touchedAt, receivedAt time.Time) *Trace {
	k := m.traces[key]
	if k == nil {
		k = &Trace{Key: key, Whole: true, FirstVersion: math.MaxUint64}
		k.recent = m.recent.PushBack(k)
		m.traces[key] = k
	} else {
		m.recent.MoveToBack(k.recent)
	}
	if k.pending == nil {
		k.pending = m.pending.PushBack(k)
	} else {
		m.pending.MoveToBack(k.pending)
	}
	k.lastWriteAt = touchedAt
	if receivedAt.After(k.receivedAt) {
		k.receivedAt = receivedAt
	}
	return k
}

// Span returns a recent span of the trace; the trace may be nil.
func (k *Trace) Span(id trace.SpanID) (*Span, bool) {
	if k == nil {
		return nil, false
	}
	i, ok := k.find(id)
	if !ok {
		return nil, false
	}
	return &k.Spans[i], true
}

// find returns the index of a span in Spans.
func (k *Trace) find(id trace.SpanID) (int, bool) {
	if k.index != nil {
		i, ok := k.index[id]
		return int(i), ok
	}
	i := slices.IndexFunc(k.Spans, func(s Span) bool { return s.ID == id })
	return i, i >= 0
}

// Put adds the stored version of a span, in place of an earlier one.
func (m *Cache) Put(k *Trace, s Span, f SpanMetrics) {
	if k.FirstCreated == 0 || s.CreatedAt < k.FirstCreated {
		k.FirstCreated = s.CreatedAt
	}
	k.FirstVersion = min(k.FirstVersion, s.Version)
	if i, ok := k.find(s.ID); ok {
		k.Spans[i] = s
		if k.Whole {
			k.Metrics[i] = f
		}
		return
	}
	k.Spans = append(k.Spans, s)
	if k.Whole {
		k.Metrics = append(k.Metrics, f)
	}
	m.spans++
	if k.index == nil {
		k.reindex()
		return
	}
	k.index[s.ID] = int32(len(k.Spans) - 1) //nolint:gosec // a trace of more does not fit into memory
}

// reindex builds the index if there are many spans.
func (k *Trace) reindex() {
	k.index = nil
	if len(k.Spans) < longList {
		return
	}
	k.index = make(map[trace.SpanID]int32, 2*len(k.Spans))
	for i := range k.Spans {
		k.index[k.Spans[i].ID] = int32(i)
	}
}

// Drop removes the spans of a trace, or only those given.
func (m *Cache) Drop(k *Trace, only map[trace.SpanID]bool) {
	if k == nil {
		return
	}
	kept := k.Spans[:0]
	for _, s := range k.Spans {
		if only != nil && !only[s.ID] {
			kept = append(kept, s)
		}
	}
	m.spans -= len(k.Spans) - len(kept)
	k.Spans = kept
	k.reindex()
	k.Metrics = slices.DeleteFunc(k.Metrics, func(f SpanMetrics) bool { return only == nil || only[f.ID] })
	if only == nil {
		k.Declared, k.Linked, k.HasEvaluator = 0, false, false
		k.Whole, k.FirstVersion = true, math.MaxUint64 // of what comes after
	}
}

// Finalized removes a trace from the pending ones.
func (m *Cache) Finalized(k *Trace) {
	k.Whole, k.Metrics = false, nil
	if k.pending != nil {
		m.pending.Remove(k.pending)
		k.pending = nil
	}
}

// Due returns at most n pending traces whose last write was before a time, oldest first.
func (m *Cache) Due(before time.Time, n int) []*Trace {
	var out []*Trace
	for e := m.pending.Front(); e != nil && len(out) < n; e = e.Next() {
		k := element(e)
		if k.lastWriteAt.After(before) {
			break
		}
		out = append(out, k)
	}
	return out
}

// FinalizedUntil returns the time before which every trace that was written to is
// finalized.
func (m *Cache) FinalizedUntil(now time.Time) time.Time {
	if e := m.pending.Front(); e != nil {
		return element(e).lastWriteAt
	}
	return now
}

// Trim removes what is beyond the bounds, oldest first. receivedAt is the receipt of
// the newest record, which a replay has too, unlike the clock. A pending trace stays
// pending and loses only its spans.
func (m *Cache) Trim(receivedAt time.Time, maxSpans int) {
	for e := m.recent.Front(); e != nil; {
		k := element(e)
		if m.spans <= maxSpans && !k.receivedAt.Before(receivedAt.Add(-m.keep)) {
			return
		}
		next := e.Next()
		m.spans -= len(k.Spans)
		k.Spans, k.index, k.FirstCreated = nil, nil, 0
		k.Whole, k.Metrics = false, nil
		if k.pending == nil {
			m.recent.Remove(e)
			delete(m.traces, k.Key)
		}
		e = next
	}
}

// NewTrace returns a trace with these spans that is in no cache.
func NewTrace(key rows.TraceKey, spans []Span) *Trace {
	k := &Trace{Key: key, Spans: spans}
	k.reindex()
	return k
}

// Pending returns the number of traces that are not finalized.
func (m *Cache) Pending() int { return m.pending.Len() }

// Size returns the number of spans.
func (m *Cache) Size() int { return m.spans }

// OlderThan reports whether a trace was first stored, at created, before it was recent, so
// that versions of its spans may have been replaced unseen.
func (k *Trace) OlderThan(created int64) bool { return k.FirstCreated == 0 || created < k.FirstCreated }

func element(e *list.Element) *Trace {
	k, _ := e.Value.(*Trace)
	return k
}
