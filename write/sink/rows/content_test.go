package rows

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/trace"
)

// walked collects leaves in the words of the domain.
type walked []string

func (l *walked) String(p, v string)         { *l = append(*l, p+"=s:"+v) }
func (l *walked) Number(p string, v float64) { *l = append(*l, fmt.Sprintf("%s=n:%v", p, v)) }
func (l *walked) Bool(p string, v bool)      { *l = append(*l, fmt.Sprintf("%s=b:%v", p, v)) }
func (l *walked) Unindexed(p string)         { *l = append(*l, p+"=long") }

// replay says a document's leaves the same way.
func replay(d *Content) (out walked) {
	for i := range d.attributes {
		l := &d.attributes[i]
		path := string(d.pathOf(l))
		switch l.kind {
		case KindString:
			out.String(path, l.text)
		case KindNumber:
			out.Number(path, l.number)
		case KindBool:
			out.Bool(path, l.number != 0)
		default:
			out.Unindexed(path)
		}
	}
	return out
}

// check holds a document to what the domain's own walks say of the tree, and to
// the same of the tree with documents in it.
func check(t *testing.T, d *Content, tree map[string]any) {
	t.Helper()
	d.Render(&trace.Span{Attributes: tree}, 0)
	var want walked
	jsonvaluetest.Flatten(tree, &want)
	require.Empty(t, cmp.Diff(want, replay(d)))
	hash, texts := d.Hash, d.payloads
	for i := range texts {
		texts[i] = slices.Clone(texts[i])
	}
	d.Render(&trace.Span{Attributes: unread(tree, 0)}, 0)
	require.Empty(t, cmp.Diff(want, replay(d)))
	require.Equal(t, hash, d.Hash)
	require.Equal(t, texts, d.payloads)

	rest, data := map[string]any{}, map[string]any{}
	maps.Copy(rest, tree)
	if ag, ok := tree["ag"].(map[string]any); ok {
		if all, ok := ag["data"].(map[string]any); ok {
			left := map[string]any{}
			for k, v := range all {
				if _, own := dataMember(k); own {
					data[k] = v
				} else {
					left[k] = v
				}
			}
			agLeft := map[string]any{}
			maps.Copy(agLeft, ag)
			agLeft["data"] = left
			rest["ag"] = agLeft
		}
	}
	require.Equal(t, string(jsonvalue.Append(nil, rest)), string(d.payloads[payloadAttributes]))
	for k, v := range data {
		member, _ := dataMember(k)
		require.Equal(t, string(jsonvalue.Append(nil, v)), string(d.payloads[member]))
	}
}

// unread makes documents of the objects and arrays of a tree that are three deep.
func unread(tree map[string]any, depth int) map[string]any {
	out := map[string]any{}
	for k, v := range tree {
		switch below := v.(type) {
		case map[string]any:
			if out[k] = jsonvalue.Raw(jsonvalue.Append(nil, v)); depth < 2 {
				out[k] = unread(below, depth+1)
			}
		case []any:
			if out[k] = v; depth == 2 {
				out[k] = jsonvalue.Raw(jsonvalue.Append(nil, v))
			}
		default:
			out[k] = v
		}
	}
	return out
}

