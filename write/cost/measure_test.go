package cost_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"
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
		{"an event, another name", start, []trace.Event{{Name: "x"}}, object{"duration": object{}, "errors": object{"incremental": int64(0)}}},
		{"two exceptions", start, []trace.Event{{Name: "exception"}, {Name: "x"}, {Name: "exception"}}, object{"duration": object{}, "errors": object{"incremental": int64(2)}}},
	}
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := object{"duration": object{}, "errors": object{}}
			cost.Incremental(&trace.Span{Start: start, End: tt.end, Events: tt.events}, object{}, got, prices, cost.Sender{})
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
	model := func(name string) object { return object{"meta": object{"response": object{"model": name}}} }
	tests := []struct {
		name   string
		typ    trace.SpanType
		ag     object
		tokens object
		client object
		want   object
	}{
		{
			"prompt and completion", trace.Chat, model("gpt-4o"),
			object{"prompt": int64(1000), "completion": int64(200)},
			nil,
			object{"prompt": 0.0025, "completion": 0.002, "total": 0.0045},
		},
		{
			"cached tokens are priced once", trace.Chat, model("gpt-4o"),
			object{"prompt": int64(1000), "completion": int64(0), "cache_read": int64(400)},
			nil,
			object{"prompt": 0.002, "completion": 0.0, "total": 0.002}, // 600 at 2.50 and 400 at 1.25
		},
		{
			"cached is another word for them", trace.Chat, model("gpt-4o"),
			object{"prompt": int64(1000), "completion": int64(0), "cached": 400.0},
			nil,
			object{"prompt": 0.002, "completion": 0.0, "total": 0.002},
		},
		{
			"negative and non-numeric counts are ignored", trace.Chat, model("gpt-4o"),
			object{"prompt": int64(1000), "cache_read": int64(-5), "cached": "many"},
			nil,
			object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025},
		},
		{
			"tokens written to a cache", trace.Chat, model("claude-sonnet-4-5"),
			object{"prompt": int64(3000), "completion": int64(100), "cache_read": int64(1000), "cache_creation": int64(1000)},
			nil,
			object{"prompt": 0.00705, "completion": 0.0015, "total": 0.00855}, // 1000 at 3, 1000 at 0.30, 1000 at 3.75
		},
		{
			"a prompt counted without its cache", trace.Chat, model("claude-sonnet-4-5"),
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
			"the client's cost is replaced, its other names stay", trace.Chat, model("gpt-4o"),
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
		{"no tokens", trace.Chat, model("gpt-4o"), nil, object{"total": 9.0}, object{"total": 9.0}},
		{"no model", trace.Chat, object{}, object{"prompt": int64(1000)}, nil, nil},
		{"an agent has no cost of its own", trace.Agent, model("gpt-4o"), object{"prompt": int64(1000)}, nil, nil},
		{"an llm span is priced", trace.LLM, model("gpt-4o"), object{"prompt": int64(1000)}, nil, object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025}},
		{"nor one without a type", 0, model("gpt-4o"), object{"prompt": int64(1000)}, nil, nil},
	}
	prices, err := cost.LoadPrices(cost.DefaultConfig())
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
			cost.Incremental(&trace.Span{SpanType: tt.typ}, tt.ag, got, prices, cost.Sender{})
			own, _ := costs["incremental"].(object)
			if diff := cmp.Diff(tt.want, own, cmpopts.EquateApprox(1e-12, 0), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("costs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	require.Contains(t, prices.Source(), "litellm")
	require.Regexp(t, `^\d{4}-\d{2}-\d{2}$`, prices.Date())
	_, _, ok := prices.Of("", "mistral-large-latest")
	require.False(t, ok, "the table has it under its provider only")
	_, _, ok = prices.Of("mistral_ai", "mistral-large-latest")
	require.True(t, ok)
	_, _, ok = prices.Of("openai", "no-such-model")
	require.False(t, ok)
}

// TestNamesOfModels is the lookup of contract §0 row 38, each name with its entry.
func TestNamesOfModels(t *testing.T) {
	t.Parallel()
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	for _, tt := range []struct{ provider, model, want string }{
		{"", "gpt-4o", "gpt-4o"},
		{"", "GPT-4o", "gpt-4o"},
		{"", "some-gateway/openai/gpt-4o", "gpt-4o"},
		{"", "ft:gpt-4o-mini-2024-07-18:acme::abc", "ft:gpt-4o-mini-2024-07-18"},
		{"", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"},
		{"", "claude-sonnet-4.5-20250929", "claude-sonnet-4-5-20250929"},
		{"", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"},
		{"", "claude-sonnet-4-5-20991231", "claude-sonnet-4-5"},
		{"", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"", "gpt-4o-mini-2099-01-01", "gpt-4o-mini"},
		{"", "none-such", ""},
		{"", "", ""},
	} {
		for range 2 { // once more from what is remembered
			_, entry, ok := prices.Of(tt.provider, tt.model)
			require.Equal(t, tt.want, entry, tt.model)
			require.Equal(t, tt.want != "", ok, tt.model)
		}
	}
	price, _, ok := prices.Of("", "claude-3-5-sonnet-20240620-v1:0")
	require.True(t, ok)
	require.InDelta(t, 3e-6, *price.Prompt, 1e-12)
}

// TestSenders is contract §0 rows 32, 36, 37 and 38: the tokens that a sender
// gives in one reckoning or the other, what it reports, and what is made of them.
func TestSenders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, model string
		tokens      object
		sender      cost.Sender
		wantTokens  object
		want        object
		source      object
	}{
		{
			"only a prompt", "text-embedding-3-small",
			object{"prompt": int64(12)},
			cost.Sender{},
			object{"prompt": int64(12), "total": int64(12)},
			object{"prompt": 2.4e-7, "completion": 0.0, "total": 2.4e-7},
			nil,
		},
		{
			"the total is that of the parts", "gpt-4o",
			object{"prompt": int64(10), "completion": int64(5), "total": int64(99)},
			cost.Sender{},
			object{"prompt": int64(10), "completion": int64(5), "total": int64(15)},
			object{"prompt": 2.5e-5, "completion": 5e-5, "total": 7.5e-5},
			nil,
		},
		{
			"cache beside the prompt, seen by the total", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
			object{"prompt": int64(4299), "completion": int64(631), "total": int64(58291), "cache_read": int64(35574), "cache_creation": int64(17787)},
			cost.Sender{},
			object{"prompt": int64(57660), "completion": int64(631), "total": int64(58291), "cache_read": int64(35574), "cache_creation": int64(17787)},
			object{"prompt": 4299*3.3e-6 + 35574*0.33e-6 + 17787*4.125e-6, "completion": 631 * 16.5e-6, "total": 4299*3.3e-6 + 35574*0.33e-6 + 17787*4.125e-6 + 631*16.5e-6},
			nil,
		},
		{
			"cache beside the prompt, known of the sender", "claude-sonnet-4-5",
			object{"prompt": int64(2000), "completion": int64(80), "total": int64(2080), "cache_read": int64(1024), "cache_creation": int64(300)},
			cost.Sender{DisjointUsage: true},
			object{"prompt": int64(3324), "completion": int64(80), "total": int64(3404), "cache_read": int64(1024), "cache_creation": int64(300)},
			object{"prompt": 0.0074322, "completion": 0.0012, "total": 0.0086322},
			nil,
		},
		{
			"cache within the prompt", "claude-sonnet-4-5",
			object{"prompt": int64(3324), "completion": int64(80), "cache_read": int64(1024), "cache_creation": int64(300)},
			cost.Sender{},
			object{"prompt": int64(3324), "completion": int64(80), "total": int64(3404), "cache_read": int64(1024), "cache_creation": int64(300)},
			object{"prompt": 0.0074322, "completion": 0.0012, "total": 0.0086322},
			nil,
		},
		{
			"reasoning beside the completion", "gemini-2.5-flash",
			object{"prompt": int64(1000), "completion": int64(200), "reasoning": int64(800), "total": int64(2000)},
			cost.Sender{},
			object{"prompt": int64(1000), "completion": int64(1000), "reasoning": int64(800), "total": int64(2000)},
			object{"prompt": 0.0003, "completion": 0.0025, "total": 0.0028},
			nil,
		},
		{
			"reasoning within the completion", "gpt-4o-mini",
			object{"prompt": int64(1200), "completion": int64(80), "reasoning": int64(40), "cache_read": int64(1024), "total": int64(1280)},
			cost.Sender{},
			object{"prompt": int64(1200), "completion": int64(80), "reasoning": int64(40), "cache_read": int64(1024), "total": int64(1280)},
			object{"prompt": 0.0001032, "completion": 0.000048, "total": 0.0001512},
			nil,
		},
		{
			"a tier for long contexts", "gemini-2.5-pro",
			object{"prompt": int64(300_000), "completion": int64(10_000)},
			cost.Sender{},
			object{"prompt": int64(300_000), "completion": int64(10_000), "total": int64(310_000)},
			object{"prompt": 0.75, "completion": 0.15, "total": 0.90},
			nil,
		},
		{
			"just below it", "gemini-2.5-pro",
			object{"prompt": int64(200_000)},
			cost.Sender{},
			object{"prompt": int64(200_000), "total": int64(200_000)},
			object{"prompt": 0.25, "completion": 0.0, "total": 0.25},
			nil,
		},
		{
			"a reported cost wins over the table", "gpt-4o",
			object{"prompt": int64(10), "completion": int64(5)},
			cost.Sender{Reported: map[string]float64{"prompt": 0.001, "completion": 0.002}},
			object{"prompt": int64(10), "completion": int64(5), "total": int64(15)},
			object{"prompt": 0.001, "completion": 0.002, "total": 0.003},
			object{"source": "reported"},
		},
		{
			"a reported cost of an unknown model, a total alone", "ours-1",
			object{"prompt": int64(10), "completion": int64(5)},
			cost.Sender{Reported: map[string]float64{"total": 0.0123}},
			object{"prompt": int64(10), "completion": int64(5), "total": int64(15)},
			object{"prompt": 0.0123, "completion": 0.0, "total": 0.0123},
			object{"source": "reported"},
		},
		{
			"a reported cost of zero does not count", "gpt-4o",
			object{"prompt": int64(1000)},
			cost.Sender{Reported: map[string]float64{"total": 0}},
			object{"prompt": int64(1000), "total": int64(1000)},
			object{"prompt": 0.0025, "completion": 0.0, "total": 0.0025},
			object{"reported": object{"total": 0.0}, "source": "table", "version": "2026-11-29", "entry": "gpt-4o"},
		},
		{
			"nor does a negative one", "ours-1",
			object{"prompt": int64(1000)},
			cost.Sender{Reported: map[string]float64{"total": -1}},
			object{"prompt": int64(1000), "total": int64(1000)},
			nil,
			object{"reported": object{"total": -1.0}},
		},
	}
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ag := object{"meta": object{"response": object{"model": tt.model}}}
			costs := object{}
			cost.Incremental(&trace.Span{SpanType: trace.Chat}, ag, metrics(object{"incremental": tt.tokens}, costs), prices, tt.sender)
			require.Empty(t, cmp.Diff(tt.wantTokens, tt.tokens), "tokens")
			own, _ := costs["incremental"].(object)
			require.Empty(t, cmp.Diff(tt.want, own, cmpopts.EquateApprox(1e-12, 1e-15), cmpopts.EquateEmpty()), "costs")
			if tt.source != nil {
				meta, _ := ag["meta"].(object)
				require.Empty(t, cmp.Diff(tt.source, meta["cost"]), "source")
			}
		})
	}
}

