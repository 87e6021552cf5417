//go:build embedded

package sink_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// A stored trace is in trace_index at every moment, also while what the index
// says of it is mended: readers find its spans by it, and so does a sink that
// starts again.
func TestTheIndexIsNeverWithoutATrace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	h.start()
	linked, alone := span{trace: 1, span: 1, name: "a", links: []byte{9}}, span{trace: 1, span: 1, name: "a"}
	h.send(h.record(stream.Upsert, 1, linked))

	stop, missing, looks := make(chan struct{}), 0, 0
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var rows uint64
			if err := h.conn.QueryRow(t.Context(), "SELECT count() FROM trace_index").Scan(&rows); err != nil {
				t.Error(err)
				return
			}
			looks++
			if rows == 0 {
				missing++
			}
		}
	})
	annotation := func() uint8 { return one[uint8](h, "SELECT max(is_annotation) FROM trace_index") }
	const rounds = 5
	for range rounds {
		h.send(h.record(stream.Upsert, 1, alone))
		h.eventually("the index no longer says that the trace annotates", func() bool { return annotation() == 0 })
		h.send(h.record(stream.Upsert, 1, linked))
		require.Equal(t, uint8(1), annotation())
	}
	close(stop)
	looking.Wait()
	require.Greater(t, looks, rounds)
	require.Zero(t, missing, "of %d looks", looks)
	h.send(h.record(stream.Delete, 1))
	require.Zero(t, one[uint64](h, "SELECT count() FROM trace_index"))
}
