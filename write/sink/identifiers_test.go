//go:build embedded

package sink_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// A root that names no session, user or agent has that of the first span below
// it, in whatever requests and order they come.
func TestIdentifiersArePromotedAcrossBatches(t *testing.T) {
	t.Parallel()
	root := span{trace: 1, span: 1, name: "root"}
	named := span{trace: 1, span: 1, name: "root", attributes: map[string]any{"ag.session.id": "own"}}
	first := span{trace: 1, span: 2, parent: 1, start: 1, name: "first", attributes: map[string]any{"ag.session.id": "s1", "ag.user.id": "u1"}}
	second := span{trace: 1, span: 3, parent: 1, start: 2, name: "second", attributes: map[string]any{"ag.session.id": "s2", "ag.agent.id": "a2"}}
	tests := []struct {
		name    string
		batches [][]span
		want    string
		// forgetful workers know nothing of the batches before.
		forgetful bool
	}{
		{"root first", [][]span{{root}, {first}, {second}}, "s1 u1 a2", false},
		{"root last", [][]span{{second}, {first}, {root}}, "s1 u1 a2", false},
		{"the earlier span last", [][]span{{root}, {second}, {first}}, "s1 u1 a2", false},
		{"its own stands", [][]span{{named}, {first}}, "own u1 ", false},
		{"root first, forgotten", [][]span{{root}, {first}, {second}}, "s1 u1 a2", true},
		{"root last, forgotten", [][]span{{second}, {first}, {root}}, "s1 u1 a2", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, 1)
			finalized := func() uint64 {
				return one[uint64](h, "SELECT toUInt64(sum(spans)) FROM trace_totals FINAL WHERE trace_id = unhex('01000000000000000000000000000001')")
			}
			r := h.start()
			for i, spans := range tt.batches {
				if tt.forgetful {
					r.stop()
					h.sink.RecentSpans = 1
					r = h.start()
					for n := byte(100); n < 103; n++ {
						h.send(h.record(stream.Upsert, n, span{trace: n, span: byte(i) + 1, name: "other"}))
					}
				}
				h.send(h.record(stream.Upsert, 1, spans...))
				h.eventually("finalized", func() bool { return finalized() == uint64(i+1) })
			}
			h.eventually("promoted", func() bool {
				return one[string](h, "SELECT concat(session_id, ' ', user_id, ' ', agent_id) FROM spans WHERE parent_id = toFixedString('', 8) AND span_name = 'root'") == tt.want
			})
			require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM spans WHERE span_name = 'root' AND has(search_terms, concat('@session=', session_id)) AND has(search_terms, concat('@user=', user_id))"))
			require.Equal(t, uint64(len(tt.batches)), one[uint64](h, "SELECT count() FROM spans WHERE trace_id = unhex('01000000000000000000000000000001')"))
			require.Zero(t, one[uint64](h, "SELECT count() FROM spans WHERE parent_id != toFixedString('', 8) AND session_id != ''"), "of roots alone")
		})
	}
}
