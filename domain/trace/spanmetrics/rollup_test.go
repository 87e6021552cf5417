package spanmetrics_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
)

// sample makes traces whose wrappers report nothing: span 0 is the root, a wrapper, and
// each other span lies below an earlier one. Calls have usage and cost, no two alike.
type sample struct{ *rand.Rand }

func (g sample) trace() []spanmetrics.Incremental {
	out := make([]spanmetrics.Incremental, 2+g.IntN(30))
	for i := range out {
		s := &out[i]
		s.ID, s.Start = trace.SpanID{byte(i + 1)}, int64(g.IntN(5))
		s.Metrics = nothing()
		s.Type = trace.Agent
		if i == 0 {
			continue
		}
		s.Parent = out[g.IntN(i)].ID
		if g.IntN(2) == 0 {
			s.Type = []trace.SpanType{trace.Chat, trace.LLM, trace.Completion, trace.Embedding}[g.IntN(4)]
			s.Metrics = counts(float64(1+i<<g.IntN(8)), float64(1+g.IntN(1000)))
		} else {
			s.Type = []trace.SpanType{0, trace.Task, trace.Workflow, trace.Chain, trace.Tool, trace.QueryType, trace.Rerank}[g.IntN(7)]
		}
	}
	return out
}

func nothing() (m [spanmetrics.Count]float64) {
	for k := range m {
		m[k] = math.NaN()
	}
	return m
}

// counts are the metrics of a call; its cost is in powers of two, so that sums are exact.
func counts(prompt, completion float64) [spanmetrics.Count]float64 {
	return [...]float64{math.NaN(), prompt, completion, prompt + completion, prompt / 1024, completion / 256, prompt/1024 + completion/256}
}

// wrappers are the positions of the spans that are no calls.
func wrappers(spans []spanmetrics.Incremental) (out []int) {
	for i := range spans {
		if !spans[i].Type.IsModelCall() {
			out = append(out, i)
		}
	}
	return out
}

func root(spans []spanmetrics.Incremental) [spanmetrics.Count]float64 {
	return spanmetrics.Sum(spans).Spans[0]
}

// A call of the sample may have, by chance, the usage of all calls below it; then it is
// the same call for the rule as well, and these tests hold all the same.
func TestWrappersNeverCountTwice(t *testing.T) {
	t.Parallel()
	g := sample{rand.New(rand.NewPCG(32, 1))}
	for range 300 {
		spans := g.trace()
		want := spanmetrics.Sum(spans).Spans
		for _, i := range wrappers(spans) {
			switch g.IntN(3) {
			case 0: // repeats
				spans[i].Metrics = want[i]
			case 1: // reports less, part by part
				for k := 1; k < spanmetrics.Count; k++ {
					if g.IntN(3) > 0 {
						spans[i].Metrics[k] = math.Floor(want[i][k] * g.Float64())
					}
				}
			}
			spans[i].Metrics[0] = math.NaN()
		}
		require.Equal(t, want, spanmetrics.Sum(spans).Spans)
	}
}

func TestAWrapperThatReportsMoreRaisesTheRoot(t *testing.T) {
	t.Parallel()
	g := sample{rand.New(rand.NewPCG(32, 2))}
	for range 300 {
		spans := g.trace()
		before := spanmetrics.Sum(spans).Spans
		all := wrappers(spans)
		i := all[g.IntN(len(all))]
		more := counts(float64(1+g.IntN(1000)), float64(1+g.IntN(1000)))
		want := before[0]
		for k := 1; k < spanmetrics.Count; k++ {
			spans[i].Metrics[k] = before[i][k] + more[k]
			want[k] += more[k]
		}
		after := spanmetrics.Sum(spans).Spans
		require.Equal(t, spans[i].Metrics[1:], after[i][1:], "what it reports")
		require.Equal(t, want, after[0])
	}
}

