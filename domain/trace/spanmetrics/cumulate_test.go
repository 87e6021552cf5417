package spanmetrics_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
)

// spansOf returns a span for each word name:id:parent:start: "a:1:0:5" is span 1, a root, that starts at 5.
func spansOf(t *testing.T, words string) []trace.Span {
	t.Helper()
	var out []trace.Span
	for word := range strings.FieldsSeq(words) {
		f := strings.Split(word, ":")
		out = append(out, trace.Span{
			TraceID: trace.TraceID{1}, Name: f[0], SpanID: trace.SpanID{f[1][0] - '0'}, ParentID: trace.SpanID{f[2][0] - '0'}, Start: int64(f[3][0] - '0'),
			Attributes: map[string]any{},
		})
	}
	return out
}

func metrics(t *testing.T, s *trace.Span, text string) {
	t.Helper()
	m, err := jsonvalue.Parse([]byte(text))
	require.NoError(t, err)
	s.Attributes = map[string]any{"ag": map[string]any{"metrics": m}}
}

func TestCumulate(t *testing.T) {
	t.Parallel()
	in := spansOf(t, "root:1:0:1 chain:2:1:2 chat:3:2:3 chat:4:2:1 orphan:5:9:4 idle:6:1:5")
	in[2].SpanType, in[3].SpanType = trace.Chat, trace.Chat
	metrics(t, &in[0], `{"tokens":{"cumulative":{"total":999,"prompt":7,"cached":4}},"costs":{}}`)
	metrics(t, &in[2], `{"tokens":{"incremental":{"prompt":10,"completion":5,"total":15}},"costs":{"incremental":{"total":0.25}},"errors":{"incremental":1}}`)
	metrics(t, &in[3], `{"tokens":{"incremental":{"completion":2.5,"total":2.5}},"costs":{"incremental":{"total":0.5}},"errors":{"incremental":0}}`)
	metrics(t, &in[4], `{"tokens":{"incremental":{"total":100}}}`)
	metrics(t, &in[5], `{"tokens":{"cumulative":{"total":3}}}`)
	all := make([]*trace.Span, 0, len(in))
	for i := range in {
		all = append(all, &in[i])
	}
	spanmetrics.Cumulate(all)
	want := []string{
		`{"costs":{"cumulative":{"total":0.75}},"errors":{"cumulative":1},"tokens":{"cumulative":{"cached":4,"completion":7.5,"prompt":10,"total":17.5}}}`,
		`{"costs":{"cumulative":{"total":0.75}},"errors":{"cumulative":1},"tokens":{"cumulative":{"completion":7.5,"prompt":10,"total":17.5}}}`,
		`{"costs":{"cumulative":{"total":0.25},"incremental":{"total":0.25}},"errors":{"cumulative":1,"incremental":1},"tokens":{"cumulative":{"completion":5,"prompt":10,"total":15},"incremental":{"completion":5,"prompt":10,"total":15}}}`,
		`{"costs":{"cumulative":{"total":0.5},"incremental":{"total":0.5}},"errors":{"incremental":0},"tokens":{"cumulative":{"completion":2.5,"total":2.5},"incremental":{"completion":2.5,"total":2.5}}}`,
		`{"tokens":{"cumulative":{"total":100},"incremental":{"total":100}}}`,
		`{"tokens":{"cumulative":{"total":3}}}`,
	}
	for i, w := range want {
		got, _ := jsonvalue.Lookup(in[i].Attributes, []string{"ag", "metrics"})
		if diff := cmp.Diff(w, string(jsonvalue.Append(nil, got))); diff != "" {
			t.Errorf("metrics of span %d (-want +got):\n%s", i, diff)
		}
	}
}

// Whatever the shape of the trace, its roots together hold the sum of all model calls.
func TestCumulateLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(40)
		in := make([]trace.Span, n)
		all := make([]*trace.Span, n)
		for i := range in {
			in[i] = trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(n + 2))}, SpanType: trace.Chat, Start: int64(r.IntN(5))}
			metrics(t, &in[i], `{"tokens":{"incremental":{"total":1}}}`)
			all[i] = &in[i]
		}
		spanmetrics.Cumulate(all)
		var sum int64
		for _, root := range trace.BuildTree(in) {
			v, _ := jsonvalue.Lookup(root.Span.Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
			whole, ok := v.(int64)
			require.True(t, ok)
			sum += whole
		}
		require.Equal(t, int64(n), sum)
	}
}
