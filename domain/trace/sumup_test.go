package trace_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			edges := make([]trace.Edge, len(tt.in))
			for i, e := range tt.in {
				edges[i] = trace.Edge{ID: trace.SpanID{7: e[0]}, Parent: trace.SpanID{7: e[1]}}
			}
			_, got := trace.SumUp(edges, make([][trace.MetricCount]float64, len(edges)))
			require.Equal(t, tt.want, got)
		})
	}
}

// SumUp gives what Cumulate writes, for every shape of trace and to the last bit.
func TestSumUpIsCumulate(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	paths, at := metricPaths(), metricAt
	for range 500 {
		n := 1 + r.IntN(40)
		all, edges, own := make([]*trace.Span, n), make([]trace.Edge, n), make([][trace.MetricCount]float64, n)
		for i := range n {
			s := &trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(n + 2))}, Start: int64(r.IntN(5)), Attributes: map[string]any{}}
			for k, path := range paths {
				own[i][k] = math.NaN()
				switch r.IntN(3) {
				case 0:
					own[i][k] = float64(r.IntN(1000))
					set(s.Attributes, at(path, "incremental"), int64(own[i][k]))
				case 1:
					own[i][k] = r.NormFloat64()
					set(s.Attributes, at(path, "incremental"), own[i][k])
				default: // none
				}
			}
			all[i], edges[i] = s, trace.Edge{ID: s.SpanID, Parent: s.ParentID, Start: s.Start}
		}
		trace.Cumulate(all)
		want := make([][trace.MetricCount]float64, n)
		for i, s := range all {
			for k, path := range paths {
				switch v, _ := trace.Lookup(s.Attributes, at(path, "cumulative")); v := v.(type) {
				case int64:
					want[i][k] = float64(v)
				case float64:
					want[i][k] = v
				}
			}
		}
		got, _ := trace.SumUp(edges, own)
		require.Empty(t, cmp.Diff(want, got))
	}
}

// SetCumulative writes into a span what Cumulate does of its whole trace; whole
// numbers of errors and tokens stay whole.
func TestSetCumulative(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		n := 1 + r.IntN(12)
		all, alone, edges, own := make([]*trace.Span, n), make([]*trace.Span, n), make([]trace.Edge, n), make([][trace.MetricCount]float64, n)
		for i := range n {
			span := func() *trace.Span {
				return &trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(i + 1))}, Attributes: map[string]any{}}
			}
			all[i], alone[i] = span(), span()
			alone[i].ParentID = all[i].ParentID
			for k, path := range metricPaths() {
				own[i][k] = math.NaN()
				if r.IntN(3) == 0 {
					continue
				}
				value := any(int64(r.IntN(5) - 2)) // many cancel each other out
				own[i][k] = float64(value.(int64))
				if path[0] == "costs" {
					value = own[i][k]
				}
				for _, s := range []*trace.Span{all[i], alone[i]} {
					set(s.Attributes, metricAt(path, "incremental"), value)
					set(s.Attributes, metricAt(path, "cumulative"), "sent")
				}
			}
			edges[i] = trace.Edge{ID: all[i].SpanID, Parent: all[i].ParentID}
		}
		trace.Cumulate(all)
		sums, _ := trace.SumUp(edges, own)
		for i := range n {
			for k, v := range sums[i] {
				if v == 0 && own[i][k] != 0 {
					sums[i][k] = math.NaN() // as the sink says it
				}
			}
			trace.SetCumulative(alone[i], sums[i])
			require.Empty(t, cmp.Diff(all[i], alone[i]))
		}
	}
	s := &trace.Span{}
	trace.SetCumulative(s, [trace.MetricCount]float64{0, 2.5, 1 << 53, 3, 4, math.NaN(), 0})
	require.Equal(t, map[string]any{"ag": map[string]any{"metrics": map[string]any{
		"tokens": map[string]any{"cumulative": map[string]any{"prompt": 2.5, "completion": float64(1 << 53), "total": int64(3)}},
		"costs":  map[string]any{"cumulative": map[string]any{"prompt": 4.0}},
	}}}, s.Attributes)
}

// metricPaths are the metrics in the order of SumUp.
func metricPaths() [trace.MetricCount][]string {
	return [...][]string{{"errors"}, {"tokens", "prompt"}, {"tokens", "completion"}, {"tokens", "total"}, {"costs", "prompt"}, {"costs", "completion"}, {"costs", "total"}}
}

func metricAt(path []string, kind string) []string {
	return append([]string{"ag", "metrics", path[0], kind}, path[1:]...)
}

func set(at map[string]any, keys []string, value any) {
	for _, k := range keys[:len(keys)-1] {
		next, ok := at[k].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[k] = next
		}
		at = next
	}
	at[keys[len(keys)-1]] = value
}
