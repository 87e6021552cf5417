package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

func newCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New()
	require.NoError(t, err)
	return c
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	c := newCatalog(t)
	keys := make([]string, 0, 8)
	for _, template := range c.Templates(entity.FlagApplication) {
		keys = append(keys, template.Key)
	}
	require.Equal(t, []string{"feedback", "hook", "code", "mock", "llm", "chat", "completion", "agent"}, keys)
	require.Len(t, c.Templates(entity.FlagEvaluator), 5+19)
	require.Len(t, c.Types(), 16)

	completion, ok := c.Template(entity.FlagApplication, "completion")
	require.True(t, ok)
	require.Equal(t, "svc:builtin:completion:v0", completion.Data["uri"])
	_, ok = c.Template(entity.FlagEvaluator, "completion")
	require.False(t, ok)
	feedback, _ := c.Template("", "feedback")
	require.Equal(t, "quality-rating", feedback.Presets()[0].Key)
	require.NotNil(t, completion.Presets())
}

// The shipped templates must pass the validation of requests, and every default its own schema.
func TestTemplatesAreValid(t *testing.T) {
	t.Parallel()
	c := newCatalog(t)
	for _, template := range c.Templates("") {
		documents := make([]entity.Document, 0, 2)
		documents = append(documents, template.Data)
		for _, preset := range template.Presets() {
			documents = append(documents, preset.Data)
		}
		for _, d := range documents {
			o := request.ObjectOf(d, "data")
			catalog.ReadData(o)
			require.NoError(t, o.Err(), template.Key)
		}
		schemas, _ := template.Data["schemas"].(map[string]any)
		if parameters, ok := schemas["parameters"].(map[string]any); ok {
			fields, err := catalog.Validate(t.Context(), parameters, template.Data["parameters"])
			require.NoError(t, err, template.Key)
			require.Empty(t, fields, template.Key)
		}
	}
	for _, typ := range c.Types() {
		_, err := catalog.Validate(t.Context(), typ.Schema, nil)
		require.NoError(t, err, typ.Key)
	}
}

func TestParseURI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"completion", "svc builtin completion latest", true},
		{"completion:v0", "svc builtin completion v0", true},
		{"custom:hook:v0", "svc custom hook v0", true},
		{"agenta:builtin:chat:v0", "agenta builtin chat v0", true},
		{"user:custom:mine.thing:latest", "user custom mine.thing latest", true},
		{"", "", false},
		{"a:b:c:d:e", "", false},
		{"svc::completion:v0", "", false},
		{"svc:builtin:../x:v0", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			u, err := catalog.ParseURI(tt.in)
			require.Equal(t, tt.ok, err == nil)
			if tt.ok {
				require.Equal(t, tt.want, fmt.Sprint(u.Provider, " ", u.Kind, " ", u.Key, " ", u.Version))
			}
		})
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"svc:builtin:completion:v0": "http://h/services/completion/v0",
		"agenta:builtin:chat:v0":    "http://h/services/chat/v0",
		"completion":                "http://h/services/completion/v0",
		"user:custom:x:v1":          "",
	} {
		u, err := catalog.ParseURI(in)
		require.NoError(t, err)
		require.Equal(t, want, u.URL("http://h/services/"), in)
	}
}

func read(t *testing.T, text string) (entity.Document, error) {
	t.Helper()
	o, err := request.ParseObject([]byte(text))
	require.NoError(t, err)
	return catalog.ReadData(o), o.Err()
}

func TestReadDataRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, typ, loc string }{
		{"an unknown member", `{"uri":"svc:builtin:chat:v0","nope":1}`, "extra_forbidden", "[body nope]"},
		{"an unknown handler", `{"uri":"svc:builtin:nope:v0"}`, "value_error", "[body uri]"},
		{"an unknown handler of the other name", `{"uri":"agenta:custom:nope:v0"}`, "value_error", "[body uri]"},
		{"no URI at all", `{"uri":"a:b:c:d:e"}`, "value_error", "[body uri]"},
		{"a URL that is none", `{"url":"ftp://x"}`, "url_parsing", "[body url]"},
		{"a URL without a host", `{"url":"http://"}`, "url_parsing", "[body url]"},
		{"an unknown runtime", `{"runtime":"cobol"}`, "enum", "[body runtime]"},
		{"a schema that is none", `{"schemas":{"inputs":{"type":"nonsense"}}}`, "value_error.json_schema", "[body schemas inputs]"},
		{"a schema that is a list", `{"schemas":{"inputs":[]}}`, "value_error.json_schema", "[body schemas inputs]"},
		{"a schema that reaches out", `{"schemas":{"inputs":{"$ref":"file:///etc/passwd"}}}`, "value_error.json_schema", "[body schemas inputs]"},
		{"an unknown schema", `{"schemas":{"middle":{}}}`, "extra_forbidden", "[body schemas middle]"},
		{"parameters that are a list", `{"parameters":[]}`, "dict_type", "[body parameters]"},
		{"a header that is a number", `{"headers":{"a":1}}`, "string_type", "[body headers a]"},
		{"a header that refers to nothing", `{"headers":{"a":{}}}`, "missing", "[body headers a]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, tt.in)
			e, ok := errors.AsType[*domain.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, domain.Invalid, e.Kind)
			require.Equal(t, tt.typ, e.Fields[0].Type)
			require.Equal(t, tt.loc, fmt.Sprint(e.Fields[0].Loc))
		})
	}
}

func TestReadDataKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	text := `{"headers":{"a":"b","s":{"slug":"secret"}},"parameters":{"n":1.50,"big":9007199254740993},"runtime":"python",
		"schemas":{"inputs":{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"pattern":"(?<=x)y"}}},"outputs":true},"script":"","uri":"user:custom:x:v1","url":"https://a.b/c"}`
	data, err := read(t, text)
	require.NoError(t, err)
	got, err := json.Marshal(data)
	require.NoError(t, err)
	require.JSONEq(t, text, string(got))
	require.Contains(t, string(got), "9007199254740993")
}

