//go:build embedded

package sink_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// A span whose parent did not come is a root when its trace is finalized, with the session
// that its descendants name and with its trace in statistics, until the parent comes after
// all: from the cache, from ClickHouse, and after a restart.
func TestRootsFollowTheTrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.RollupEvery, h.sink.MaxClockSkew = 50*time.Millisecond, 10*time.Millisecond
	r := h.start()
	roots := func() []string {
		return h.strings("SELECT concat(span_name, ' ', session_id) FROM spans FINAL WHERE is_root ORDER BY span_name")
	}
	call := func(id, parent byte, start int64, session string) span {
		s := span{trace: 1, span: id, parent: parent, name: fmt.Sprint("s", id), start: start, attributes: map[string]any{"ag.type.span": "chat", "ag.metrics.unit.tokens.total": 5}}
		if session != "" {
			s.attributes["ag.session.id"] = session
		}
		return s
	}
	finalized := func(statistics string, want ...string) {
		t.Helper()
		h.eventually("the trace is finalized", func() bool {
			return one[uint64](h, "SELECT max(version) FROM trace_totals") > one[uint64](h, "SELECT max(last_version) FROM trace_index")
		})
		require.Equal(t, want, roots())
		require.Equal(t, one[uint64](h, "SELECT count() FROM spans FINAL"), one[uint64](h, "SELECT count() FROM spans"), "no row comes twice")
		h.eventually("statistics", func() bool {
			return one[string](h, `SELECT arrayStringConcat(groupArrayArray(arrayMap(x -> toString(x), tokens_total)), ' ') FROM (SELECT * FROM trace_metrics_1m FINAL WHERE project_id = ? ORDER BY minute)`, h.project.String()) == statistics
		})
	}
	h.send(h.record(stream.Upsert, 1, call(3, 2, 2, "s")))
	require.Empty(t, roots(), "its parent may come")
	finalized("5", "s3 s")
	require.Equal(t, "s3", one[string](h, "SELECT root_name FROM trace_totals FINAL WHERE one_tree = 1 AND tokens_total = 5"))
	h.send(h.record(stream.Upsert, 1, call(2, 1, -70_000, "")))
	finalized("10", "s2 s")
	r.stop()
	r = h.start()
	h.send(h.record(stream.Upsert, 1, call(5, 4, 3, "")))
	finalized("10 5", "s2 s", "s5 s")
	require.Zero(t, one[uint64](h, "SELECT count() FROM trace_totals FINAL WHERE one_tree = 1"))
	h.send(h.record(stream.Upsert, 1, call(1, 0, -140_000, "t"), call(4, 3, 2, "")))
	finalized("25", "s1 t")
	h.send(h.record(stream.Delete, 1, span{trace: 1, span: 2}))
	finalized("5 15", "s1 t", "s3 s")
	r.stop()
}
