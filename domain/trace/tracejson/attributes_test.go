package tracejson_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/domain/trace/tracejson"
)

// Some members stay Raw; all are written as they were parsed.
func TestParseAttributes(t *testing.T) {
	t.Parallel()
	const text = `{"a":{"b":[1,"}\"]"]},"ag":{"data":{"inputs":{"q":1},"outputs":"x"},"meta":[{}],"metrics":{"errors":{"incremental":1}},` +
		`"references":{"application":{"slug":"a"}},"type":{"trace":"invocation"}},"n":1.0}`
	got, err := tracejson.ParseAttributes(text)
	require.NoError(t, err)
	ag := got["ag"].(map[string]any)
	require.IsType(t, (*spanmetrics.Stored)(nil), ag["metrics"])
	require.Equal(t, map[string]any{"errors": map[string]any{"incremental": int64(1)}}, ag["metrics"].(*spanmetrics.Stored).Value())
	require.Equal(t, map[string]any{
		"a": jsonvalue.Raw(`{"b":[1,"}\"]"]}`),
		"n": 1.0,
		"ag": map[string]any{
			"data":       map[string]any{"inputs": jsonvalue.Raw(`{"q":1}`), "outputs": "x"},
			"meta":       jsonvalue.Raw(`[{}]`),
			"metrics":    ag["metrics"],
			"references": map[string]any{"application": map[string]any{"slug": "a"}},
			"type":       map[string]any{"trace": "invocation"},
		},
	}, got)
	require.Empty(t, cmp.Diff(text, string(jsonvalue.Append(nil, got))))

	value, ok := jsonvalue.Lookup(got, []string{"a", "b", "1"})
	require.True(t, ok)
	require.Equal(t, `}"]`, value)
	require.Equal(t, map[string]any{"b": []any{int64(1), `}"]`}}, got["a"], "a value that was looked up stays parsed")
	require.Equal(t, `{"q":1}`, jsonvalue.LookupJSON(got, []string{"ag", "data", "inputs"}))
	require.Empty(t, jsonvalue.LookupJSON(got, []string{"ag", "data", "parameters"}))

	empty, err := tracejson.ParseAttributes("")
	require.NoError(t, err)
	require.Equal(t, map[string]any{}, empty)
	for _, bad := range []string{"null", "[]", `{"a":{`, `{"a":{"b":"\`, `{"a":[1,2}`, `{"a":{}`, `{"a":{}}x`, `{"ag":{"metrics":{"a":tru}}}`} {
		_, err := tracejson.ParseAttributes(bad)
		require.Equal(t, domain.Rejected, domain.KindOf(err), bad)
	}
}

// A tree with Raw values equals the parsed tree: every path, the whole tree and its JSON.
func TestRawValuesEqualTheirTree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		tree := map[string]any{"x": jsonvaluetest.Value(rng, 3), "y": jsonvaluetest.Value(rng, 3), "ag": map[string]any{
			"data": map[string]any{"inputs": jsonvaluetest.Value(rng, 4), "outputs": jsonvaluetest.Value(rng, 2)}, "meta": jsonvaluetest.Value(rng, 3), "metrics": jsonvaluetest.Value(rng, 3), "type": jsonvaluetest.Value(rng, 1),
		}}
		text := string(jsonvalue.Append(nil, tree))
		read := func() map[string]any {
			got, err := tracejson.ParseAttributes(text)
			require.NoError(t, err)
			return got
		}
		require.Equal(t, text, string(jsonvalue.Append(nil, read())))
		expanded := read()
		jsonvalue.Expand(expanded)
		require.Equal(t, tree, expanded)
		one := read()
		jsonvaluetest.Paths(tree, func(keys []string, want any) {
			require.Equal(t, string(jsonvalue.Append(nil, want)), jsonvalue.LookupJSON(one, keys))
			got, ok := jsonvalue.Lookup(read(), keys)
			require.True(t, ok, keys)
			require.Equal(t, want, got, keys)
			_, ok = jsonvalue.Lookup(one, append(keys, "none"))
			require.False(t, ok, keys)
		})
		require.Equal(t, text, string(jsonvalue.Append(nil, one)))
	}
}

// A resource and a scope are written as their trees, whether parsed or not.
func TestResourceAndScope(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	for range 300 {
		tree := jsonvaluetest.Object(rng, 3)
		text := string(jsonvalue.Append(nil, tree))
		got, err := tracejson.ParseResource(text)
		require.NoError(t, err)
		require.Equal(t, text, string(jsonvalue.Append(nil, got)))
		for key, value := range got {
			if text, unread := value.(jsonvalue.Raw); unread {
				require.Contains(t, "[{", string(text[0]))
			}
			read, ok := jsonvalue.Lookup(got, []string{key})
			require.True(t, ok)
			require.Equal(t, tree[key], read)
		}
		scope := &trace.Scope{Name: jsonvaluetest.Text(rng), Version: jsonvaluetest.Text(rng), Attributes: []map[string]any{nil, jsonvaluetest.Object(rng, 2)}[rng.IntN(2)]}
		require.Equal(t, string(jsonvalue.Append(nil, scope.Object())), string(tracejson.AppendScope(nil, scope)))
	}
	none, err := tracejson.ParseResource("")
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = tracejson.ParseResource("[]")
	require.Equal(t, domain.Rejected, domain.KindOf(err))
}

// JSON is parsed as jsonvalue.Parse does; other text does not cause a panic.
func FuzzParseAttributes(f *testing.F) {
	for _, seed := range []string{`{"ag":{"data":{"inputs":[{"a":"\u0041"}]},"metrics":{}},"x":{"y":[[]]}}`, `{"a":{"b":"\`, `{"a":[}`, `{"":{},"":[1]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := tracejson.ParseAttributes(text)
		want, wantErr := jsonvalue.ParseString(text)
		object, is := want.(map[string]any)
		if wantErr != nil || !is {
			if err == nil && text != "" && wantErr == nil {
				t.Fatalf("%q is no object and was parsed as %v", text, got)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if written := jsonvalue.Append(nil, got); !json.Valid(written) {
			t.Fatalf("%q is written as %s", text, written)
		}
		if jsonvalue.Expand(got); !reflect.DeepEqual(got, object) {
			t.Fatalf("%q is parsed as %v, not %v", text, got, object)
		}
	})
}