func TestACallInsideAnotherCounts(t *testing.T) {
	t.Parallel()
	g := sample{rand.New(rand.NewPCG(32, 3))}
	for range 300 {
		inner := g.trace()
		inner = append(inner, spanmetrics.Incremental{
			Edge: trace.Edge{ID: trace.SpanID{200}, Parent: inner[0].ID}, Traits: spanmetrics.Traits{Type: trace.Chat, Response: 7}, Metrics: counts(5, 6),
		})
		below := root(inner)
		around := func(outer spanmetrics.Incremental) [spanmetrics.Count]float64 {
			outer.ID, outer.Type = trace.SpanID{201}, trace.Chat
			spans := append([]spanmetrics.Incremental{outer}, inner...)
			spans[1].Parent = outer.ID
			return root(spans)
		}
		own := counts(float64(1+g.IntN(1<<20)), float64(1+g.IntN(1<<20)))
		require.Equal(t, below, around(spanmetrics.Incremental{Traits: spanmetrics.Traits{Response: 7}, Metrics: own}), "the same response")
		require.Equal(t, below, around(spanmetrics.Incremental{Traits: spanmetrics.Traits{Response: 8}, Metrics: counts(below[1], below[2])}), "the same usage in total")
		want := below
		for k := 1; k < spanmetrics.Count; k++ {
			want[k] += own[k]
		}
		if own[1] != below[1] || own[2] != below[2] {
			require.Equal(t, want, around(spanmetrics.Incremental{Traits: spanmetrics.Traits{Response: 8}, Metrics: own}), "another call")
		}
	}
}

// Neither the order of spans, nor which of them came first, nor what a span of another
// tree says changes a sum.
func TestOrderChangesNothing(t *testing.T) {
	t.Parallel()
	g := sample{rand.New(rand.NewPCG(32, 4))}
	for range 300 {
		spans := g.trace()
		for i := range spans {
			if g.IntN(4) == 0 {
				spans[i].Metrics = counts(float64(g.IntN(50)), float64(g.IntN(50)))
			}
			if g.IntN(3) == 0 {
				spans[i].Metrics[0] = float64(1 + g.IntN(2))
				spans[i].Failure = spanmetrics.Failure(2 + g.IntN(4))
			}
			spans[i].Response = uint64(g.IntN(4))
			for k := 4; k < spanmetrics.Count; k++ {
				spans[i].Metrics[k] *= 0.1 // whose sums depend on the order of adding
			}
		}
		want := spanmetrics.Sum(spans)
		byID := map[trace.SpanID][spanmetrics.Count]float64{}
		for i := range spans {
			byID[spans[i].ID] = want.Spans[i]
		}
		g.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		got := spanmetrics.Sum(spans)
		require.Equal(t, want.Totals, got.Totals)
		for i := range spans {
			require.Equal(t, byID[spans[i].ID], got.Spans[i])
		}
	}
}

// On every span and on the trace, tokens are prompt and completion in total.
func TestTotalsAreTheirParts(t *testing.T) {
	t.Parallel()
	g := sample{rand.New(rand.NewPCG(32, 5))}
	for range 300 {
		spans := g.trace()
		for i := range spans {
			spans[i].Parent[1] = byte(g.IntN(5) / 4) // a foreign parent
			if g.IntN(3) == 0 {
				spans[i].Metrics[1+g.IntN(3)] = float64(g.IntN(2000))
			}
		}
		sums := spanmetrics.Sum(spans)
		for _, s := range append(sums.Spans, sums.Totals) {
			if s[1] != 0 || s[2] != 0 {
				require.InDelta(t, s[1]+s[2], s[3], 0)
			}
		}
	}
}

// The error of one call is one error, although each span above it says that it failed.
func TestAFailureCountsOnce(t *testing.T) {
	t.Parallel()
	failed := func(name, message string, events ...trace.Event) trace.Span {
		s := spansOf(t, name)[0]
		s.Status, s.StatusMessage, s.Events = trace.StatusError, message, events
		metrics(t, &s, `{"errors":{"incremental":1}}`)
		return s
	}
	exception := trace.Event{Name: "exception"}
	for _, tt := range []struct {
		name string
		in   []trace.Span
		want int64
	}{
		{"a status on the way up", []trace.Span{failed("root:1:0:1", "timed out"), failed("chain:2:1:2", "timed out"), failed("chat:3:2:3", "timed out")}, 1},
		{"of an exception", []trace.Span{failed("root:1:0:1", "timed out"), failed("chat:3:1:3", "timed out", exception)}, 1},
		{"past a span that did not fail", []trace.Span{failed("root:1:0:1", "timed out"), spansOf(t, "chain:2:1:2")[0], failed("chat:3:2:3", "timed out")}, 1},
		{"without a message", []trace.Span{failed("root:1:0:1", ""), failed("chat:3:1:3", "")}, 1},
		{"two calls", []trace.Span{failed("root:1:0:1", "timed out"), failed("chat:2:1:3", "timed out"), failed("chat:3:1:3", "timed out")}, 2},
		{"another message", []trace.Span{failed("root:1:0:1", "agent failed"), failed("chat:3:1:3", "timed out")}, 2},
		{"exceptions on the way up", []trace.Span{failed("root:1:0:1", "timed out", exception), failed("chat:3:1:3", "timed out", exception)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := make([]*trace.Span, len(tt.in))
			for i := range tt.in {
				all[i] = &tt.in[i]
			}
			spanmetrics.Cumulate(all)
			require.Equal(t, tt.want, lookup(t, all[0], "errors", "cumulative"))
		})
	}
}

