package tracejson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
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

func TestAppendTrace(t *testing.T) {
	t.Parallel()
	text := tracejson.AppendTrace(nil, trace.TraceID{1}, trace.BuildTree(spansOf(t, "a:1:0:1 b:2:1:2 b:3:1:3 c:4:1:4 a:5:0:5")))
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

// Walk writes what AppendTree writes, whatever the shape of the tree.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"", "a:1:0:1", "a:1:0:1 b:2:1:2 b:3:1:3 c:4:1:4 a:5:0:5", "a:1:2:1 b:2:1:2", "b:3:9:3 a:1:0:4 a:2:0:2", "a:1:0:1 a:2:1:2 a:3:2:3 b:4:2:1 a:5:2:9",
	} {
		spans := spansOf(t, words)
		edges, names := make([]trace.Edge, len(spans)), make([]string, len(spans))
		for i := range spans {
			edges[i], names[i] = trace.EdgeOf(&spans[i]), spans[i].Name
		}
		k := trace.NewSkeleton(edges, names)
		var got []byte
		var order []int32
		require.NoError(t, tracejson.Walk(k, func(text []byte) { got = append(got, text...) }, func(i int32) error {
			got, order = tracejson.AppendOpenSpan(got, &spans[i]), append(order, i)
			return nil
		}))
		require.Equal(t, string(tracejson.AppendTree(nil, trace.BuildTree(spans))), string(got))
		require.ElementsMatch(t, tracejson.Order(k), order)
		require.Len(t, order, len(spans))
	}
}
