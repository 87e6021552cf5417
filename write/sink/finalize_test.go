//go:build embedded

package sink_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// A trace that is stored is in the index at every moment, also while settling
// corrects what the index says of it: a lookup by id never misses it.
func TestIndexIsNeverWithoutATrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.start()
	const index = "SELECT count() FROM trace_index WHERE trace_id = unhex('01000000000000000000000000000001')"
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a", links: []byte{9}}))
	ctx, cancel := context.WithCancel(t.Context())
	missed := make(chan int, 1) // the reader's one answer
	go func() {
		n := 0
		for ctx.Err() == nil {
			var rows uint64
			if err := h.conn.QueryRow(ctx, index).Scan(&rows); err == nil && rows == 0 {
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

// sums is what the store says that spans sum of tokens: their row in span_cumulative, or what is their own.
func (h *fixture) sums() []string {
	return h.strings(`SELECT concat(span_name, '=', toString(if(has, sum, own))) FROM (
		SELECT span_name, tokens_total AS own, start_time, sort_hash FROM spans FINAL
	) AS s LEFT JOIN (SELECT start_time, sort_hash, true AS has, tokens_total AS sum FROM span_cumulative FINAL) AS m USING (start_time, sort_hash) ORDER BY span_name`)
}

// What spans sum follows the trace, whatever comes later: other spans, other
// parents, edits, deletes; from memory, from the store, and after a restart.
func TestSumsFollowTheTrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	r := h.start()
	tokens := func(id, parent byte, start int64, n int) span {
		return span{trace: 1, span: id, parent: parent, name: fmt.Sprint("s", id), start: start, attributes: map[string]any{"ag.type.span": "chat", "ag.metrics.unit.tokens.total": n}}
	}
	finalized := func(want ...string) {
		t.Helper()
		h.eventually("the trace is finalized", func() bool {
			return one[uint64](h, "SELECT max(version) FROM trace_totals") > one[uint64](h, "SELECT max(last_version) FROM trace_index") && len(h.sums()) == len(want)
		})
		require.Equal(t, want, h.sums())
	}
	h.send(h.record(stream.Upsert, 1, tokens(1, 0, 0, 0), tokens(2, 1, 1, 5), tokens(3, 2, 2, 7)))
	finalized("s1=12", "s2=12", "s3=7")
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM span_cumulative"), "leaves need no row")
	require.NotZero(t, r.count(t, "colonnade_sink_finalize_source_traces_total"))
	h.send(h.record(stream.Upsert, 1, tokens(4, 3, 3, 100)))
	finalized("s1=112", "s2=112", "s3=107", "s4=100")
	h.send(h.record(stream.Upsert, 1, tokens(4, 1, 3, 100)))
	finalized("s1=112", "s2=12", "s3=7", "s4=100")

	r.stop()
	h.start()
	h.send(h.record(stream.Upsert, 1, tokens(5, 4, 4, 1), tokens(3, 2, 50, 7)))
	finalized("s1=113", "s2=12", "s3=7", "s4=101", "s5=1")
	h.send(h.record(stream.Delete, 1, span{trace: 1, span: 3}, span{trace: 1, span: 5}))
	finalized("s1=105", "s2=5", "s4=100")
	edit := h.record(stream.Edit, 1, tokens(4, 2, 9, 10))
	edit.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	h.send(edit)
	finalized("s1=15", "s2=15", "s4=10")
	h.send(h.record(stream.Edit, 1, tokens(1, 0, 0, 3), tokens(6, 1, 0, 4)))
	finalized("s1=7", "s6=4")
	require.InDelta(t, 7, one[float64](h, "SELECT tokens_total FROM trace_totals FINAL"), 0)
	h.send(h.record(stream.Delete, 1))
	require.Zero(t, one[uint64](h, "SELECT count() FROM span_cumulative"))
	require.Zero(t, one[uint64](h, "SELECT count() FROM trace_totals"))
}

// Minutes follow what roots show: retries, replacements, moves in time, edits
// and deletes; a minute that lost spans says so at once.
func TestMinutesFollowTheRoots(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.RollupEvery, h.sink.MaxClockSkew = 50*time.Millisecond, 10*time.Millisecond
	h.start()
	tokens := func(n, id, parent byte, start int64, tokens int) stream.Record {
		return h.record(stream.Upsert, n, span{trace: n, span: id, parent: parent, name: "s", start: start, attributes: map[string]any{"ag.type.span": "chat", "ag.metrics.unit.tokens.total": tokens}})
	}
	minutes := func(want string) {
		t.Helper()
		h.eventually(want, func() bool {
			return one[string](h, `SELECT arrayStringConcat(arraySort(groupArrayArray(arrayMap(x -> toString(x), tokens_total))), ' ') || if(max(needs_rebuild), ' needs_rebuild', '') || if(max(undecided) > 0, ' undecided', '')
				FROM trace_metrics_1m FINAL WHERE project_id = ? HAVING sum(roots) = length(groupArrayArray(duration))`, h.project.String()) == want
		})
	}
	first := tokens(1, 1, 0, 0, 5)
	h.send(first)
	h.send(first, tokens(2, 1, 0, 1, 7))
	minutes("5 7")
	h.send(tokens(1, 2, 1, 70_000, 100)) // in another minute than its root
	minutes("105 7")
	h.send(tokens(2, 1, 0, -120_000, 8))
	minutes("105 8")
	h.send(h.record(stream.Delete, 1, span{trace: 1, span: 2}))
	minutes("5 8")
	h.send(h.record(stream.Edit, 2, span{trace: 2, span: 1, name: "s", start: 9}))
	minutes("5")
	h.send(h.record(stream.Delete, 1))
	minutes("")
}