// TestPreference checks which cost counts where both are known. Source: contract §0 row 36.
func TestPreference(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prefer, model string
		reported            map[string]float64
		want                float64
		source              object
	}{
		{"reported, both known", cost.PreferReported, "gpt-4o", map[string]float64{"total": 9}, 9, object{"source": "reported"}},
		{"table, both known", cost.PreferTable, "gpt-4o", map[string]float64{"total": 9}, 0.0025, object{"source": "table", "version": "2026-11-29", "entry": "gpt-4o", "reported": object{"total": 9.0}}},
		{"table, the model is unknown", cost.PreferTable, "ours-1", map[string]float64{"total": 9}, 9, object{"source": "reported"}},
		{"table, none reported", cost.PreferTable, "gpt-4o", nil, 0.0025, object{"source": "table", "version": "2026-11-29", "entry": "gpt-4o"}},
		{"table, neither known", cost.PreferTable, "ours-1", map[string]float64{"total": -1}, 0, object{"reported": object{"total": -1.0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prices, err := cost.LoadPrices(cost.Config{Prefer: tt.prefer})
			require.NoError(t, err)
			ag := object{"meta": object{"response": object{"model": tt.model}}}
			costs := object{}
			cost.Incremental(&trace.Span{SpanType: trace.Chat}, ag, metrics(object{"incremental": object{"prompt": int64(1000)}}, costs), prices, cost.Sender{Reported: tt.reported})
			own, _ := costs["incremental"].(object)
			total, _ := own["total"].(float64)
			require.InDelta(t, tt.want, total, 1e-12)
			require.Empty(t, cmp.Diff(tt.source, ag["meta"].(object)["cost"]))
		})
	}
	require.Error(t, cost.Config{Prefer: "cheapest"}.Validate())
}

