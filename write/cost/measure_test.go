package cost_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/write/cost"
)

type object = map[string]any

func metrics(tokens, costs object) object {
	return object{"duration": object{}, "errors": object{}, "tokens": tokens, "costs": costs}
}

func TestDurationAndErrors(t *testing.T) {
	t.Parallel()
	const start = 1_700_000_000_000_000_000
	tests := []struct {
		name   string
		end    int64
		events []trace.Event
		want   object
	}{
		{"nothing took place", start, nil, object{"duration": object{}, "errors": object{}}},
		{"the clock went back", start - 1, nil, object{"duration": object{}, "errors": object{}}},
		{"three decimals of a millisecond", start + 1_234_567, nil, object{"duration": object{"cumulative": 1.235}, "errors": object{}}},
		{"below half a microsecond is nothing", start + 499, nil, object{"duration": object{}, "errors": object{}}},
		{"events without an exception", start, []trace.Event{{Name: "log"}}, object{"duration": object{}, "errors": object{"incremental": int64(0)}}},
		{"two exceptions", start, []trace.Event{{Name: "exception"}, {Name: "x"}, {Name: "exception"}}, object{"duration": object{}, "errors": object{"incremental": int64(2)}}},
	}
	prices, err := cost.LoadPrices()
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := object{"duration": object{}, "errors": object{}}
			cost.Incremental(&trace.Span{Start: start, End: tt.end, Events: tt.events}, object{}, got, prices)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCosts checks hand-computed costs. The rates, in dollars per million
// tokens: gpt-4o 2.50 / 10 (cached 1.25); claude-sonnet-4-5 3 / 15 (cached
// 0.30, written 3.75); text-embedding-3-small 0.02.
func TestCosts(t *testing.T) {
	t.Parallel()
	gpt := object{"meta": object{"response": object{"model": "gpt-4o"}}}
	claude := object{"meta": object{"response": object{"model": "claude-sonnet-4-5"}}}
	tests := []struct {
		name   string
		typ    trace.SpanType
		ag     object
		tokens object
		client object
		want   object
	}{
		{
			"prompt and completion", trace.Chat, gpt,
			object{"prompt": int64(1000), "completion": int64(200)},
			nil,
			object{"prompt": 0.0025, "completion": 0.002, "total": 0.0045},
		},
		{
			"cached tokens are priced once", trace.Chat, gpt,
			object{"prompt": int64(1000), "completion": int64(0), "cache_read": int64(400)},
			nil,
			object{"prompt": 0.002, "completion": 0.0, "total": 0.002}, // 600 at 2.50 and 400 at 1.25
		},
		{
			"cached is another word for them", trace.Chat, gpt,
			object{"prompt": int64(1000), "completion": int64(0), "cached": 400.0},
			nil,
			object{"prompt": 0.002, "completion": 0.0, "total": 0.002},
		},
		{
			"negative and non-numeric counts are ignored", trace.Chat, gpt,
			object{"prompt": int64(1000), "cache_read": int64(-5), "cached": "many"},
			nil,
			object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025},
		},
		{
			"tokens written to a cache", trace.Chat, claude,
			object{"prompt": int64(3000), "completion": int64(100), "cache_read": int64(1000), "cache_creation": int64(1000)},
			nil,
			object{"prompt": 0.00705, "completion": 0.0015, "total": 0.00855}, // 1000 at 3, 1000 at 0.30, 1000 at 3.75
		},
		{
			"a prompt counted without its cache", trace.Chat, claude,
			object{"prompt": int64(10), "completion": int64(0), "cache_read": int64(1000)},
			nil,
			object{"prompt": 0.00033, "completion": 0.0, "total": 0.00033}, // 10 at 3 and 1000 at 0.30
		},
		{
			"the configured model", trace.Completion,
			object{"data": object{"parameters": object{"model": "gpt-4o"}}},
			object{"prompt": int64(1000)},
			nil,
			object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025},
		},
		{
			"the model asked for", trace.Embedding,
			object{"meta": object{"request": object{"model": "text-embedding-3-small"}}},
			object{"prompt": int64(1_000_000)},
			nil,
			object{"prompt": 0.02, "completion": 0.0, "total": 0.02},
		},
		{
			"a prefix and capitals", trace.Chat,
			object{"meta": object{"response": object{"model": "some-gateway/OpenAI/GPT-4o"}}},
			object{"prompt": int64(1000)},
			nil,
			object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025},
		},
		{
			"the client's cost is replaced, its other names stay", trace.Chat, gpt,
			object{"prompt": int64(1000)},
			object{"total": 9.0, "audio": 1.0},
			object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025, "audio": 1.0},
		},
		{
			"an unknown model: the client's cost stands", trace.Chat,
			object{"meta": object{"response": object{"model": "ours-1"}}},
			object{"prompt": int64(1000)},
			object{"total": 9.0},
			object{"total": 9.0},
		},
		{"no tokens", trace.Chat, gpt, nil, object{"total": 9.0}, object{"total": 9.0}},
		{"no model", trace.Chat, object{}, object{"prompt": int64(1000)}, nil, nil},
		{"an agent has no cost of its own", trace.Agent, gpt, object{"prompt": int64(1000)}, nil, nil},
		{"nor has an llm span", trace.LLM, gpt, object{"prompt": int64(1000)}, nil, nil},
		{"nor one without a type", 0, gpt, object{"prompt": int64(1000)}, nil, nil},
	}
	prices, err := cost.LoadPrices()
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tokens, costs := object{}, object{}
			if tt.tokens != nil {
				tokens["incremental"] = tt.tokens
			}
			if tt.client != nil {
				costs["incremental"] = tt.client
			}
			got := metrics(tokens, costs)
			cost.Incremental(&trace.Span{SpanType: tt.typ}, tt.ag, got, prices)
			own, _ := costs["incremental"].(object)
			if diff := cmp.Diff(tt.want, own, cmpopts.EquateApprox(1e-12, 0), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("costs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	prices, err := cost.LoadPrices()
	require.NoError(t, err)
	require.Contains(t, prices.Source(), "litellm")
	require.Regexp(t, `^\d{4}-\d{2}-\d{2}$`, prices.Date())
	_, ok := prices.Of("", "mistral-large-latest")
	require.False(t, ok, "the table has it under its provider only")
	_, ok = prices.Of("mistral_ai", "mistral-large-latest")
	require.True(t, ok)
	_, ok = prices.Of("openai", "no-such-model")
	require.False(t, ok)
}

func BenchmarkPriceLookup(b *testing.B) {
	prices, err := cost.LoadPrices()
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := prices.Of("openai", "gpt-4o"); !ok {
			b.Fatal("no price")
		}
	}
}