func TestDocument(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", jsonvalue.MaxIndexedBytes+1)
	tests := []struct {
		name string
		in   map[string]any
	}{
		{"nothing", map[string]any{}},
		{"scalars", map[string]any{"b": true, "a": "x", "c": int64(1), "d": 1.5, "e": 2.0, "f": nil}},
		{"nesting and odd keys", map[string]any{"a.b": map[string]any{`c\`: "x", "": map[string]any{"": "y"}}, "": "z"}},
		{"arrays", map[string]any{"a": []any{"x", int64(2), nil, true}, "b": []any{map[string]any{"c": []any{"d"}}}, "c": []any{}, "d": make([]any, 33)}},
		{"what a map cannot hold", map[string]any{"a": long, "b": map[string]any{}, "c": int64(math.MaxInt64), "d": int64(-1 << 53)}},
		{"ag", map[string]any{"ag": map[string]any{
			"type": map[string]any{"trace": "invocation", "span": "chat"}, "zeta": "z", "alpha": "a",
			"data": map[string]any{"inputs": map[string]any{"q": "x"}, "outputs": "y", "parameters": map[string]any{}, "internals": nil, "more": []any{"m"}},
		}, "service": "s"}},
		{"ag.data with nothing else", map[string]any{"ag": map[string]any{"data": map[string]any{"outputs": []any{map[string]any{"role": "user"}}}}}},
		{"deep in ag", map[string]any{"ag": map[string]any{"data": map[string]any{
			"inputs": map[string]any{
				"a.b": map[string]any{"\n": "x\ny", "": []any{}}, "long": long, "most": make([]any, 32), "more": make([]any, 33), "n": []any{int64(1), 2.0, -1e300, "é", false},
				"big": int64(math.MaxInt64), "edge": int64(1 << 53), "none": nil, "t": true, "list": []any{int64(1), []any{}}, "e": map[string]any{},
			}, "outputs": []any{"a", int64(2)}, "internals": map[string]any{},
		}}}},
		{"ag that is none", map[string]any{"ag": "x"}},
		{"data elsewhere", map[string]any{"x": map[string]any{"data": map[string]any{"inputs": "i"}}}},
	}
	var d Content // one for all: nothing may be left over
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, &d, tt.in) }) //nolint:paralleltest // the document is shared on purpose
	}
}

func FuzzDocument(f *testing.F) {
	f.Add(`{"ag":{"data":{"inputs":{"a.b":[1,2.5,null]},"outputs":"x"},"type":{"trace":"annotation"}},"b":[[1],{}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		var v any
		if json.Unmarshal([]byte(in), &v) != nil {
			return
		}
		tree, ok := v.(map[string]any)
		if !ok {
			return
		}
		check(t, &Content{}, tree)
	})
}

// Whatever stands in a document that is none, it costs no more than its length.
func FuzzScan(f *testing.F) {
	for _, text := range []string{`{"a":{"b":[1,true,null,"x"]},"c":[[]],"d":{}}`, `{"a`, `{"a":`, `{"a":1,`, `{`, `[`, `[1,`, `[1`, `"\`, `-`, `t`, `{"a":[1,2`, "[[", `{"a":x}`, `{,}`, `[,]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d Content
		d.Render(&trace.Span{Attributes: map[string]any{"x": jsonvalue.Raw(text)}}, 0)
		require.LessOrEqual(t, len(d.attributes), len(text)+1)
	})
}

func TestHash(t *testing.T) {
	t.Parallel()
	base := func() *trace.Span {
		return &trace.Span{
			Name: "n", Start: 1, End: 2, Type: trace.Invocation, CreatedAt: time.Unix(1, 0), Version: 3, Identifiers: trace.Identifiers{SessionID: "promoted"},
			Attributes: map[string]any{"ag": map[string]any{"type": map[string]any{"trace": "invocation"}, "data": map[string]any{"inputs": "x"}}, "z": "y"},
		}
	}
	hash := func(s *trace.Span, declared trace.Type) uint64 {
		var d Content
		d.Render(s, declared)
		return d.Hash
	}
	want := hash(base(), 0)

	same := base()
	same.Type, same.CreatedAt, same.Version, same.SessionID = trace.Annotation, time.Unix(9, 0), 7, ""
	SetTraceType(same, trace.Annotation)
	require.Equal(t, want, hash(same, 0), "what others decide is no content")

	require.NotEqual(t, want, hash(base(), trace.Invocation))
	for name, change := range map[string]func(s *trace.Span){
		"name":      func(s *trace.Span) { s.Name = "m" },
		"start":     func(s *trace.Span) { s.Start = 0 },
		"end":       func(s *trace.Span) { s.End = 3 },
		"status":    func(s *trace.Span) { s.Status = trace.StatusOK },
		"attribute": func(s *trace.Span) { s.Attributes["z"] = "x" },
		"resource":  func(s *trace.Span) { s.Resource = map[string]any{"a": "b"} },
		"event":     func(s *trace.Span) { s.Events = []trace.Event{{Name: "e"}} },
		"link":      func(s *trace.Span) { s.Links = []trace.Link{{TraceID: trace.TraceID{1}}} },
		"parent":    func(s *trace.Span) { s.ParentID = trace.SpanID{1} },
		"input to output": func(s *trace.Span) {
			s.Attributes["ag"] = map[string]any{"type": map[string]any{"trace": "invocation"}, "data": map[string]any{"outputs": "x"}}
		},
	} {
		s := base()
		change(s)
		require.NotEqual(t, want, hash(s, 0), name)
	}
}

func TestWeekOf(t *testing.T) {
	t.Parallel()
	received := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) // a Saturday
	day := func(s string) uint16 {
		d, err := time.Parse(time.DateOnly, s)
		require.NoError(t, err)
		return uint16(d.Unix() / secondsPerDay)
	}
	tests := []struct {
		name  string
		start time.Time
		want  uint16
	}{
		{"this week", received, day("2026-11-16")},
		{"Monday is its own", time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), day("2026-11-16")},
		{"Sunday's last moment", time.Date(2026, 11, 15, 23, 59, 59, 999, time.UTC), day("2026-11-09")},
		{"a year ago", received.AddDate(-1, 0, 0), day("2025-11-17")},
		{"too long ago", received.Add(-maxPast - 1), 0},
		{"too far ahead", received.Add(maxFuture + 1), 0},
		{"before 1970", time.Unix(-1, 0), 0},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, PartitionWeek(tt.start.UnixNano(), received), tt.name)
	}
	require.Equal(t, uint16(0), PartitionWeek(0, time.Unix(0, 0)), "the first week of all begins in 1969")
}