// A span that is normalized again, as an edit does, keeps the cost that its sender reported.
func TestAnEditKeepsTheReportedCost(t *testing.T) {
	t.Parallel()
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	ag := object{"meta": object{"response": object{"model": "gpt-4o"}}}
	costs := object{}
	for _, sender := range []cost.Sender{{Reported: map[string]float64{"total": 9}}, {}} {
		cost.Incremental(&trace.Span{SpanType: trace.Chat}, ag, metrics(object{"incremental": object{"prompt": int64(1000)}}, costs), prices, sender)
		require.Empty(t, cmp.Diff(object{"incremental": object{"prompt": 9.0, "completion": 0.0, "total": 9.0}}, costs))
	}
}

// TestSpansWithoutAPrice counts the calls of models that the table does not have.
func TestSpansWithoutAPrice(t *testing.T) {
	t.Parallel()
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	for _, model := range []string{"ours-2", "gpt-4o", "ours-3"} {
		ag := object{"meta": object{"response": object{"model": model}}}
		cost.Incremental(&trace.Span{SpanType: trace.Chat}, ag, metrics(object{"incremental": object{"prompt": int64(1)}}, object{}), prices, cost.Sender{})
	}
	require.InDelta(t, 2, testutil.ToFloat64(prices.Collector()), 0)
}

func BenchmarkPriceLookup(b *testing.B) {
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := prices.Of("openai", "gpt-4o"); !ok {
			b.Fatal("no price")
		}
	}
}
