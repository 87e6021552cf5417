package semconv_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/write/otlp/wire"
	"colonnade/write/semconv"
	"colonnade/write/semconv/convert"
)

type object = map[string]any

// pairs are attributes as key, value, key, value.
func pairs(kv ...any) (attributes []wire.Attribute) {
	for i := 0; i < len(kv); i += 2 {
		key, _ := kv[i].(string)
		attributes = append(attributes, wire.Attribute{Key: key, Value: kv[i+1]})
	}
	return attributes
}

// mapping is one row of a table: what a span has and what becomes of it, in order.
type mapping struct {
	name   string
	in     []wire.Attribute
	events []wire.Event
	want   []wire.Attribute
}

// translate returns what is put by the name of the attribute, the strongest of
// equal names.
func translate(t *testing.T, span *wire.Span) object {
	t.Helper()
	var overlay semconv.Overlay
	overlay.Translate(span, "", func(convention string) { t.Errorf("%s failed", convention) })
	got := object{}
	for _, entries := range overlay.Strongest() {
		for _, e := range entries {
			if _, taken := got[e.Key]; !taken {
				got[e.Key] = e.Value
			}
		}
	}
	return got
}

// nested returns the tree of attributes by dotted name; numbers are positions in lists.
func nested(flat object) any {
	tree := object{}
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		at, segments := tree, strings.Split(key, ".")
		for _, s := range segments[:len(segments)-1] {
			next, ok := at[s].(object)
			if !ok {
				next = object{}
				at[s] = next
			}
			at = next
		}
		last := segments[len(segments)-1]
		if v, ok := flat[key].(object); ok {
			at[last] = maps.Clone(v)
		} else {
			at[last] = flat[key]
		}
	}
	return lists(tree)
}

func lists(v any) any {
	o, ok := v.(object)
	if !ok {
		return v
	}
	var list []any
	for k, e := range o {
		o[k] = lists(e)
		if n, err := strconv.Atoi(k); err == nil {
			list = append(list, nil)[:max(len(list), n+1)]
		}
	}
	if len(list) == 0 || len(list) != len(o) {
		return o
	}
	for i := range list {
		list[i] = o[strconv.Itoa(i)]
	}
	return list
}

// asObject returns attributes by name.
func asObject(attributes []wire.Attribute) object {
	out := object{}
	for _, a := range attributes {
		out[a.Key] = a.Value
	}
	return out
}