// Senders whose wrappers repeat their calls. Source: the numbers of the providers.
func TestSendersThatWrapTheirCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		spans      string
		types      []trace.SpanType
		tokens     [][2]int
		responses  []string
		prompt     int64
		completion int64
	}{
		{
			"an agent with the sum of four calls", "agent:1:0:1 llm:2:1:2 llm:3:1:3 llm:4:1:4 llm:5:1:5",
			[]trace.SpanType{trace.Agent, trace.Chat, trace.Chat, trace.Chat, trace.Chat},
			[][2]int{{29000, 899}, {3000, 31}, {4300, 121}, {10500, 209}, {11200, 538}},
			nil, 29000, 899,
		},
		{"generateText over doGenerate", "generateText:1:0:1 doGenerate:2:1:2 doGenerate:3:1:3", []trace.SpanType{trace.Chain, trace.Chat, trace.Chat}, [][2]int{{2400, 160}, {1200, 80}, {1200, 80}}, nil, 2400, 160},
		{"embed over doEmbed", "embed:1:0:1 doEmbed:2:1:2", []trace.SpanType{trace.Embedding, trace.Embedding}, [][2]int{{12, 0}, {12, 0}}, nil, 12, 0},
		{"one call recorded by two libraries", "chain:1:0:1 messages:2:1:2 create:3:2:3", []trace.SpanType{trace.Chain, trace.Chat, trace.Chat}, [][2]int{{}, {3324, 80}, {3324, 80}}, nil, 3324, 80},
		{"one call counted differently", "messages:2:0:2 create:3:2:3", []trace.SpanType{trace.Chat, trace.Chat}, [][2]int{{3324, 80}, {2000, 80}}, []string{"msg_1", "msg_1"}, 2000, 80},
		{"a call that a call needed", "messages:2:0:2 create:3:2:3", []trace.SpanType{trace.Chat, trace.Chat}, [][2]int{{100, 10}, {50, 5}}, []string{"msg_1", "msg_2"}, 150, 15},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := spansOf(t, tt.spans)
			all := make([]*trace.Span, len(in))
			for i := range in {
				all[i], in[i].SpanType = &in[i], tt.types[i]
				if n := tt.tokens[i]; n[0] != 0 {
					set(in[i].Attributes, metricAt([]string{"tokens", "prompt"}, "incremental"), int64(n[0]))
					set(in[i].Attributes, metricAt([]string{"tokens", "completion"}, "incremental"), int64(n[1]))
					set(in[i].Attributes, metricAt([]string{"tokens", "total"}, "incremental"), int64(n[0]+n[1]))
				}
				if tt.responses != nil {
					set(in[i].Attributes, []string{"ag", "meta", "response", "id"}, tt.responses[i])
				}
			}
			spanmetrics.Cumulate(all)
			require.Equal(t, tt.prompt, lookup(t, all[0], "tokens", "cumulative", "prompt"))
			require.Equal(t, tt.prompt+tt.completion, lookup(t, all[0], "tokens", "cumulative", "total"))
		})
	}
}

// lookup returns a whole number among the metrics of a span.
func lookup(t *testing.T, s *trace.Span, keys ...string) int64 {
	t.Helper()
	v, _ := jsonvalue.Lookup(s.Attributes, append([]string{"ag", "metrics"}, keys...))
	n, ok := v.(int64)
	require.True(t, ok, "%v", v)
	return n
}
