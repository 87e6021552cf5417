package recent

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/write/sink/rows"
)

// A long trace is looked up by an index at all times: who looks up each of its
// spans would else be busy for minutes.
func TestLongTracesHaveAnIndex(t *testing.T) {
	t.Parallel()
	const spans = 10 * longList
	id := func(n uint64) (id trace.SpanID) {
		binary.BigEndian.PutUint64(id[:], n)
		return id
	}
	m := New(time.Hour)
	k := m.Touch(rows.TraceKey{}, time.Time{}, time.Time{})
	for n := range uint64(spans) {
		m.Put(k, Span{ID: id(n), Version: n}, SpanMetrics{ID: id(n)})
	}
	require.Len(t, k.index, spans)
	m.Drop(k, map[trace.SpanID]bool{id(3): true, id(spans - 1): true})
	require.Len(t, k.index, spans-2, "also when some went")
	for n := range uint64(spans) {
		s, ok := k.Span(id(n))
		require.Equal(t, n != 3 && n != spans-1, ok, n)
		if ok {
			require.Equal(t, n, s.Version)
		}
	}
	before := NewTrace(rows.TraceKey{}, k.Spans)
	require.Len(t, before.index, spans-2, "and what is read of the store")
	m.Drop(k, nil)
	require.Empty(t, k.index)
}
