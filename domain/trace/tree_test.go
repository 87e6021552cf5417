package trace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
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

// outline writes a tree as a(b c(d)).
func outline(nodes []*trace.Node) string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		s := n.Span.Name
		if len(n.Children) > 0 {
			s += "(" + outline(n.Children) + ")"
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
			require.Equal(t, tt.want, outline(trace.BuildTree(spansOf(t, tt.in))))
		})
	}
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
