package sink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
)

func TestOneTree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// in are pairs of a span's number and its parent's; 0 is none.
		in   [][2]byte
		want bool
	}{
		{"nothing", nil, false},
		{"a root", [][2]byte{{1, 0}}, true},
		{"a chain, the leaf first", [][2]byte{{3, 2}, {2, 1}, {1, 0}}, true},
		{"branches", [][2]byte{{1, 0}, {2, 1}, {3, 1}, {4, 2}, {5, 4}, {6, 5}}, true},
		{"two roots", [][2]byte{{1, 0}, {2, 0}}, false},
		{"no root", [][2]byte{{2, 1}}, false},
		{"an orphan", [][2]byte{{1, 0}, {3, 2}}, false},
		{"its own parent", [][2]byte{{1, 0}, {2, 2}}, false},
		{"a cycle beside the root", [][2]byte{{1, 0}, {2, 3}, {3, 4}, {4, 2}, {5, 1}}, false},
		{"below a cycle", [][2]byte{{1, 0}, {2, 3}, {3, 2}, {4, 2}}, false},
		{"no id", [][2]byte{{0, 0}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var edges []byte
			for _, e := range tt.in {
				for _, n := range e {
					var id trace.SpanID
					id[7] = n
					edges = append(edges, id[:]...)
				}
			}
			require.Equal(t, tt.want, oneTree(string(edges)))
		})
	}
}

func TestOneTreeIsQuickOnDeepTraces(t *testing.T) {
	t.Parallel()
	const n = 200_000
	edges := make([]byte, 0, n*edgeBytes)
	id := func(i int) (s trace.SpanID) {
		s[5], s[6], s[7] = byte(i>>16), byte(i>>8), byte(i)
		return s
	}
	for i := range n {
		a, b := id(i+1), id(i)
		edges = append(append(edges, a[:]...), b[:]...)
	}
	require.True(t, oneTree(string(edges)))
}