func check(t *testing.T, tests []mapping) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			backwards := slices.Clone(tt.in)
			slices.Reverse(backwards)
			for _, in := range [][]wire.Attribute{tt.in, backwards} { // their order decides nothing
				got := translate(t, &wire.Span{Attributes: in, Events: tt.events})
				if diff := cmp.Diff(nested(asObject(tt.want)), nested(got)); diff != "" {
					t.Errorf("translated (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// exact is a row of a table whose value goes elsewhere as it is.
func exact(from, to string, value any) mapping {
	return mapping{name: from, in: pairs(from, value), want: pairs(to, value)}
}

func TestNativeSpansAreLeftAlone(t *testing.T) {
	t.Parallel()
	require.Empty(t, translate(t, &wire.Span{Attributes: pairs("ag.data.inputs", "x", "ag.type.node", "chat", "http.method", "GET", "ai", "x", "geni.x", 1)}))
}

func TestOrderOfConventions(t *testing.T) {
	t.Parallel()
	got := translate(t, &wire.Span{Attributes: pairs(
		"llm.request.type", "completion",
		"openinference.span.kind", "CHAIN",
		"gen_ai.operation.name", "chat",
		"ai.operationId", "ai.toolCall",
	)})
	want := object{semconv.NodeType: "tool"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the strongest first (-want +got):\n%s", diff)
	}
}

func TestOverlayIsReused(t *testing.T) {
	t.Parallel()
	var overlay semconv.Overlay
	overlay.Translate(&wire.Span{Attributes: pairs("gen_ai.system", "a", "ai.model.id", "b")}, "", nil)
	overlay.Translate(&wire.Span{Attributes: pairs("llm.headers", "c")}, "", nil)
	var got []wire.Attribute
	for _, entries := range overlay.Strongest() {
		got = append(got, entries...)
	}
	require.Equal(t, pairs("ag.meta.request.headers", "c"), got)
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	deepest := strings.Repeat("[", wire.MaxValueDepth) + strings.Repeat("]", wire.MaxValueDepth)
	deep := "[" + deepest + "]"
	for text, ok := range map[string]bool{`{"a":[1,2.5,null]}`: true, `"x"`: true, ``: false, `{`: false, deepest: true, deep: false, `[[],[],[]]`: true, `"\ud800"`: false, `12345678901234567890`: false} {
		_, got := convert.ParseJSON(text)
		require.Equal(t, ok, got, text)
	}
}

// FuzzTranslate shows that no attributes make a convention fail, and that what
// it makes of them are ag attributes.
func FuzzTranslate(f *testing.F) {
	for _, key := range []string{
		"gen_ai.input.messages", "gen_ai.output.messages", "pydantic_ai.all_messages", "events", "gen_ai.tool.definitions", "final_result",
		"traceloop.entity.input", "llm.tools.0.tool.json_schema", "llm.input_messages.0.message.tool_calls.0.tool_call.id", "llm.invocation_parameters",
		"ai.prompt", "ai.response.toolCalls", "ai.prompt.tools", "gen_ai.usage.input_tokens", "openinference.span.kind", "gen_ai.prompt.0.role",
	} {
		f.Add(key, `[{"role":"user","parts":[{"type":"text","content":"x"},{"type":"tool_call","arguments":{}},{"type":"tool_call_response"},1]}]`, "gen_ai.tool.name", "t")
		f.Add(key, `[{"event.name":"gen_ai.choice","message":{"content":1}},{"event.name":"gen_ai.user.message"},null]`, "gen_ai.operation.name", "invoke_agent")
		f.Add(key, `{"inputs":{},"outputs":[]}`, "openinference.span.kind", "llm")
	}
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 string) {
		in := pairs(key1, value1, key2, value2)
		if v, ok := convert.ParseJSON(value1); ok {
			in = append(in, pairs(key1, v)...)
		}
		event := wire.Event{Name: key2, Attributes: map[string]any{key1: value1}}
		for key := range translate(t, &wire.Span{Attributes: in, Events: []wire.Event{event}}) {
			require.Regexp(t, `^ag\.`, key)
		}
	})
}

func BenchmarkTranslate(b *testing.B) {
	message := `[{"role":"user","parts":[{"type":"text","content":"What is the weather in Paris today?"}]}]`
	for name, in := range map[string][]wire.Attribute{
		"native":        pairs("ag.type.node", "chat", "ag.data.inputs", "x", "ag.data.outputs", "y", "ag.session.id", "s", "http.method", "GET"),
		"openllmetry":   pairs("llm.request.type", "chat", "llm.usage.total_tokens", int64(3), "llm.request.functions.0.name", "f", "traceloop.entity.name", "e", "llm.headers", "h"),
		"openinference": pairs("openinference.span.kind", "LLM", "llm.model_name", "m", "llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "hi", "llm.token_count.prompt", int64(3)),
		"gen_ai":        pairs("gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.usage.input_tokens", int64(3), "gen_ai.usage.output_tokens", int64(4), "gen_ai.input.messages", message),
		"vercel":        pairs("ai.operationId", "ai.generateText", "ai.prompt", `{"prompt":"hi"}`, "ai.response.text", "hello", "ai.usage.promptTokens", int64(3), "ai.model.id", "m"),
	} {
		b.Run(name, func(b *testing.B) {
			span := &wire.Span{Attributes: in}
			var overlay semconv.Overlay
			b.ReportAllocs()
			for b.Loop() {
				overlay.Translate(span, "", nil)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

// TestWhatWasSentStaysAsItIs: the attributes and events of a span are in the tree
// too, and what a convention makes of them must not change them.
func TestWhatWasSentStaysAsItIs(t *testing.T) {
	t.Parallel()
	message := map[string]any{"role": "assistant", "content": "hello"}
	event := map[string]any{"event.name": "gen_ai.choice", "finish_reason": "stop", "message": message}
	part := map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": "hi"}}}
	span := wire.Span{
		Attributes: pairs("events", []any{event}, "gen_ai.tool.name", "t", "gen_ai.input.messages", []any{part}),
		Events:     []wire.Event{{Name: "gen_ai.choice", Attributes: map[string]any{"finish_reason": "stop", "message": message}}},
	}
	before := string(jsonvalue.Append(nil, []any{event, part, message}))
	var overlay semconv.Overlay
	overlay.Translate(&span, "", func(convention string) { t.Errorf("%s failed", convention) })
	require.Equal(t, before, string(jsonvalue.Append(nil, []any{event, part, message})))
}
