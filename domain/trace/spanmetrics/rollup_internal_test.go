package spanmetrics

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// numbers returns the metrics of prompt and completion tokens, prompt and completion
// costs, and errors; totals are the sums of their parts.
func numbers(prompt, completion, costPrompt, costCompletion, errors float64) metrics {
	return metricsOf(&[Count]float64{errors, prompt, completion, prompt + completion, costPrompt, costCompletion, costPrompt + costCompletion})
}

func usageOf(prompt, completion int64) usage {
	return usage{jsonvalue.Number{Int: prompt}, jsonvalue.Number{Int: completion}}
}

func TestCumulativeOfOneSpan(t *testing.T) {
	t.Parallel()
	calls := below{sums: numbers(2400, 160, 1, 2, 0), calls: usageOf(2400, 160), hasCall: true}
	with := func(b below, change func(*below)) below {
		change(&b)
		return b
	}
	alone, other := 10|statusAlone, Failure(10)
	for _, tt := range []struct {
		name   string
		traits Traits
		own    metrics
		below  below
		want   metrics
		calls  usage
	}{
		{"a call alone", Traits{Type: trace.Chat}, numbers(1200, 80, 1, 2, 0), below{}, numbers(1200, 80, 1, 2, 0), usageOf(1200, 80)},
		{"an agent alone", Traits{Type: trace.Agent}, numbers(1200, 80, 1, 2, 0), below{}, numbers(1200, 80, 1, 2, 0), usage{}},
		{"an agent that reports nothing", Traits{Type: trace.Agent}, metrics{}, calls, calls.sums, calls.calls},
		{"an agent that repeats its calls", Traits{Type: trace.Agent}, numbers(2400, 160, 1, 2, 0), calls, calls.sums, calls.calls},
		{"a span without a type that reports less", Traits{}, numbers(1200, 80, 0.5, 1, 0), calls, calls.sums, calls.calls},
		{"a workflow that reports more", Traits{Type: trace.Workflow}, numbers(3000, 200, 2, 3, 0), calls, numbers(3000, 200, 2, 3, 0), calls.calls},
		{"a tool that reports more of one part", Traits{Type: trace.Tool}, numbers(3000, 1, 0, 0, 0), calls, numbers(3000, 160, 1, 2, 0), calls.calls},
		{"a query over calls", Traits{Type: trace.QueryType}, numbers(7, 0, 0, 0, 0), calls, calls.sums, calls.calls},
		{"a rerank over calls", Traits{Type: trace.Rerank}, numbers(7, 0, 0, 0, 0), calls, calls.sums, calls.calls},
		{"a call with other calls below", Traits{Type: trace.Chat}, numbers(1200, 80, 1, 2, 0), calls, numbers(3600, 240, 2, 4, 0), usageOf(3600, 240)},
		{"a call below that has the same counts", Traits{Type: trace.Chat}, numbers(2400, 160, 9, 9, 0), calls, calls.sums, calls.calls},
		{"a call below that has the same prompt alone", Traits{Type: trace.LLM}, numbers(2400, 161, 0, 0, 0), calls, numbers(4800, 321, 1, 2, 0), usageOf(4800, 321)},
		{
			"no call below, the same counts",
			Traits{Type: trace.Completion},
			numbers(2400, 160, 1, 2, 0), with(calls, func(b *below) { b.hasCall, b.calls = false, usage{} }),
			numbers(4800, 320, 2, 4, 0), usageOf(2400, 160),
		},
		{
			"the same response",
			Traits{Type: trace.Chat, Response: 5},
			numbers(1000, 50, 9, 9, 0), with(calls, func(b *below) { b.sameResponse = true }),
			calls.sums, calls.calls,
		},
		{
			"the same response, and no usage below",
			Traits{Type: trace.Chat, Response: 5},
			numbers(1000, 50, 1, 2, 0),
			below{hasCall: true, sameResponse: true},
			numbers(1000, 50, 1, 2, 0), usageOf(1000, 50),
		},
		{
			"the same embedding",
			Traits{Type: trace.Embedding},
			numbers(12, 0, 1, 0, 0),
			below{sums: numbers(12, 0, 1, 0, 0), calls: usageOf(12, 0), hasCall: true},
			numbers(12, 0, 1, 0, 0), usageOf(12, 0),
		},
		{
			"calls without usage are not alike",
			Traits{Type: trace.Chat},
			numbers(0, 0, 1, 2, 0),
			below{sums: numbers(0, 0, 1, 2, 0), hasCall: true},
			numbers(0, 0, 2, 4, 0),
			usage{},
		},
		{"errors add up", Traits{Type: trace.Agent}, numbers(0, 0, 0, 0, 1), below{sums: numbers(0, 0, 0, 0, 2), sameFailure: true}, numbers(0, 0, 0, 0, 3), usage{}},
		{"the error of a call below reaches the status", Traits{Failure: alone}, numbers(0, 0, 0, 0, 1), below{sums: numbers(0, 0, 0, 0, 2), sameFailure: true}, numbers(0, 0, 0, 0, 2), usage{}},
		{"another error below", Traits{Failure: alone}, numbers(0, 0, 0, 0, 1), below{sums: numbers(0, 0, 0, 0, 2)}, numbers(0, 0, 0, 0, 3), usage{}},
		{"an exception of its own", Traits{Failure: other}, numbers(0, 0, 0, 0, 1), below{sums: numbers(0, 0, 0, 0, 2), sameFailure: true}, numbers(0, 0, 0, 0, 3), usage{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sums, calls := cumulative(tt.traits, &tt.own, &tt.below)
			require.Equal(t, tt.want.floats(), sums.floats())
			require.Equal(t, tt.calls, calls)
		})
	}
}

// A total that comes without its parts stands as long as neither is known.
func TestTotalWithoutParts(t *testing.T) {
	t.Parallel()
	alone := metrics{tokens: [partCount]jsonvalue.Number{total: {Int: 7}}}
	sums, _ := cumulative(Traits{Type: trace.Chat}, &alone, &below{sums: alone})
	require.Equal(t, [Count]float64{3: 14}, sums.floats())
	sums, _ = cumulative(Traits{Type: trace.Chat}, &alone, &below{sums: numbers(1, 2, 0, 0, 0)})
	require.Equal(t, [Count]float64{1: 1, 2: 2, 3: 3}, sums.floats())
}
