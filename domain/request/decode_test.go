package request_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/domain/trace"
)

type window struct {
	Limit  int       `json:"limit"`
	Rate   *float64  `json:"rate"`
	Newest time.Time `json:"newest"`
}

type common struct {
	Slug string `json:"slug" request:"required"`
	Name string `json:"name"`
}

type create struct {
	common
	ID      uuid.UUID                     `json:"id"`
	Trace   trace.TraceID                 `json:"trace_id"`
	Window  *window                       `json:"windowing"`
	Refs    []domain.Reference            `json:"refs"`
	Named   map[string]window             `json:"named"`
	ByTrace map[trace.TraceID]bool        `json:"by_trace"`
	Raw     json.RawMessage               `json:"raw"`
	Raws    map[string]json.RawMessage    `json:"raws"`
	Any     any                           `json:"any"`
	Meta    request.Maybe[map[string]any] `json:"meta"`
	Tags    request.Maybe[map[string]any] `json:"tags"`
	Flags   request.Maybe[map[string]any] `json:"flags"`
	Small   uint8                         `json:"small"`
	Yes     bool                          `json:"yes"`
	Own     odd                           `json:"own"`
	Hidden  string                        `json:"-"`
}

// odd reads only even numbers and tells where a pair of them is wrong.
type odd int

func (o *odd) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "2":
		*o = 2
		return nil
	case "3":
		return domain.E(domain.Rejected, "Three is odd.")
	default:
		return request.Invalid("enum", "Input should be 2", nil, "inner", 1)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	tid, err := trace.ParseTraceID("0102030405060708090a0b0c0d0e0f10")
	require.NoError(t, err)
	half := 0.5
	var got create
	require.NoError(t, request.Decode([]byte(` {"slug":"s\u00e9","name":null,"id":"`+id.String()+`","trace_id":"`+tid.String()+`",
		"windowing":{"limit":5.0,"rate":0.5,"newest":"2025-01-01T12:00:00Z"},"refs":[{"id":"`+id.String()+`"},{"slug":"x","version":"1"}],
		"named":{"a":{"limit":1},"b":{}},"by_trace":{"`+tid.String()+`":true},"raw": {"b": 1, "a": [1.50]} ,"raws":{"x":null},"any":[1,2.5,{"k":"v"}],
		"meta":null,"tags":{"a":1},"small":255,"yes":true,"own":2} `), &got))
	want := create{
		common: common{Slug: "sé"}, ID: id, Trace: tid, Window: &window{Limit: 5, Rate: &half, Newest: time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)},
		Refs: []domain.Reference{{ID: id}, {Slug: "x", Version: "1"}}, Named: map[string]window{"a": {Limit: 1}, "b": {}},
		ByTrace: map[trace.TraceID]bool{tid: true}, Raw: json.RawMessage(`{"b": 1, "a": [1.50]}`), Raws: map[string]json.RawMessage{"x": []byte("null")},
		Any: []any{int64(1), 2.5, map[string]any{"k": "v"}}, Meta: request.Maybe[map[string]any]{Given: true, Null: true},
		Tags: request.Maybe[map[string]any]{Given: true, Value: map[string]any{"a": int64(1)}}, Small: 255, Yes: true, Own: 2,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(create{})); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// JSON may stand elsewhere than in a body.
func TestDecodeAt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		loc      []any
	}{
		{"nothing", "", []any{"query", "specs"}},
		{"no JSON", `[}`, []any{"query", "specs", 2}},
		{"no list", `{}`, []any{"query", "specs"}},
		{"a wrong element", `["a",1]`, []any{"query", "specs", 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			failed, ok := errors.AsType[*domain.Error](request.DecodeAt([]byte(tt.in), &got, "query", "specs"))
			require.True(t, ok)
			require.Equal(t, tt.loc, failed.Fields[0].Loc)
		})
	}
	var got []string
	require.NoError(t, request.DecodeAt([]byte(`["a"]`), &got, "query", "specs"))
	require.Equal(t, []string{"a"}, got)
}

// A bound may be of a year that no moment is of.
func TestBounds(t *testing.T) {
	t.Parallel()
	var got struct {
		At    *time.Time `json:"at"`
		Until *time.Time `json:"until" request:"bound"`
	}
	require.NoError(t, request.Decode([]byte(`{"at":"2026-01-01","until":"9999-12-31T23:59:59Z"}`), &got))
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), *got.At)
	require.Equal(t, time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC), *got.Until)
	got.Until = nil
	require.NoError(t, request.Decode([]byte(`{"until":null}`), &got))
	require.Nil(t, got.Until)
	require.Error(t, request.Decode([]byte(`{"at":"9999-12-31T23:59:59Z"}`), &got))
	require.Error(t, request.Decode([]byte(`{"until":"yesterday"}`), &got))
}

