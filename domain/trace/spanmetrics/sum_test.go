package spanmetrics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/domain/trace/tracejson"
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
		{"one orphan", [][2]byte{{2, 1}}, true},
		{"below an orphan", [][2]byte{{3, 2}, {2, 1}, {4, 2}}, true},
		{"an orphan beside the root", [][2]byte{{1, 0}, {3, 2}}, false},
		{"its own parent", [][2]byte{{1, 0}, {2, 2}}, false},
		{"a cycle beside the root", [][2]byte{{1, 0}, {2, 3}, {3, 4}, {4, 2}, {5, 1}}, false},
		{"below a cycle", [][2]byte{{1, 0}, {2, 3}, {3, 2}, {4, 2}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := make([]spanmetrics.Incremental, len(tt.in))
			for i, e := range tt.in {
				in[i].Edge = trace.Edge{ID: trace.SpanID{7: e[0]}, Parent: trace.SpanID{7: e[1]}}
			}
			require.Equal(t, tt.want, len(spanmetrics.Sum(in).Tops) == 1)
		})
	}
}

// Sum gives what Cumulate writes, for every shape of trace and to the last bit.
func TestSumEqualsCumulate(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	paths, at := metricPaths(), metricAt
	for range 500 {
		n := 1 + r.IntN(40)
		all, own := make([]*trace.Span, n), make([]spanmetrics.Incremental, n)
		for i := range n {
			s := &trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(n + 2))}, Start: int64(r.IntN(5)), Attributes: map[string]any{}}
			characterize(r, s)
			for k, path := range paths {
				own[i].Metrics[k] = math.NaN()
				switch r.IntN(3) {
				case 0:
					own[i].Metrics[k] = float64(r.IntN(1000))
					set(s.Attributes, at(path, "incremental"), int64(own[i].Metrics[k]))
				case 1:
					own[i].Metrics[k] = r.NormFloat64()
					set(s.Attributes, at(path, "incremental"), own[i].Metrics[k])
				default: // none
				}
			}
			all[i], own[i].Edge, own[i].Traits = s, trace.EdgeOf(s), spanmetrics.TraitsOf(s)
		}
		spanmetrics.Cumulate(all)
		want := make([][spanmetrics.Count]float64, n)
		for i, s := range all {
			for k, path := range paths {
				switch v, _ := jsonvalue.Lookup(s.Attributes, at(path, "cumulative")); v := v.(type) {
				case int64:
					want[i][k] = float64(v)
				case float64:
					want[i][k] = v
				}
			}
		}
		require.Empty(t, cmp.Diff(want, spanmetrics.Sum(own).Spans))
	}
}

// characterize gives a span what the roll-up reads beside metrics.
func characterize(r *rand.Rand, s *trace.Span) {
	types := []trace.SpanType{0, trace.Agent, trace.Tool, trace.Chat, trace.Chat, trace.Embedding}
	s.SpanType = types[r.IntN(len(types))]
	if r.IntN(3) == 0 {
		set(s.Attributes, []string{"ag", "meta", "response", "id"}, string(rune('a'+r.IntN(4))))
	}
	if r.IntN(3) == 0 {
		s.Status, s.StatusMessage = trace.StatusError, string(rune('a'+r.IntN(2)))
		if r.IntN(3) == 0 {
			s.Events = []trace.Event{{Name: "exception"}}
		}
	}
}

