package spanmetrics_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/domain/trace/tracejson"
)

// What is summed stands in the text where it stands in the tree, whatever a client
// sent in its place and beside it.
func TestMetricsReadAsTheirTree(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		n := 1 + r.IntN(5)
		opened, unread := make([]*trace.Span, n), make([]*trace.Span, n)
		for i := range n {
			tree := map[string]any{}
			if r.IntN(8) > 0 {
				tree = map[string]any{"ag": map[string]any{"metrics": metricsTree(r, 0), "z": int64(1)}}
			}
			text := string(jsonvalue.Append(nil, tree))
			edge := trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte(r.IntN(i + 1))}}
			a, b := edge, edge
			a.Attributes = tree
			var err error
			b.Attributes, err = tracejson.ParseAttributes(text)
			require.NoError(t, err)
			require.Equal(t, text, string(jsonvalue.Append(nil, b.Attributes)))
			opened[i], unread[i] = &a, &b
		}
		if r.IntN(2) == 0 {
			spanmetrics.Cumulate(opened)
			spanmetrics.Cumulate(unread)
		} else {
			for i := range 2 * n { // what a second sum lacks stays as the first wrote it
				i %= n
				sums := [spanmetrics.Count]float64{float64(r.IntN(3)), 1, 0, 3, .5, 0, float64(r.IntN(3))}
				spanmetrics.SetCumulative(opened[i], sums)
				spanmetrics.SetCumulative(unread[i], sums)
			}
		}
		for i := range n {
			want := opened[i].Attributes
			require.Empty(t, cmp.Diff(string(jsonvalue.Append(nil, want)), string(jsonvalue.Append(nil, unread[i].Attributes))))
			require.Equal(t, jsonvalue.LookupJSON(want, []string{"ag", "metrics"}), jsonvalue.LookupJSON(unread[i].Attributes, []string{"ag", "metrics"}))
			if r.IntN(2) == 0 {
				jsonvaluetest.Paths(want, func(keys []string, value any) {
					got, ok := jsonvalue.Lookup(unread[i].Attributes, keys)
					require.True(t, ok, keys)
					require.Equal(t, value, got, keys)
				})
			}
			jsonvalue.Expand(unread[i].Attributes)
			require.Equal(t, want, unread[i].Attributes)
		}
	}
}

// metricsTree is an object with members that are summed and others, at depth 0 what
// ag.metrics may be: mostly one, at times anything.
func metricsTree(r *rand.Rand, depth int) any {
	if r.IntN(10) == 0 {
		return jsonvaluetest.Value(r, 2)
	}
	names := [][]string{{"costs", "tokens", "errors", "duration", "a", "z", "d\"e"}, {"cumulative", "incremental", "a", "z", "d"}, {"completion", "prompt", "total", "p", "zz", "a\\"}}[min(depth, 2)]
	object := map[string]any{}
	for range r.IntN(6) {
		key := names[r.IntN(len(names))]
		switch {
		case key == "errors":
			object[key] = map[string]any{"incremental": number(r), "z": jsonvaluetest.Value(r, 1)}
		case depth < 2 && r.IntN(8) > 0:
			object[key] = metricsTree(r, depth+1)
		case r.IntN(4) > 0:
			object[key] = number(r)
		default:
			object[key] = jsonvaluetest.Value(r, 1)
		}
	}
	return object
}

func number(r *rand.Rand) any {
	if r.IntN(2) == 0 {
		return int64(r.IntN(5) - 1)
	}
	return r.NormFloat64()
}

