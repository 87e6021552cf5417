package entity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

func document(tb testing.TB, text string) entity.Document {
	tb.Helper()
	var d entity.Document
	require.NoError(tb, json.Unmarshal([]byte(text), &d))
	return d
}

func delta(tb testing.TB, text string) (entity.Delta, error) {
	tb.Helper()
	o, err := request.ParseObject([]byte(text))
	require.NoError(tb, err)
	return entity.ReadDelta(o), o.Err()
}

func TestDelta(t *testing.T) {
	t.Parallel()
	const base = `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"x"},{"content":"y"}],"model":"m"},"n":1.50}}`
	tests := []struct{ name, in, want string }{
		{"set merges objects", `{"set":{"parameters":{"prompt":{"model":"k"}}}}`, `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"x"},{"content":"y"}],"model":"k"},"n":1.50}}`},
		{"set by a dotted path", `{"set":{"parameters.prompt.model":"k"}}`, `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"x"},{"content":"y"}],"model":"k"},"n":1.50}}`},
		{"set into a list", `{"set":{"parameters.prompt.messages.1.content":"z"}}`, `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"x"},{"content":"z"}],"model":"m"},"n":1.50}}`},
		{"set replaces a list", `{"set":{"parameters":{"prompt":{"messages":[]}}}}`, `{"uri":"a","parameters":{"prompt":{"messages":[],"model":"m"},"n":1.50}}`},
		{"set makes what is missing", `{"set":{"schemas.inputs.type":"object"}}`, `{"uri":"a","schemas":{"inputs":{"type":"object"}},"parameters":{"prompt":{"messages":[{"content":"x"},{"content":"y"}],"model":"m"},"n":1.50}}`},
		{"remove", `{"remove":["parameters.prompt","uri"]}`, `{"parameters":{"n":1.50}}`},
		{"remove from a list", `{"remove":["parameters.prompt.messages.0"]}`, `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"y"}],"model":"m"},"n":1.50}}`},
		{"set, then remove", `{"set":{"url":"u"},"remove":["parameters"]}`, `{"uri":"a","url":"u"}`},
		{"operations", `{"operations":[{"op":"set","path":"parameters.prompt","value":{"a":1}},{"op":"merge","path":["parameters","prompt"],"value":{"b":2}},{"op":"remove","path":"/uri"}]}`, `{"parameters":{"prompt":{"a":1,"b":2},"n":1.50}}`},
		{"operations that append", `{"operations":[{"op":"add","path":"/parameters/prompt/messages/-","value":"z"},{"op":"replace","path":"/parameters/n","value":null}]}`, `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"x"},{"content":"y"},"z"],"model":"m"},"n":null}}`},
		{"a pointer with its escapes", `{"operations":[{"op":"set","path":"/parameters/a~1b~0c","value":1}]}`, `{"uri":"a","parameters":{"prompt":{"messages":[{"content":"x"},{"content":"y"}],"model":"m"},"n":1.50,"a/b~c":1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := delta(t, tt.in)
			require.NoError(t, err)
			before := document(t, base)
			got, err := d.Apply(before)
			require.NoError(t, err)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text))
			require.True(t, entity.Same(document(t, base), before), "the base is not touched")
		})
	}
}

func TestDeltaRefuses(t *testing.T) {
	t.Parallel()
	base := document(t, `{"uri":"a","parameters":{"list":[1]}}`)
	tests := []struct {
		name, in string
		kind     domain.Kind
	}{
		{"nothing", `{}`, domain.Invalid},
		{"an unknown member", `{"set":{"uri":"b"},"put":1}`, domain.Invalid},
		{"an unknown operation", `{"operations":[{"op":"move","path":"a","value":1}]}`, domain.Invalid},
		{"an operation without a path", `{"operations":[{"op":"set","value":1}]}`, domain.Invalid},
		{"an operation without a value", `{"operations":[{"op":"set","path":"a"}]}`, domain.Invalid},
		{"a path that is too deep", `{"set":{"a` + strings.Repeat(".a", 100) + `":1}}`, domain.Invalid},
		{"removing what is not there", `{"remove":["parameters.nope"]}`, domain.Rejected},
		{"removing below what is not there", `{"remove":["nope.deep"]}`, domain.Rejected},
		{"a path through a string", `{"set":{"uri.deep":1}}`, domain.Rejected},
		{"a place that a list has not", `{"set":{"parameters.list.5":1}}`, domain.Rejected},
		{"a place that is no number", `{"set":{"parameters.list.x":1}}`, domain.Rejected},
		{"removing a place that a list has not", `{"remove":["parameters.list.1"]}`, domain.Rejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := delta(t, tt.in)
			if err == nil {
				_, err = d.Apply(base)
			}
			require.Equal(t, tt.kind, domain.KindOf(err), "%v", err)
			require.Error(t, err)
		})
	}
}

func TestDeltaOnNothing(t *testing.T) {
	t.Parallel()
	d, err := delta(t, `{"set":{"uri":"a"}}`)
	require.NoError(t, err)
	got, err := d.Apply(nil)
	require.NoError(t, err)
	require.Equal(t, entity.Document{"uri": "a"}, got)
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte(`{"set":{"a.b":1},"remove":["c"]}`), []byte(`{"c":[1,{"d":2}]}`))
	f.Add([]byte(`{"operations":[{"op":"add","path":"/c/-","value":1}]}`), []byte(`{"c":[]}`))
	f.Fuzz(func(t *testing.T, change, base []byte) {
		o, err := request.ParseObject(change)
		if err != nil {
			return
		}
		d := entity.ReadDelta(o)
		var before, again entity.Document
		if o.Err() != nil || json.Unmarshal(base, &before) != nil || json.Unmarshal(base, &again) != nil {
			return
		}
		_, _ = d.Apply(before)
		require.True(t, entity.Same(again, before), "the base is not touched")
	})
}