// SetCumulative writes into a span what Cumulate does of its whole trace; whole
// numbers of errors and tokens stay whole.
func TestSetCumulative(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		n := 1 + r.IntN(12)
		all, alone, own := make([]*trace.Span, n), make([]*trace.Span, n), make([]spanmetrics.Incremental, n)
		for i := range n {
			span := func() *trace.Span {
				return &trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(i + 1))}, SpanType: trace.Chat, Attributes: map[string]any{}}
			}
			all[i], alone[i] = span(), span()
			alone[i].ParentID = all[i].ParentID
			for k, path := range metricPaths() {
				own[i].Metrics[k] = math.NaN()
				if r.IntN(3) == 0 {
					continue
				}
				value := any(int64(r.IntN(5) - 2)) // many cancel each other out
				own[i].Metrics[k] = float64(value.(int64))
				if path[0] == "costs" {
					value = own[i].Metrics[k]
				}
				for _, s := range []*trace.Span{all[i], alone[i]} {
					set(s.Attributes, metricAt(path, "incremental"), value)
					set(s.Attributes, metricAt(path, "cumulative"), "sent")
				}
			}
			own[i].Edge, own[i].Traits = trace.EdgeOf(all[i]), spanmetrics.TraitsOf(all[i])
		}
		spanmetrics.Cumulate(all)
		sums := spanmetrics.Sum(own).Spans
		for i := range n {
			for k, v := range sums[i] {
				if v == 0 && own[i].Metrics[k] != 0 {
					sums[i][k] = math.NaN() // as the sink says it
				}
			}
			spanmetrics.SetCumulative(alone[i], sums[i])
			require.Empty(t, cmp.Diff(all[i], alone[i]))
		}
	}
	s := &trace.Span{}
	spanmetrics.SetCumulative(s, [spanmetrics.Count]float64{0, 2.5, 1 << 53, 3, 4, math.NaN(), 0})
	require.Equal(t, map[string]any{"ag": map[string]any{"metrics": map[string]any{
		"tokens": map[string]any{"cumulative": map[string]any{"prompt": 2.5, "completion": float64(1 << 53), "total": int64(3)}},
		"costs":  map[string]any{"cumulative": map[string]any{"prompt": 4.0}},
	}}}, s.Attributes)
}

// A cost that a client sent as a whole number stays one.
func TestSetCumulativeOfItsOwn(t *testing.T) {
	t.Parallel()
	s := &trace.Span{Attributes: map[string]any{}}
	set(s.Attributes, metricAt([]string{"costs", "total"}, "incremental"), int64(4))
	spanmetrics.SetCumulative(s, [spanmetrics.Count]float64{6: 4})
	got, _ := jsonvalue.Lookup(s.Attributes, metricAt([]string{"costs", "total"}, "cumulative"))
	require.Equal(t, int64(4), got)
}

// metricPaths are the metrics in the order of Sum.
func metricPaths() [spanmetrics.Count][]string {
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

// CumulateAmong writes into some spans what Cumulate does beside all the others.
func TestCumulateAmong(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		n := 1 + r.IntN(40)
		all := make([]*trace.Span, n)
		var some []*trace.Span
		var others []spanmetrics.Incremental
		chosen := map[int]*trace.Span{}
		for i := range n {
			span := func() *trace.Span {
				return &trace.Span{SpanID: trace.SpanID{byte(i + 1)}, Start: int64(i % 7), Attributes: map[string]any{}}
			}
			one, other := span(), span()
			one.ParentID = trace.SpanID{byte(r.IntN(n + 2))}
			characterize(r, one)
			other.ParentID, other.SpanType, other.Status, other.StatusMessage, other.Events = one.ParentID, one.SpanType, one.Status, one.StatusMessage, one.Events
			if id, ok := jsonvalue.Lookup(one.Attributes, []string{"ag", "meta", "response", "id"}); ok {
				set(other.Attributes, []string{"ag", "meta", "response", "id"}, id)
			}
			own := spanmetrics.Incremental{Edge: trace.EdgeOf(one), Traits: spanmetrics.TraitsOf(one)}
			for k, path := range metricPaths() {
				own.Metrics[k] = math.NaN()
				var value any
				switch r.IntN(4) {
				case 0:
					continue
				case 1:
					value = float64(r.IntN(3)) // a cost that could be whole
				default:
					value = int64(r.IntN(1000))
				}
				if path[0] != "costs" { // of which a document says a whole number as one
					value = int64(r.IntN(1000))
				} else if whole, is := value.(int64); is {
					value = float64(whole) + .5
				}
				if v, is := value.(int64); is {
					own.Metrics[k] = float64(v)
				} else {
					own.Metrics[k] = value.(float64)
				}
				set(one.Attributes, metricAt(path, "incremental"), value)
				set(other.Attributes, metricAt(path, "incremental"), value)
			}
			all[i] = one
			if r.IntN(3) == 0 {
				some, chosen[i] = append(some, other), other
			} else {
				others = append(others, own)
			}
		}
		spanmetrics.Cumulate(all)
		spanmetrics.CumulateAmong(some, others)
		for i, got := range chosen {
			require.Empty(t, cmp.Diff(all[i], got))
		}
	}
}

