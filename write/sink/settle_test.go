//go:build embedded

package sink_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// A trace that is stored is in the index at every moment, also while settling
// corrects what the index says of it: a lookup by id never misses it.
func TestIndexIsNeverWithoutATrace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	h.start()
	const index = "SELECT count() FROM trace_index WHERE trace_id = unhex('01000000000000000000000000000001')"
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a", links: []byte{9}}))
	ctx, cancel := context.WithCancel(t.Context())
	missed := make(chan int, 1) // the reader's one answer
	go func() {
		n := 0
		for ctx.Err() == nil {
			var rows uint64
			if err := h.conn.QueryRow(t.Context(), index).Scan(&rows); err == nil && rows == 0 {
				n++
			}
		}
		missed <- n
	}()
	for i := range 12 {
		edited := span{trace: 1, span: 1, name: "a"}
		if i%2 == 1 {
			edited.links = []byte{9}
		}
		h.send(h.record(stream.Edit, 1, edited))
	}
	cancel()
	require.Zero(t, <-missed)
}
