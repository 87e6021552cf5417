package trace_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
)

// spans reads "name id parent start" per word: "a:1:0:5" is span 1, a root, starting at 5.
func spans(t *testing.T, words string) []trace.Span {
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

// shape writes a tree as a(b c(d)).
func shape(nodes []*trace.Node) string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		s := n.Span.Name
		if len(n.Children) > 0 {
			s += "(" + shape(n.Children) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestBuildTree(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"in order of start", "b:2:1:3 c:3:1:2 a:1:0:1 d:4:3:4", "a(c(d) b)"},
		{"a child before its parent", "a:1:0:5 b:2:1:1", "a(b)"},
		{"an orphan is a root", "a:1:0:1 b:2:9:2 c:3:2:3", "a b(c)"},
		{"several roots", "b:2:0:2 a:1:0:1", "a b"},
		{"its own parent", "a:1:1:1 b:2:1:2", "a(b)"},
		{"a cycle begins at its earliest span", "a:1:3:2 b:2:1:1 c:3:2:3 d:4:3:4", "b(c(a d))"},
		{"a cycle beside a root", "r:5:0:1 a:1:2:2 b:2:1:3 c:3:1:4", "r a(b c)"},
		{"two of one id", "a:1:0:2 a:1:0:1 b:2:1:3", "a(b) a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, shape(trace.BuildTree(spans(t, tt.in))))
		})
	}
}

func TestAppendTrace(t *testing.T) {
	t.Parallel()
	text := trace.AppendTrace(nil, trace.TraceID{1}, trace.BuildTree(spans(t, "a:1:0:1 b:2:1:2 b:3:1:3 c:4:1:4 a:5:0:5")))
	type node struct {
		SpanID string                     `json:"span_id"`
		Spans  map[string]json.RawMessage `json:"spans"`
	}
	var got struct {
		TraceID string            `json:"trace_id"`
		Spans   map[string][]node `json:"spans"`
	}
	require.NoError(t, json.Unmarshal(text, &got), string(text))
	require.Len(t, got.Spans["a"], 2)
	var b []node
	require.NoError(t, json.Unmarshal(got.Spans["a"][0].Spans["b"], &b))
	require.Len(t, b, 2)
	var c node
	require.NoError(t, json.Unmarshal(got.Spans["a"][0].Spans["c"], &c))
	require.Equal(t, "0400000000000000", c.SpanID)
	require.Nil(t, c.Spans)
}

func count(nodes []*trace.Node) (n int) {
	for _, node := range nodes {
		n += 1 + count(node.Children)
	}
	return n
}

func FuzzBuildTree(f *testing.F) {
	f.Add([]byte{1, 2, 2, 1, 3, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		var in []trace.Span
		for i := 0; i+2 < len(data); i += 3 {
			in = append(in, trace.Span{SpanID: trace.SpanID{data[i]}, ParentID: trace.SpanID{data[i+1]}, Start: int64(data[i+2])})
		}
		require.Equal(t, len(in), count(trace.BuildTree(in)))
	})
}

func metrics(t *testing.T, s *trace.Span, text string) {
	t.Helper()
	m, err := trace.ParseJSON([]byte(text))
	require.NoError(t, err)
	s.Attributes = map[string]any{"ag": map[string]any{"metrics": m}}
}

func TestCumulate(t *testing.T) {
	t.Parallel()
	in := spans(t, "root:1:0:1 chain:2:1:2 chat:3:2:3 chat:4:2:1 orphan:5:9:4 idle:6:1:5")
	metrics(t, &in[0], `{"tokens":{"cumulative":{"total":999,"prompt":7,"cached":4}},"costs":{}}`)
	metrics(t, &in[2], `{"tokens":{"incremental":{"prompt":10,"completion":5,"total":15}},"costs":{"incremental":{"total":0.25}},"errors":{"incremental":1}}`)
	metrics(t, &in[3], `{"tokens":{"incremental":{"completion":2.5,"total":4}},"costs":{"incremental":{"total":0.5}},"errors":{"incremental":0}}`)
	metrics(t, &in[4], `{"tokens":{"incremental":{"total":100}}}`)
	metrics(t, &in[5], `{"tokens":{"cumulative":{"total":3}}}`)
	all := make([]*trace.Span, 0, len(in))
	for i := range in {
		all = append(all, &in[i])
	}
	trace.Cumulate(all)
	want := []string{
		`{"costs":{"cumulative":{"total":0.75}},"errors":{"cumulative":1},"tokens":{"cumulative":{"cached":4,"completion":7.5,"prompt":10,"total":19}}}`,
		`{"costs":{"cumulative":{"total":0.75}},"errors":{"cumulative":1},"tokens":{"cumulative":{"completion":7.5,"prompt":10,"total":19}}}`,
		`{"costs":{"cumulative":{"total":0.25},"incremental":{"total":0.25}},"errors":{"cumulative":1,"incremental":1},"tokens":{"cumulative":{"completion":5,"prompt":10,"total":15},"incremental":{"completion":5,"prompt":10,"total":15}}}`,
		`{"costs":{"cumulative":{"total":0.5},"incremental":{"total":0.5}},"errors":{"incremental":0},"tokens":{"cumulative":{"completion":2.5,"total":4},"incremental":{"completion":2.5,"total":4}}}`,
		`{"tokens":{"cumulative":{"total":100},"incremental":{"total":100}}}`,
		`{"tokens":{"cumulative":{"total":3}}}`,
	}
	for i, w := range want {
		got, _ := trace.Lookup(in[i].Attributes, []string{"ag", "metrics"})
		if diff := cmp.Diff(w, string(trace.AppendJSON(nil, got))); diff != "" {
			t.Errorf("metrics of span %d (-want +got):\n%s", i, diff)
		}
	}
}

// Whatever the shape of the trace, its roots together hold the sum of all spans.
func TestCumulateLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(40)
		in := make([]trace.Span, n)
		all := make([]*trace.Span, n)
		for i := range in {
			in[i] = trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(n + 2))}, Start: int64(r.IntN(5))}
			metrics(t, &in[i], `{"tokens":{"incremental":{"total":1}}}`)
			all[i] = &in[i]
		}
		trace.Cumulate(all)
		var sum int64
		for _, root := range trace.BuildTree(in) {
			v, _ := trace.Lookup(root.Span.Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
			whole, ok := v.(int64)
			require.True(t, ok)
			sum += whole
		}
		require.Equal(t, int64(n), sum)
	}
}