func TestDecodeLocates(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", request.MaxDepth+1) + strings.Repeat("]", request.MaxDepth+1)
	tests := []struct {
		name, in, kind string
		loc            []any
	}{
		{"nothing", "", "missing", []any{"body"}},
		{"blanks", " \n", "missing", []any{"body"}},
		{"no JSON", `{"slug":`, "json_invalid", []any{"body", 8}},
		{"two values", `{} {}`, "json_invalid", []any{"body", 4}},
		{"too deep", deep, "json_invalid", []any{"body", request.MaxDepth}},
		{"a member twice", `{"raw":{"\u0061":1,"a":2},"slug":"s"}`, "json_invalid", []any{"body", 19}},
		{"no object", `[]`, "model_attributes_type", []any{"body"}},
		{"a missing member", `{}`, "missing", []any{"body", "slug"}},
		{"a required null", `{"slug":null}`, "missing", []any{"body", "slug"}},
		{"an unknown key", `{"slug":"s","x":1}`, "extra_forbidden", []any{"body", "x"}},
		{"a hidden member", `{"slug":"s","Hidden":"1"}`, "extra_forbidden", []any{"body", "Hidden"}},
		{"another case", `{"slug":"s","Name":"1"}`, "extra_forbidden", []any{"body", "Name"}},
		{"an unknown key within", `{"slug":"s","windowing":{"x":1}}`, "extra_forbidden", []any{"body", "windowing", "x"}},
		{"a number for a string", `{"slug":1}`, "string_type", []any{"body", "slug"}},
		{"a version that is a number", `{"slug":"s","refs":[{},{"version":1}]}`, "string_type", []any{"body", "refs", 1, "version"}},
		{"a bad UUID", `{"slug":"s","id":"x"}`, "uuid_parsing", []any{"body", "id"}},
		{"no UUID", `{"slug":"s","id":1}`, "uuid_type", []any{"body", "id"}},
		{"a bad trace id", `{"slug":"s","trace_id":"x"}`, "value_error", []any{"body", "trace_id"}},
		{"a bad time", `{"slug":"s","windowing":{"newest":"now"}}`, "datetime_parsing", []any{"body", "windowing", "newest"}},
		{"a fraction", `{"slug":"s","windowing":{"limit":1.5}}`, "int_from_float", []any{"body", "windowing", "limit"}},
		{"a string for a number", `{"slug":"s","windowing":{"limit":"1"}}`, "int_type", []any{"body", "windowing", "limit"}},
		{"too large", `{"slug":"s","small":256}`, "int_parsing_size", []any{"body", "small"}},
		{"negative", `{"slug":"s","small":-1}`, "greater_than_equal", []any{"body", "small"}},
		{"no number", `{"slug":"s","windowing":{"rate":true}}`, "float_type", []any{"body", "windowing", "rate"}},
		{"no boolean", `{"slug":"s","yes":"true"}`, "bool_type", []any{"body", "yes"}},
		{"no list", `{"slug":"s","refs":{}}`, "list_type", []any{"body", "refs"}},
		{"no map", `{"slug":"s","named":[]}`, "dict_type", []any{"body", "named"}},
		{"a value of a map", `{"slug":"s","named":{"k":1}}`, "model_attributes_type", []any{"body", "named", "k"}},
		{"a key of a map", `{"slug":"s","by_trace":{"k":true}}`, "value_error", []any{"body", "by_trace", "k"}},
		{"in a Maybe", `{"slug":"s","meta":1}`, "dict_type", []any{"body", "meta"}},
		{"a type's own error", `{"slug":"s","own":3}`, "value_error", []any{"body", "own"}},
		{"a type's own location", `{"slug":"s","own":4}`, "enum", []any{"body", "own", "inner", 1}},
		{"a number beyond float", `{"slug":"s","any":1e999}`, "value_error", []any{"body", "any"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var e *domain.Error
			require.ErrorAs(t, request.Decode([]byte(tt.in), &create{}), &e)
			require.Equal(t, domain.Invalid, e.Kind)
			require.Len(t, e.Fields, 1)
			require.Equal(t, tt.kind, e.Fields[0].Type)
			require.Equal(t, tt.loc, e.Fields[0].Loc)
		})
	}
}

func TestDecodeFindsAllMistakes(t *testing.T) {
	t.Parallel()
	var e *domain.Error
	require.ErrorAs(t, request.Decode([]byte(`{"x":1,"id":"y","refs":[1,2]}`), &create{}), &e)
	at := make([][]any, 0, len(e.Fields))
	for _, f := range e.Fields {
		at = append(at, f.Loc)
	}
	require.Equal(t, [][]any{{"body", "x"}, {"body", "id"}, {"body", "refs", 0}, {"body", "refs", 1}, {"body", "slug"}}, at)
}

func TestMaybeThroughEncodingJSON(t *testing.T) {
	t.Parallel()
	var got struct{ A, B, C request.Maybe[int] }
	require.NoError(t, json.Unmarshal([]byte(`{"A":1,"B":null}`), &got))
	require.True(t, got.A.Set())
	require.True(t, got.B.Given && !got.B.Set())
	require.False(t, got.C.Given)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"A":1,"B":null,"C":null}`, string(text))
}

// FuzzDecode holds the decoder to encoding/json: what Decode reads, it reads
// alike, and nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"slug":"s","refs":[{"slug":"\ud83d\ude00"}],"raw":{"a":[1,{}]},"any":[1,"}"],"meta":{"a":null}}`))
	f.Add([]byte(`{"slug":"\\\"","named":{"":{"limit":-1e3}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got create
		if err := request.Decode(data, &got); err != nil {
			require.Equal(t, domain.Invalid, domain.KindOf(err))
			return
		}
		var std struct {
			Slug  string
			Small uint8
			Yes   bool
			Refs  []struct{ Slug, Version string }
		}
		require.NoError(t, json.Unmarshal(data, &std))
		require.Equal(t, std.Small, got.Small)
		require.Equal(t, std.Yes, got.Yes)
		require.Len(t, got.Refs, len(std.Refs))
	})
}

func TestDecodeKnown(t *testing.T) {
	t.Parallel()
	var v struct {
		A struct {
			B int `json:"b"`
		} `json:"a"`
	}
	require.NoError(t, request.DecodeKnown([]byte(`{"x":[{}],"a":{"c":{"b":2},"b":1}}`), &v))
	require.Equal(t, 1, v.A.B)
	require.Equal(t, domain.Invalid, domain.KindOf(request.DecodeKnown([]byte(`{"a":{"b":"one"}}`), &v)))
}