func TestFlags(t *testing.T) {
	t.Parallel()
	roles := entity.Document{"is_application": true, "is_evaluator": false}
	tests := []struct {
		name, data string
		on         []string
	}{
		{"nothing", `{}`, nil},
		{"completion", `{"uri":"svc:builtin:completion:v0"}`, []string{"is_managed", "has_url"}},
		{"chat", `{"uri":"agenta:builtin:chat:v0"}`, []string{"is_managed", "has_url", "is_chat"}},
		{"llm", `{"uri":"llm"}`, []string{"is_managed", "has_url", "is_llm"}},
		{"hook", `{"uri":"svc:custom:hook:v0","url":"http://a.b"}`, []string{"is_managed", "is_custom", "is_hook", "has_url"}},
		{"code", `{"uri":"svc:custom:code:v0","script":"x"}`, []string{"is_managed", "is_custom", "is_code", "has_script", "has_url"}},
		{"feedback", `{"uri":"svc:custom:feedback:v0"}`, []string{"is_managed", "is_custom", "is_feedback", "has_url"}},
		{"a user's own", `{"uri":"user:custom:mine:v1"}`, []string{"is_custom"}},
		{"a user's own that takes messages", `{"uri":"user:custom:mine:v1","schemas":{"inputs":{"properties":{"m":{"x-ag-type-ref":"messages"}}}}}`, []string{"is_custom", "is_chat"}},
		{"parameters alone", `{"parameters":{"a":1}}`, []string{"is_static"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data, err := read(t, tt.data)
			require.NoError(t, err)
			want := entity.Document{}
			for _, f := range []string{
				"is_application", "is_evaluator", "is_snippet", "is_managed", "is_custom", "is_llm", "is_hook", "is_code", "is_match", "is_feedback",
				"is_agent", "is_skill", "is_chat", "has_url", "has_script", "has_handler", "is_static",
			} {
				want[f] = f == "is_application"
			}
			want["mine"] = true
			for _, f := range tt.on {
				want[f] = true
			}
			require.Empty(t, cmp.Diff(want, catalog.Flags(data, roles, entity.Document{"mine": true, "is_llm": true, "is_application": false})), "(-want +got)")
		})
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	c := newCatalog(t)
	const base = "http://h/services"
	data, err := read(t, `{"uri":"svc:builtin:completion:v0","url":"http://old/place","schemas":{"inputs":{"type":"object","required":["country"]}},
		"parameters":{"prompt":{"llm_config":{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","title":"mine"}}}}}}}`)
	require.NoError(t, err)
	stored := c.Complete(data, base)
	require.NotContains(t, stored, "url", "a built-in handler's place is not stored")
	schemas, ok := stored["schemas"].(map[string]any)
	require.True(t, ok)
	member := func(schema, name string) any {
		m, ok := schemas[schema].(map[string]any)
		require.True(t, ok)
		return m[name]
	}
	require.Equal(t, "mine", member("outputs", "title"))
	require.NotNil(t, schemas["parameters"])
	require.NotNil(t, member("inputs", "required"), "what the caller gave stands")
	require.Equal(t, base+"/completion/v0", catalog.WithURL(stored, base)["url"])
	require.Equal(t, "http://old/place", data["url"], "the given document is not touched")

	hook := c.Complete(entity.Document{"uri": "svc:custom:hook:v0", "url": "http://mine"}, base)
	require.Equal(t, "http://mine", catalog.WithURL(hook, base)["url"])
	code := c.Complete(entity.Document{"uri": "svc:custom:code:v0"}, base)
	require.Equal(t, base+"/code/v0", code["url"])
	foreign := entity.Document{"uri": "user:custom:x:v1"}
	require.Equal(t, foreign, catalog.WithURL(c.Complete(foreign, base), base))
	require.Nil(t, c.Complete(nil, base))
}

// What is made of a first result takes the next one.
func TestAnInferredSchemaCanBeUsed(t *testing.T) {
	t.Parallel()
	value := map[string]any{}
	for i := range 5000 {
		value[strconv.Itoa(i)] = 1.0
	}
	fields, err := catalog.Validate(t.Context(), catalog.InferSchema(value), value)
	require.NoError(t, err)
	require.Empty(t, fields)
}

func TestInferAndValidate(t *testing.T) {
	t.Parallel()
	decode := func(text string) any {
		v, err := request.ParseValue([]byte(text))
		require.NoError(t, err)
		return v
	}
	schema := catalog.InferSchema(decode(`{"score":1,"comment":"x","ok":true,"tags":["a"],"nothing":null,"more":{"n":1}}`))
	tests := []struct{ name, in, want string }{
		{"the same again", `{"score":1,"comment":"x","ok":true,"tags":["a"],"nothing":null,"more":{"n":1}}`, ""},
		{"a fraction, and parts missing", `{"score":0.5}`, ""},
		{"an additional member", `{"other":1}`, ""},
		{"a wrong type", `{"score":"high"}`, "[body annotation data outputs score]"},
		{"a wrong type in a list", `{"tags":["a",2]}`, "[body annotation data outputs tags 1]"},
		{"a wrong type deep down", `{"more":{"n":"x"}}`, "[body annotation data outputs more n]"},
		{"no object", `[]`, "[body annotation data outputs]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fields, err := catalog.Validate(t.Context(), schema, decode(tt.in), "body", "annotation", "data", "outputs")
			require.NoError(t, err)
			require.Equal(t, tt.want == "", len(fields) == 0)
			for _, f := range fields {
				require.Equal(t, "value_error.json_schema", f.Type)
				require.Equal(t, tt.want, fmt.Sprint(f.Loc))
				require.NotEmpty(t, f.Msg)
			}
		})
	}
	_, err := catalog.Validate(t.Context(), map[string]any{"type": "nonsense"}, nil)
	require.Error(t, err)
}