// A text that is not as AppendJSON writes it is read all the same.
func TestMetricsOfOtherTexts(t *testing.T) {
	t.Parallel()
	for _, metrics := range []string{
		`{ "tokens":{"incremental":{"total":2}}}`, `{"tokens": {"incremental":{"total":2}}}`, `{"tokens":{"incremental":{"total" :2}}}`,
		`{"tokens":{"incremental":{"total":2}} }`, `{"z":1,"tokens":{"incremental":{"total":2}}}`, `{"tokens":{"incremental":{"total":9}},"tokens":{"incremental":{"total":2}}}`,
		`{"t\u006fkens":{"incremental":{"total":2}}}`, `{"é":1,"tokens":{"incremental":{"total":2}}}`,
	} {
		attributes, err := tracejson.ParseAttributes(`{"ag":{"metrics":` + metrics + `}}`)
		require.NoError(t, err, metrics)
		spanmetrics.Cumulate([]*trace.Span{{SpanID: trace.SpanID{1}, Attributes: attributes}})
		value, ok := jsonvalue.Lookup(attributes, []string{"ag", "metrics", "tokens"})
		require.True(t, ok, metrics)
		require.Equal(t, map[string]any{"cumulative": map[string]any{"total": int64(2)}, "incremental": map[string]any{"total": int64(2)}}, value, metrics)
	}
}

// FuzzMetrics holds the text of metrics to the tree that it says.
func FuzzMetrics(f *testing.F) {
	for _, seed := range []string{
		`{"costs":{"cumulative":null,"incremental":{"total":1e-7}},"errors":{"cumulative":"x","incremental":1}}`, `{"tokens":{"cumulative":{"prompt":1,"zz":2},"incremental":{"prompt":2,"total":4}}}`,
		`{"tokens":{"incremental":{"total":2}`, `{"tokens":{"incremental":{"total":-}}}`, `{"errors":{"incremental":1}}x`, `{"errors":null,"tokens":[1]}`, `{"":{},"\"":1}`, `{"":{{`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, metrics string) {
		value, err := jsonvalue.ParseString(metrics)
		if err != nil {
			_, _ = tracejson.ParseAttributes(`{"ag":{"metrics":` + metrics + `}}`) // neither panics nor runs on
			return
		}
		want := map[string]any{"ag": map[string]any{"metrics": value}}
		got, err := tracejson.ParseAttributes(string(jsonvalue.Append(nil, want)))
		if err != nil {
			t.Fatalf("%q: %v", metrics, err)
		}
		sums := [spanmetrics.Count]float64{1, 2, 3, 5, .5, .25, .75}
		spanmetrics.SetCumulative(&trace.Span{Attributes: want}, sums)
		spanmetrics.SetCumulative(&trace.Span{Attributes: got}, sums)
		if diff := cmp.Diff(string(jsonvalue.Append(nil, want)), string(jsonvalue.Append(nil, got))); diff != "" {
			t.Fatalf("%q: %s", metrics, diff)
		}
	})
}

// BenchmarkShow reads the attributes of a call of a model, sums and writes them.
func BenchmarkShow(b *testing.B) {
	const text = `{"ag":{"data":{},"meta":{"response":{"model":"gpt-4.1-mini"},"system":"openai"},"metrics":{"costs":{"cumulative":{"completion":0.00019,"prompt":0.000043,"total":0.000233},` +
		`"incremental":{"completion":0.00019,"prompt":0.000043,"total":0.000233}},"duration":{"cumulative":460.938},"errors":{},"tokens":{"cumulative":{"completion":125,"prompt":109,"total":234},` +
		`"incremental":{"completion":125,"prompt":109,"total":234}}},"session":{"id":"session-0000260166"},"type":{"span":"chat","trace":"invocation"},"user":{"id":"user-0000037166"}}}`
	spans := make([]*trace.Span, 20)
	for i := range spans {
		spans[i] = &trace.Span{SpanID: trace.SpanID{byte(i + 1)}, ParentID: trace.SpanID{byte((i + 1) / 4)}}
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for _, s := range spans {
			attributes, err := tracejson.ParseAttributes(text)
			if err != nil {
				b.Fatal(err)
			}
			s.Attributes = attributes
		}
		spanmetrics.Cumulate(spans)
		for _, s := range spans {
			dst = tracejson.AppendSpan(dst, s)
		}
	}
}
