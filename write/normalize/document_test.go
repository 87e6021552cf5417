package normalize_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/write/normalize"
)

// What nothing looks into stays a document, in the canonical form; what is looked
// into is read.
func TestDocuments(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 129) + strings.Repeat("]", 129)
	deepest := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	tests := []struct {
		name string
		in   []attribute
		// data is ag.data, parked ag.unsupported.
		data, parked object
	}{
		{"an object", []attribute{{"ag.data.inputs", `@ag.type=json: {"b": 1, "a": [{"d": "\u00e9", "c": null}]}`}}, object{"inputs": jsonvalue.Raw(`{"a":[{"c":null,"d":"é"}],"b":1}`)}, nil},
		{"a list", []attribute{{"ag.data.outputs", `@ag.type=json:[1, {}]`}}, object{"outputs": jsonvalue.Raw(`[1,{}]`)}, nil},
		{"text that says an object", []attribute{{"ag.data.internals", ` {"a": 1}`}}, object{"internals": jsonvalue.Raw(`{"a":1}`)}, nil},
		{"parameters, where the model is", []attribute{{"ag.data.parameters", `@ag.type=json:{"model":"gpt-4o"}`}}, object{"parameters": object{"model": "gpt-4o"}}, nil},
		{"parameters as text", []attribute{{"ag.data.parameters", `{"model":"gpt-4o"}`}}, object{"parameters": object{"model": "gpt-4o"}}, nil},
		{"below a value", []attribute{{"ag.data", 1}, {"ag.data.inputs", `@ag.type=json:{"a":1}`}}, nil, object{"data": int64(1), "ag.data.inputs": object{"a": int64(1)}}},
		{"a scalar", []attribute{{"ag.data.outputs", `@ag.type=json:"x"`}}, object{"outputs": "x"}, nil},
		{"a literal in a literal", []attribute{{"ag.data.outputs", `@ag.type=json:"@ag.type=json:{\"b\": 1, \"a\":2}"`}}, object{"outputs": jsonvalue.Raw(`{"a":2,"b":1}`)}, nil},
		{"the default output", []attribute{{"ag.data.outputs", `@ag.type=json:{ "__default__" : {"__default__" : [1]} }`}}, object{"outputs": []any{int64(1)}}, nil},
		{"the default output among others", []attribute{{"ag.data.outputs", `@ag.type=json:{"__default__":1,"a":2}`}}, object{"outputs": object{"__default__": int64(1), "a": int64(2)}}, nil},
		{"a list where an object belongs", []attribute{{"ag.data.inputs", `@ag.type=json:[{"a":1}]`}}, object{}, object{"data": object{"inputs": []any{object{"a": int64(1)}}}}},
		{"joined by a member", []attribute{{"ag.data.inputs", `@ag.type=json:{"a":1}`}, {"ag.data.inputs.b", 2}}, object{"inputs": object{"a": int64(1), "b": int64(2)}}, nil},
		{"joining a member", []attribute{{"ag.data.inputs.b", 2}, {"ag.data.inputs", `@ag.type=json:{"a":1}`}}, object{"inputs": object{"a": int64(1), "b": int64(2)}}, nil},
		{"joining another", []attribute{{"ag.data.inputs", `@ag.type=json:{"a":{"b":1}}`}, {"ag.data.inputs", `@ag.type=json:{"a":{"c":2}}`}}, object{"inputs": object{"a": object{"b": int64(1), "c": int64(2)}}}, nil},
		{
			"twice, and not to be joined",
			[]attribute{{"ag.data.outputs", `@ag.type=json:[1]`}, {"ag.data.outputs", `@ag.type=json:[2]`}},
			object{"outputs": []any{int64(2)}},
			object{"ag.data.outputs": []any{int64(1)}},
		},
		{"text that is not JSON", []attribute{{"ag.data.outputs", `@ag.type=json:{"a":`}}, object{"outputs": `@ag.type=json:{"a":`}, nil},
		{"too deep", []attribute{{"ag.data.outputs", `@ag.type=json:` + deep}}, object{"outputs": `@ag.type=json:` + deep}, nil},
		{"as deep as a value may be", []attribute{{"ag.data.outputs", `@ag.type=json:` + deepest}}, object{"outputs": jsonvalue.Raw(deepest)}, nil},
		{"half a character", []attribute{{"ag.data.inputs", `{"a":"\ud800"}`}, {"ag.data.outputs", `@ag.type=json:["\ud800"]`}}, object{"outputs": `@ag.type=json:["\ud800"]`}, object{"data": object{"inputs": `{"a":"\ud800"}`}}},
		{"a number of too many digits", []attribute{{"ag.data.outputs", `@ag.type=json:12345678901234567890`}, {"ag.data.internals", `@ag.type=json:{"a":12345678901234567890}`}}, object{"outputs": `@ag.type=json:12345678901234567890`}, object{"data": object{"internals": `@ag.type=json:{"a":12345678901234567890}`}}},
		{"at another place", []attribute{{"ag.data.inputs.messages", `@ag.type=json:[{"a":1}]`}}, object{"inputs": object{"messages": []any{object{"a": int64(1)}}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spans, refused, err := newNormalizer(t).Spans(normalize.Meta{ReceivedAt: received}, record(t, newSpan(tt.in...)))
			require.NoError(t, err)
			require.Empty(t, refused)
			ag, _ := spans[0].Attributes["ag"].(object)
			data, _ := ag["data"].(object)
			parked, _ := ag["unsupported"].(object)
			require.Empty(t, cmp.Diff(tt.data, data))
			require.Empty(t, cmp.Diff(tt.parked, parked))
		})
	}
}