// Where something else stands than an object, it stays, and so does what is documents.
func TestCumulateLeavesWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	const own = `{"incremental":{"total":2}}`
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `{}`, `{}`},
		{"no tokens", `{"ag":{"metrics":{"costs":{}}}}`, `{"ag":{"metrics":{"costs":{}}}}`},
		{"tokens", `{"ag":{"metrics":{"tokens":` + own + `}}}`, `{"ag":{"metrics":{"tokens":{"cumulative":{"total":2},"incremental":{"total":2}}}}}`},
		{"a text in the way", `{"ag":{"metrics":{"tokens":{"cumulative":"much","incremental":{"total":2}}}}}`, `{"ag":{"metrics":{"tokens":{"cumulative":"much","incremental":{"total":2}}}}}`},
		{"what a client sent", `{"ag":{"metrics":{"tokens":{"cumulative":{"prompt":7,"total":9},"incremental":{"total":2}}}}}`, `{"ag":{"metrics":{"tokens":{"cumulative":{"prompt":7,"total":2},"incremental":{"total":2}}}}}`},
		{"numbers of other things", `{"ag":{"metrics":{"errors":3,"tokens":[1],"costs":{"incremental":{"total":"2"}}}}}`, `{"ag":{"metrics":{"costs":{"incremental":{"total":"2"}},"errors":3,"tokens":[1]}}}`},
		{"errors", `{"ag":{"metrics":{"errors":{"incremental":1}}}}`, `{"ag":{"metrics":{"errors":{"cumulative":1,"incremental":1}}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attributes, err := tracejson.ParseAttributes(tt.in)
			require.NoError(t, err)
			for range 2 { // once more changes nothing
				spanmetrics.Cumulate([]*trace.Span{{SpanID: trace.SpanID{1}, Attributes: attributes}})
				require.Empty(t, cmp.Diff(tt.want, string(jsonvalue.Append(nil, attributes))))
			}
		})
	}
	unread := map[string]any{"ag": map[string]any{"metrics": map[string]any{"tokens": jsonvalue.Raw(own)}}}
	spanmetrics.Cumulate([]*trace.Span{{SpanID: trace.SpanID{1}, Attributes: unread}})
	require.Empty(t, cmp.Diff(`{"ag":{"metrics":{"tokens":{"cumulative":{"total":2},"incremental":{"total":2}}}}}`, string(jsonvalue.Append(nil, unread))))
}

// A span without attributes gets none for a sum of zero.
func TestCumulateOfNothing(t *testing.T) {
	t.Parallel()
	leaf := &trace.Span{SpanID: trace.SpanID{2}, ParentID: trace.SpanID{1}, Attributes: map[string]any{}}
	set(leaf.Attributes, metricAt([]string{"costs", "total"}, "incremental"), 0.)
	root := &trace.Span{SpanID: trace.SpanID{1}}
	spanmetrics.Cumulate([]*trace.Span{root, leaf})
	require.Nil(t, root.Attributes)
}

// BenchmarkCumulateAmong sums what three spans of a page do among twenty of their trace.
func BenchmarkCumulateAmong(b *testing.B) {
	metrics := func() map[string]any {
		return map[string]any{"ag": map[string]any{"metrics": map[string]any{
			"tokens": map[string]any{"incremental": map[string]any{"prompt": int64(500), "completion": int64(60), "total": int64(560)}},
			"costs":  map[string]any{"incremental": map[string]any{"prompt": .1, "completion": .2, "total": .3}},
		}}}
	}
	var spans []*trace.Span
	var others []spanmetrics.Incremental
	for i := range 20 {
		edge := trace.Edge{ID: trace.SpanID{byte(i + 1)}, Parent: trace.SpanID{byte(i / 2)}, Start: int64(i)}
		if i%7 == 0 {
			spans = append(spans, &trace.Span{SpanID: edge.ID, ParentID: edge.Parent, Start: edge.Start, Attributes: metrics()})
			continue
		}
		others = append(others, spanmetrics.Incremental{Edge: edge, Traits: spanmetrics.Traits{Type: trace.Chat}, Metrics: [spanmetrics.Count]float64{math.NaN(), 500, 60, 560, .1, .2, .3}})
	}
	b.ReportAllocs()
	for b.Loop() {
		spanmetrics.CumulateAmong(spans, others)
	}
}