// The parts of a schema refer to each other: neither how many they are nor how
// often each is tried may keep a processor, or end the process.
func TestSchemasAreBounded(t *testing.T) {
	t.Parallel()
	chain := func(n int, link func(next map[string]any) map[string]any, last any) map[string]any {
		parts := map[string]any{fmt.Sprint("p", n): last}
		for i := range n {
			parts[fmt.Sprint("p", i)] = link(map[string]any{"$ref": fmt.Sprint("#/$defs/p", i+1)})
		}
		return map[string]any{"$ref": "#/$defs/p0", "$defs": parts}
	}
	either := func(next map[string]any) map[string]any { return map[string]any{"anyOf": []any{next, next}} }
	hidden := chain(60, func(next map[string]any) map[string]any {
		return map[string]any{"dependentSchemas": map[string]any{"a": next, "b": next}}
	}, map[string]any{"required": []any{"c"}})
	again := map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#"}}}
	itself := func(next map[string]any) map[string]any { return next }
	var nested any = map[string]any{}
	for range 120 {
		nested = map[string]any{"a": nested}
	}
	for _, tt := range []struct {
		name   string
		schema map[string]any
		value  any
		want   string
	}{
		{"each part tries the next twice", chain(60, either, false), "x", "too many steps"},
		{"the same out of sight", map[string]any{"not": map[string]any{"$ref": "#/$defs/p0"}, "$defs": hidden["$defs"]}, map[string]any{"a": 1, "b": 1}, "too many steps"},
		{"the same for any part by name", map[string]any{
			"$ref": "#/$defs/outer", "$defs": map[string]any{
				"outer": map[string]any{"$id": "urn:outer", "$dynamicAnchor": "part", "anyOf": []any{map[string]any{"$ref": "urn:inner"}, map[string]any{"$ref": "urn:inner"}}},
				"inner": map[string]any{"$id": "urn:inner", "$dynamicAnchor": "part", "properties": map[string]any{"a": map[string]any{"$dynamicRef": "#part"}}, "required": []any{"c"}},
			},
		}, nested, "too many steps"},
		{"as deep as it is long times as deep as the value", chain(10_000, itself, again), nested, "parts"},
		{"many parts", map[string]any{"allOf": make([]any, 1)}, nested, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.schema["allOf"] = slices.Repeat([]any{true}, 100_000)
				tt.want = "parts"
			}
			_, err := catalog.Validate(t.Context(), tt.schema, tt.value)
			require.ErrorContains(t, err, tt.want)
		})
	}
	deep := chain(1200, itself, again)
	fields, err := catalog.Validate(t.Context(), deep, nested)
	require.NoError(t, err)
	require.Empty(t, fields)

	fields, err = catalog.Validate(t.Context(), map[string]any{"items": map[string]any{"type": "string"}}, slices.Repeat([]any{1.0}, 1000))
	require.NoError(t, err)
	require.Len(t, fields, 100, "the first are reported")

	// Each of the places has the name in its way.
	name := strings.Repeat("n", 1<<20)
	fields, err = catalog.Validate(t.Context(), map[string]any{"additionalProperties": map[string]any{"items": map[string]any{"type": "string"}}},
		map[string]any{name: slices.Repeat([]any{true}, 50_000)}, "data")
	require.NoError(t, err)
	require.Len(t, fields, 100)
	require.Equal(t, []any{"data", name, 0}, fields[0].Loc)
	require.Equal(t, "got boolean, want string", fields[0].Msg)
	require.Equal(t, true, fields[0].Input)

	long := "(?:" + strings.Repeat("ab?", 100) + "){80}"
	patterns := map[string]any{"pattern": long, "properties": map[string]any{}}
	for i := range 20 {
		patterns["properties"].(map[string]any)[strconv.Itoa(i)] = map[string]any{"pattern": long}
	}
	_, err = catalog.Validate(t.Context(), patterns, "x")
	require.ErrorContains(t, err, "regular expressions")
	_, err = catalog.Validate(t.Context(), map[string]any{"pattern": long + "c"}, strings.Repeat("ab", 1<<20))
	require.Equal(t, domain.TooLarge, domain.KindOf(err), "a text that is too long to be looked through")
}

