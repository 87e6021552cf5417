package trace_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// Which members stay documents, and that they are written as they were read.
func TestParseAttributes(t *testing.T) {
	t.Parallel()
	const text = `{"a":{"b":[1,"}\"]"]},"ag":{"data":{"inputs":{"q":1},"outputs":"x"},"meta":[{}],"metrics":{"errors":{"incremental":1}},` +
		`"references":{"application":{"slug":"a"}},"type":{"trace":"invocation"}},"n":1.0}`
	got, err := trace.ParseAttributes(text)
	require.NoError(t, err)
	ag := got["ag"].(map[string]any)
	require.IsType(t, (*trace.Metrics)(nil), ag["metrics"])
	require.Equal(t, map[string]any{"errors": map[string]any{"incremental": int64(1)}}, ag["metrics"].(*trace.Metrics).Value())
	require.Equal(t, map[string]any{
		"a": trace.Document(`{"b":[1,"}\"]"]}`),
		"n": 1.0,
		"ag": map[string]any{
			"data":       map[string]any{"inputs": trace.Document(`{"q":1}`), "outputs": "x"},
			"meta":       trace.Document(`[{}]`),
			"metrics":    ag["metrics"],
			"references": map[string]any{"application": map[string]any{"slug": "a"}},
			"type":       map[string]any{"trace": "invocation"},
		},
	}, got)
	require.Empty(t, cmp.Diff(text, string(trace.AppendJSON(nil, got))))

	value, ok := trace.Lookup(got, []string{"a", "b", "1"})
	require.True(t, ok)
	require.Equal(t, `}"]`, value)
	require.Equal(t, map[string]any{"b": []any{int64(1), `}"]`}}, got["a"], "what was looked into is read once")
	require.Equal(t, `{"q":1}`, trace.LookupJSON(got, []string{"ag", "data", "inputs"}))
	require.Empty(t, trace.LookupJSON(got, []string{"ag", "data", "parameters"}))

	empty, err := trace.ParseAttributes("")
	require.NoError(t, err)
	require.Equal(t, map[string]any{}, empty)
	for _, bad := range []string{"null", "[]", `{"a":{`, `{"a":{"b":"\`, `{"a":[1,2}`, `{"a":{}`, `{"a":{}}x`, `{"ag":{"metrics":{"a":tru}}}`} {
		_, err := trace.ParseAttributes(bad)
		require.Equal(t, domain.Rejected, domain.KindOf(err), bad)
	}
}

// A tree with documents in it reads as the tree: every path of it, all of it,
// and its JSON.
func TestDocumentsReadAsTheirValues(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		tree := map[string]any{"x": anything(rng, 3), "y": anything(rng, 3), "ag": map[string]any{
			"data": map[string]any{"inputs": anything(rng, 4), "outputs": anything(rng, 2)}, "meta": anything(rng, 3), "metrics": anything(rng, 3), "type": anything(rng, 1),
		}}
		text := string(trace.AppendJSON(nil, tree))
		read := func() map[string]any {
			got, err := trace.ParseAttributes(text)
			require.NoError(t, err)
			return got
		}
		require.Equal(t, text, string(trace.AppendJSON(nil, read())))
		opened := read()
		trace.Open(opened)
		require.Equal(t, tree, opened)
		one := read()
		paths(nil, tree, func(keys []string, want any) {
			require.Equal(t, string(trace.AppendJSON(nil, want)), trace.LookupJSON(one, keys))
			got, ok := trace.Lookup(read(), keys)
			require.True(t, ok, keys)
			require.Equal(t, want, got, keys)
			_, ok = trace.Lookup(one, append(keys, "none"))
			require.False(t, ok, keys)
		})
		require.Equal(t, text, string(trace.AppendJSON(nil, one)))
	}
}

// A resource and a scope are written as the trees that they are, whether read or not.
func TestResourceAndScope(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	for range 300 {
		tree := randomObject(rng, 3)
		text := string(trace.AppendJSON(nil, tree))
		got, err := trace.ParseResource(text)
		require.NoError(t, err)
		require.Equal(t, text, string(trace.AppendJSON(nil, got)))
		for key, value := range got {
			if text, unread := value.(trace.Document); unread {
				require.Contains(t, "[{", string(text[0]))
			}
			read, ok := trace.Lookup(got, []string{key})
			require.True(t, ok)
			require.Equal(t, tree[key], read)
		}
		scope := &trace.Scope{Name: randomText(rng), Version: randomText(rng), Attributes: []map[string]any{nil, randomObject(rng, 2)}[rng.IntN(2)]}
		require.Equal(t, string(trace.AppendJSON(nil, scope.Object())), string(trace.AppendScope(nil, scope)))
	}
	none, err := trace.ParseResource("")
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = trace.ParseResource("[]")
	require.Equal(t, domain.Rejected, domain.KindOf(err))
}

func anything(rng *rand.Rand, depth int) any {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch rng.IntN(n) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return rng.Int64()
	case 3:
		return rng.Float64()
	case 4:
		return ""
	case 5:
		return []string{"plain text of some length", `"quoted" \ {[`, "}é\n\u2028]", "\x00\"}"}[rng.IntN(4)]
	case 6:
		array := make([]any, rng.IntN(4))
		for i := range array {
			array[i] = anything(rng, depth-1)
		}
		return array
	default:
		object := map[string]any{}
		for range rng.IntN(4) {
			object[[]string{"ag", "data", "", "a.b", `"`, "metrics", "z"}[rng.IntN(7)]] = anything(rng, depth-1)
		}
		return object
	}
}

func paths(keys []string, object map[string]any, each func([]string, any)) {
	for k, v := range object {
		path := append(slices.Clip(keys), k)
		each(path, v)
		if below, ok := v.(map[string]any); ok {
			paths(path, below, each)
		}
	}
}

// What is JSON reads as ParseJSON reads it; what is not neither panics nor is taken for more than it is.
func FuzzParseAttributes(f *testing.F) {
	for _, seed := range []string{`{"ag":{"data":{"inputs":[{"a":"\u0041"}]},"metrics":{}},"x":{"y":[[]]}}`, `{"a":{"b":"\`, `{"a":[}`, `{"":{},"":[1]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := trace.ParseAttributes(text)
		want, wantErr := trace.ParseText(text)
		object, is := want.(map[string]any)
		if wantErr != nil || !is {
			if err == nil && text != "" && wantErr == nil {
				t.Fatalf("%q is no object and was read as %v", text, got)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if written := trace.AppendJSON(nil, got); !json.Valid(written) {
			t.Fatalf("%q is written as %s", text, written)
		}
		if trace.Open(got); !reflect.DeepEqual(got, object) {
			t.Fatalf("%q reads as %v, not %v", text, got, object)
		}
	})
}
