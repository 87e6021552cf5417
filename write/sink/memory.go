package sink

import (
	"container/list"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/trace"
	"colonnade/write/sink/rows"
)

// memory is what a partition's worker knows of the traces it wrote lately: the
// versions of their spans, to drop retries and to replace what changed, and
// which of the traces are not settled. It is a cache of the store: losing an
// entry costs a duplicate row that merges remove, never a wrong result.
//
// Only the worker touches it. Its content is a function of the rows of lower
// offsets (restored by restore.go), so a replay decides as the first attempt did.
type memory struct {
	keep time.Duration

	traces map[rows.TraceKey]*known
	// recent has the traces in the order of their last touch, open those that
	// are not settled in the same order.
	recent, open *list.List
	spans        int
}

// known is one trace.
type known struct {
	key  rows.TraceKey
	list []knownSpan
	// index finds a span in list once that is long.
	index map[trace.SpanID]int32
	// declared is the strongest declared type, 0 for none; linked tells that a
	// span has links, judging that a root names an evaluator.
	declared        trace.Type
	linked, judging bool
	// touchedAt is when the sink last wrote to it, by the sink's clock.
	touchedAt time.Time
	// receivedAt is the latest receipt of a record of it.
	receivedAt time.Time
	// since is the creation of the first span known, microseconds; 0 for none.
	since int64
	// lacking are the identifiers that a root does not name, naming those that
	// another span does (see promote.go); restored tells that neither is known.
	lacking, naming uint8
	restored        bool
	// whole tells that all that was written of the trace since version first is
	// in list and facts, which are parallel then. Facts are held until the trace
	// is settled.
	whole bool
	first uint64
	facts []facts

	recent, open *list.Element
}

// knownSpan is the stored version of a span.
type knownSpan struct {
	id        trace.SpanID
	traceType trace.Type
	hash      uint64
	version   uint64
	start     int64 // microseconds
	createdAt int64 // microseconds
	createdBy uuid.UUID
}

// longList is the number of spans from which one is found by an index.
const longList = 24

func newMemory(keep time.Duration) *memory {
	return &memory{keep: keep, traces: map[rows.TraceKey]*known{}, recent: list.New(), open: list.New()}
}

// trace gives what is known of a trace, nil for nothing.
func (m *memory) trace(key rows.TraceKey) *known { return m.traces[key] }

// touch makes a trace the latest and marks it unsettled.
func (m *memory) touch(key rows.TraceKey, touchedAt, receivedAt time.Time) *known {
	k := m.traces[key]
	if k == nil {
		k = &known{key: key, whole: true, first: math.MaxUint64}
		k.recent = m.recent.PushBack(k)
		m.traces[key] = k
	} else {
		m.recent.MoveToBack(k.recent)
	}
	if k.open == nil {
		k.open = m.open.PushBack(k)
	} else {
		m.open.MoveToBack(k.open)
	}
	k.touchedAt = touchedAt
	if receivedAt.After(k.receivedAt) {
		k.receivedAt = receivedAt
	}
	return k
}

// span gives what is known of a span.
func (k *known) span(id trace.SpanID) (*knownSpan, bool) {
	if k == nil {
		return nil, false
	}
	i, ok := k.find(id)
	if !ok {
		return nil, false
	}
	return &k.list[i], true
}

// find gives a span's place in list.
func (k *known) find(id trace.SpanID) (int, bool) {
	if k.index != nil {
		i, ok := k.index[id]
		return int(i), ok
	}
	i := slices.IndexFunc(k.list, func(s knownSpan) bool { return s.id == id })
	return i, i >= 0
}

// put remembers the stored version of a span.
func (m *memory) put(k *known, s knownSpan, f facts) {
	if k.since == 0 || s.createdAt < k.since {
		k.since = s.createdAt
	}
	k.first = min(k.first, s.version)
	if i, ok := k.find(s.id); ok {
		k.list[i] = s
		if k.whole {
			k.facts[i] = f
		}
		return
	}
	k.list = append(k.list, s)
	if k.whole {
		k.facts = append(k.facts, f)
	}
	m.spans++
	if k.index == nil {
		k.reindex()
		return
	}
	k.index[s.id] = int32(len(k.list) - 1) //nolint:gosec // a trace of more does not fit into memory
}

// reindex makes the index of a list, if that is long.
func (k *known) reindex() {
	k.index = nil
	if len(k.list) < longList {
		return
	}
	k.index = make(map[trace.SpanID]int32, 2*len(k.list))
	for i := range k.list {
		k.index[k.list[i].id] = int32(i)
	}
}

// drop forgets the spans of a trace, or only those given.
func (m *memory) drop(k *known, only map[trace.SpanID]bool) {
	if k == nil {
		return
	}
	kept := k.list[:0]
	for _, s := range k.list {
		if only != nil && !only[s.id] {
			kept = append(kept, s)
		}
	}
	m.spans -= len(k.list) - len(kept)
	k.list = kept
	k.reindex()
	k.facts = slices.DeleteFunc(k.facts, func(f facts) bool { return only == nil || only[f.id] })
	if only == nil {
		k.declared, k.linked, k.judging = 0, false, false
		k.whole, k.first = true, math.MaxUint64 // of what comes after
	}
}

// settled takes a trace off the open ones.
func (m *memory) settled(k *known) {
	k.whole, k.facts = false, nil
	if k.open != nil {
		m.open.Remove(k.open)
		k.open = nil
	}
}

// due gives open traces that were last touched before a time, oldest first, at most n.
func (m *memory) due(before time.Time, n int) []*known {
	var out []*known
	for e := m.open.Front(); e != nil && len(out) < n; e = e.Next() {
		k := element(e)
		if k.touchedAt.After(before) {
			break
		}
		out = append(out, k)
	}
	return out
}

// settledUntil is the time before which every touched trace is settled.
func (m *memory) settledUntil(now time.Time) time.Time {
	if e := m.open.Front(); e != nil {
		return element(e).touchedAt
	}
	return now
}

// trim forgets what is beyond the bounds, oldest first. receivedAt is that of
// the newest record: what a replay sees as well, unlike the clock. An open
// trace keeps its place among the open ones and loses its spans only.
func (m *memory) trim(receivedAt time.Time, maxSpans int) {
	for e := m.recent.Front(); e != nil; {
		k := element(e)
		if m.spans <= maxSpans && !k.receivedAt.Before(receivedAt.Add(-m.keep)) {
			return
		}
		next := e.Next()
		m.spans -= len(k.list)
		k.list, k.index, k.since = nil, nil, 0
		k.whole, k.facts = false, nil
		if k.open == nil {
			m.recent.Remove(e)
			delete(m.traces, k.key)
		}
		e = next
	}
}

func element(e *list.Element) *known {
	k, _ := e.Value.(*known)
	return k
}