// All that a validation does is paid from one budget, whichever part of the schema does it.
// Without it these take minutes to hours.
func TestValidationHasOneBudget(t *testing.T) {
	t.Parallel()
	pattern := "(?:" + strings.Repeat("a?", 500) + "){20}b" // about 20 000 instructions
	texts := slices.Repeat([]any{strings.Repeat("a", 1000)}, 100)
	names := map[string]any{}
	for i := range 5000 {
		names["a"+strconv.Itoa(i)] = i
	}
	words := make([]any, 100_000)
	for i := range words {
		words[i] = "w" + strconv.Itoa(i)
	}
	ref := map[string]any{"$ref": "#/$defs/p"}
	nested := any([]any{words})
	text := map[string]any{"type": "string"}
	for _, tt := range []struct {
		name   string
		schema map[string]any
		value  any
	}{
		{"a pattern for each element", map[string]any{"items": map[string]any{"pattern": pattern}}, texts},
		{"a pattern in many parts", map[string]any{"$defs": map[string]any{"p": map[string]any{"pattern": pattern}}, "allOf": slices.Repeat([]any{ref}, 100)}, texts[0]},
		{"a pattern for each name", map[string]any{"patternProperties": map[string]any{pattern: true}}, names},
		{"a pattern for each name of the names", map[string]any{"propertyNames": map[string]any{"pattern": pattern}}, names},
		{"a list for each element", map[string]any{"items": map[string]any{"enum": words}}, words},
		{"a constant in many parts", map[string]any{"$defs": map[string]any{"p": map[string]any{"const": words}}, "not": map[string]any{"anyOf": slices.Repeat([]any{ref}, 500)}}, words},
		{"types that do not fit, for each element", map[string]any{"$defs": map[string]any{"p": text}, "items": map[string]any{"anyOf": slices.Repeat([]any{ref}, 1000)}}, slices.Repeat([]any{1.0}, 100_000)},
		{"elements that are not alike, in many parts", map[string]any{"$defs": map[string]any{"p": map[string]any{"uniqueItems": true}}, "allOf": slices.Repeat([]any{ref}, 500)}, []any{nested, words}},
		{"members that are left over, in many parts", map[string]any{"$defs": map[string]any{"p": true}, "allOf": slices.Repeat([]any{ref}, 1000), "unevaluatedProperties": true}, names},
		{"any part by name", map[string]any{
			"$dynamicAnchor": "p", "anyOf": slices.Repeat([]any{map[string]any{"required": []any{"c"}, "items": map[string]any{"$dynamicRef": "#p"}}}, 300), "items": map[string]any{"$dynamicRef": "#p"},
		}, []any{[]any{[]any{slices.Repeat([]any{[]any{}}, 100)}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Validate(t.Context(), tt.schema, tt.value)
			require.Equal(t, domain.TooLarge, domain.KindOf(err), "%v", err)
		})
	}

	// What people have stays far below.
	rows := slices.Repeat([]any{map[string]any{"id": "0190", "score": 0.5, "tags": []any{"a", "b"}}}, 10_000)
	fields, err := catalog.Validate(t.Context(), map[string]any{"type": "array", "items": map[string]any{
		"type": "object", "required": []any{"id"}, "additionalProperties": false, "properties": map[string]any{
			"id": map[string]any{"type": "string", "pattern": "^[0-9a-f-]{4,36}$"}, "score": map[string]any{"type": "number", "minimum": 0, "maximum": 1},
			"tags": map[string]any{"type": "array", "items": map[string]any{"enum": []any{"a", "b", "c"}}},
		},
	}}, rows)
	require.NoError(t, err)
	require.Empty(t, fields)
}

// A validation ends with the request that it is for.
func TestValidationEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := catalog.Validate(ctx, map[string]any{"items": map[string]any{"pattern": "^(?:ab?){100}c"}}, slices.Repeat([]any{strings.Repeat("ab", 100)}, 400))
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzReadData(f *testing.F) {
	f.Add([]byte(`{"uri":"svc:builtin:chat:v0","schemas":{"inputs":{"type":"object"}}}`))
	c, err := catalog.New()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := request.ParseObject(in)
		if err != nil {
			return
		}
		data := catalog.ReadData(o)
		if o.Err() != nil {
			return
		}
		stored := c.Complete(data, "http://h")
		catalog.Flags(stored, nil, nil)
		require.Equal(t, stored, c.Complete(stored, "http://h"), "completing twice changes nothing")
	})
}

// A judge begins with one of several presets, each of which is a whole evaluator.
func TestPresetsOfTheJudge(t *testing.T) {
	t.Parallel()
	judge, ok := newCatalog(t).Template(entity.FlagEvaluator, "auto_ai_critique")
	require.True(t, ok)
	presets := judge.Presets()
	require.GreaterOrEqual(t, len(presets), 10)
	schemas, _ := judge.Data["schemas"].(map[string]any)
	keys := map[string]bool{}
	for _, p := range presets {
		require.False(t, keys[p.Key], p.Key)
		keys[p.Key] = true
		require.NotEmpty(t, p.Name+p.Description, p.Key)
		require.Equal(t, judge.Data["uri"], p.Data["uri"], p.Key)
		fields, err := catalog.Validate(t.Context(), schemas["parameters"].(map[string]any), p.Data["parameters"])
		require.NoError(t, err, p.Key)
		require.Empty(t, fields, p.Key)
		parameters, _ := p.Data["parameters"].(map[string]any)
		asked, _ := parameters["json_schema"].(map[string]any)
		fields, err = catalog.Validate(t.Context(), asked["schema"].(map[string]any), map[string]any{"score": 1.0, "success": true, "reason": "why"})
		require.NoError(t, err, p.Key)
		require.Empty(t, fields, p.Key)
	}
	require.True(t, keys["hallucination"])
}

func TestSettingsOfTemplates(t *testing.T) {
	t.Parallel()
	c := newCatalog(t)
	for key, direct := range map[string]bool{"auto_exact_match": true, "auto_contains_json": true, "auto_regex_test": false, "auto_contains_any": false, "feedback": false} {
		template, ok := c.Template(entity.FlagEvaluator, key)
		require.True(t, ok, key)
		require.Equal(t, direct, template.DirectUse(), key)
		require.NotNil(t, template.Settings(), key)
	}
	exact, _ := c.Template(entity.FlagEvaluator, "auto_exact_match")
	require.Equal(t, map[string]catalog.Setting{
		"correct_answer_key": {Label: "Correct Answer Key", Type: "string", Default: "correct_answer", GroundTruthKey: true},
	}, exact.Settings())
}

func TestTheTypeOfModels(t *testing.T) {
	t.Parallel()
	for _, typ := range newCatalog(t).Types() {
		if typ.Key != "model" {
			continue
		}
		require.Equal(t, "grouped_choice", typ.Schema["x-ag-type"])
		choices, _ := typ.Schema["choices"].(map[string]any)
		require.Contains(t, choices["openai"], "gpt-4o-mini")
		require.Contains(t, choices["anthropic"], "anthropic/claude-sonnet-4-5")
		return
	}
	require.Fail(t, "there is no type model")
}
