package normalize_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/common/v1"
	origin "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/normalize"
)

// object is short for a JSON object in expectations.
type object = map[string]any

// attribute is one key with its value, in the order of the wire.
type attribute struct {
	key   string
	value any
}

var received = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func newNormalizer(tb testing.TB) *normalize.Normalizer {
	tb.Helper()
	f, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
	require.NoError(tb, err)
	return f
}

func anyValue(v any) *collector.AnyValue {
	switch v := v.(type) {
	case nil:
		return &collector.AnyValue{}
	case bool:
		return &collector.AnyValue{Value: &collector.AnyValue_BoolValue{BoolValue: v}}
	case int:
		return anyValue(int64(v))
	case int64:
		return &collector.AnyValue{Value: &collector.AnyValue_IntValue{IntValue: v}}
	case float64:
		return &collector.AnyValue{Value: &collector.AnyValue_DoubleValue{DoubleValue: v}}
	case string:
		return &collector.AnyValue{Value: &collector.AnyValue_StringValue{StringValue: v}}
	case []any:
		list := &collector.ArrayValue{}
		for _, e := range v {
			list.Values = append(list.Values, anyValue(e))
		}
		return &collector.AnyValue{Value: &collector.AnyValue_ArrayValue{ArrayValue: list}}
	case map[string]any:
		list := &collector.KeyValueList{}
		for k, e := range v {
			list.Values = append(list.Values, &collector.KeyValue{Key: k, Value: anyValue(e)})
		}
		return &collector.AnyValue{Value: &collector.AnyValue_KvlistValue{KvlistValue: list}}
	default:
		panic("not an attribute value")
	}
}

func keyValues(attributes []attribute) (kvs []*collector.KeyValue) {
	for _, a := range attributes {
		kvs = append(kvs, &collector.KeyValue{Key: a.key, Value: anyValue(a.value)})
	}
	return kvs
}

func id(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

const (
	traceHex = "31d6cfe04b9011ec800142010a8000b0"
	spanHex  = "31d6cfe04b9011ec"
)

// newSpan is a root span of one and a half seconds.
func newSpan(attributes ...attribute) *otlp.Span {
	return &otlp.Span{
		TraceId: id(traceHex), SpanId: id(spanHex), Name: "root",
		StartTimeUnixNano: 1_700_000_000_000_000_000, EndTimeUnixNano: 1_700_000_001_500_000_000,
		Attributes: keyValues(attributes),
	}
}

func record(tb testing.TB, spans ...*otlp.Span) []byte {
	tb.Helper()
	data, err := proto.Marshal(&otlp.TracesData{ResourceSpans: []*otlp.ResourceSpans{{
		ScopeSpans: []*otlp.ScopeSpans{{Spans: spans}},
	}}})
	require.NoError(tb, err)
	return data
}

func fitOne(t *testing.T, span *otlp.Span) trace.Span {
	t.Helper()
	spans, refused, err := newNormalizer(t).Spans(normalize.Meta{Source: "otlp", ReceivedAt: received}, record(t, span))
	require.NoError(t, err)
	require.Empty(t, refused)
	require.Len(t, spans, 1)
	open(t, spans[0].Attributes)
	return spans[0]
}

// open reads a fitted span's documents, which are to be what they say in the canonical form.
func open(t *testing.T, attributes object) {
	t.Helper()
	before := jsonvalue.Append(nil, attributes)
	jsonvalue.Expand(attributes)
	require.Equal(t, string(jsonvalue.Append(nil, attributes)), string(before))
}

// metricsOf is ag.metrics with the duration of newSpan and these tokens.
func metricsOf(tokens object) object {
	return object{"duration": object{"cumulative": 1500.0}, "errors": object{}, "tokens": tokens, "costs": object{}}
}

// TestWorkedExamples is contract §11.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []attribute
		want object
		typ  trace.SpanType
		hash string
	}{
		{
			name: "1: the native convention",
			in: []attribute{
				{"ag.type.node", "workflow"},
				{"ag.data.inputs", `@ag.type=json:{"country":"France"}`},
				{"ag.data.outputs", "Paris"},
				{"ag.metrics.unit.tokens.prompt", 10},
				{"ag.metrics.unit.tokens.completion", 5},
				{"ag.metrics.unit.tokens.total", 15},
				{"ag.refs.application.slug", "my-app"},
				{"ag.refs.variant.slug", "v"},
				{"ag.refs.variant.version", "3"},
				{"ag.foo.bar", 1},
				{"ag.session.id", "s1"},
				{"ag.user.id", "u1"},
				{"ag.flags.stream", false},
				{"ag.tags.k", "v"},
				{"ag.meta.x.y", 1},
				{"ag.data.weird", "z"},
				{"service", "x"},
			},
			want: object{
				"service": "x",
				"ag": object{
					"type":    object{"span": "workflow"},
					"data":    object{"inputs": object{"country": "France"}, "outputs": "Paris"},
					"session": object{"id": "s1"},
					"user":    object{"id": "u1"},
					"metrics": metricsOf(object{"incremental": object{"prompt": int64(10), "completion": int64(5), "total": int64(15)}}),
					"flags":   object{"stream": false},
					"tags":    object{"k": "v"},
					"meta":    object{"x": object{"y": int64(1)}},
					"references": object{
						"application": object{"slug": "my-app"}, "application_variant": object{"slug": "v"}, "application_revision": object{"version": "3"},
					},
					"unsupported": object{"data": object{"weird": "z"}, "foo": object{"bar": int64(1)}},
				},
			},
			typ:  trace.Workflow,
			hash: "0d72a456-77f3-5d1f-f16d-f6a5a0cf09b1",
		},
		{
			name: "2: declared types stand (overruled by section 0, rows 7 and 13)",
			in:   []attribute{{"ag.type.span", "chat"}, {"ag.type.trace", "annotation"}},
			want: object{"ag": object{"type": object{"span": "chat", "trace": "annotation"}, "metrics": metricsOf(object{})}},
			typ:  trace.Chat,
		},
		{
			name: "3: gen_ai with OpenLLMetry messages",
			in: []attribute{
				{"gen_ai.operation.name", "chat"},
				{"gen_ai.system", "openai"},
				{"gen_ai.request.model", "m-1"},
				{"gen_ai.response.model", "m-1-x"},
				{"gen_ai.usage.input_tokens", 3},
				{"gen_ai.usage.output_tokens", 4},
				{"gen_ai.prompt.0.role", "user"},
				{"gen_ai.prompt.0.content", "hi"},
				{"gen_ai.completion.0.role", "assistant"},
				{"gen_ai.completion.0.content", "hello"},
			},
			want: object{
				"gen_ai": object{
					"operation": object{"name": "chat"}, "system": "openai",
					"request": object{"model": "m-1"}, "response": object{"model": "m-1-x"},
					"usage":      object{"input_tokens": int64(3), "output_tokens": int64(4)},
					"prompt":     []any{object{"role": "user", "content": "hi"}},
					"completion": []any{object{"role": "assistant", "content": "hello"}},
				},
				"ag": object{
					"type": object{"span": "chat"},
					"data": object{
						"inputs":  object{"prompt": []any{object{"role": "user", "content": "hi"}}},
						"outputs": object{"completion": []any{object{"role": "assistant", "content": "hello"}}},
					},
					"metrics": metricsOf(object{"incremental": object{"prompt": int64(3), "completion": int64(4), "total": int64(7)}}),
					"meta":    object{"system": "openai", "request": object{"model": "m-1"}, "response": object{"model": "m-1-x"}},
				},
			},
			typ: trace.Chat,
		},
		{
			name: "4: OpenInference, where messages win",
			in: []attribute{
				{"openinference.span.kind", "LLM"},
				{"llm.model_name", "m-1"},
				{"llm.token_count.prompt", 1},
				{"llm.token_count.completion", 2},
				{"input.value", `{"raw":true}`},
				{"input.mime_type", "application/json"},
				{"output.value", "raw"},
				{"llm.input_messages.0.message.role", "user"},
				{"llm.output_messages.0.message.role", "assistant"},
			},
			want: object{
				"openinference": object{"span": object{"kind": "LLM"}},
				"llm": object{
					"model_name": "m-1", "token_count": object{"prompt": int64(1), "completion": int64(2)},
					"input_messages":  []any{object{"message": object{"role": "user"}}},
					"output_messages": []any{object{"message": object{"role": "assistant"}}},
				},
				"input":  object{"value": `{"raw":true}`, "mime_type": "application/json"},
				"output": object{"value": "raw"},
				"ag": object{
					"type":    object{"span": "chat"},
					"data":    object{"inputs": object{"prompt": []any{object{"role": "user"}}}, "outputs": object{"completion": []any{object{"role": "assistant"}}}},
					"metrics": metricsOf(object{"incremental": object{"prompt": int64(1), "completion": int64(2), "total": int64(3)}}),
					"meta":    object{"response": object{"model": "m-1"}, "input": object{"mime_type": "application/json"}},
				},
			},
			typ: trace.Chat,
		},
		{
			name: "5: Vercel AI SDK",
			in: []attribute{
				{"ai.operationId", "ai.generateText"},
				{"ai.prompt", `{"prompt":"hi"}`},
				{"ai.response.text", "hello"},
				{"ai.usage.promptTokens", 1},
				{"ai.usage.completionTokens", 2},
				{"ai.telemetry.metadata.sessionId", "s1"},
				{"ai.telemetry.metadata.userId", "u1"},
			},
			want: object{
				"ai": object{
					"operationId": "ai.generateText", "prompt": `{"prompt":"hi"}`, "response": object{"text": "hello"},
					"usage":     object{"promptTokens": int64(1), "completionTokens": int64(2)},
					"telemetry": object{"metadata": object{"sessionId": "s1", "userId": "u1"}},
				},
				"ag": object{
					"type":    object{"span": "chain"},
					"data":    object{"inputs": object{"prompt": "hi"}, "outputs": "hello"},
					"metrics": metricsOf(object{"incremental": object{"prompt": int64(1), "completion": int64(2), "total": int64(3)}}),
					"session": object{"id": "s1"}, "user": object{"id": "u1"},
				},
			},
			typ: trace.Chain,
		},
		{
			name: "6: documents that are text",
			in: []attribute{
				{"ag.data.inputs", "not json"},
				{"ag.data.parameters", "[1,2]"},
				{"ag.data.internals", `{"a":1}`},
				{"ag.data.outputs", `{"a":1}`},
			},
			want: object{"ag": object{
				"type": object{}, "metrics": metricsOf(object{}),
				"data":        object{"internals": object{"a": int64(1)}, "outputs": `{"a":1}`},
				"unsupported": object{"data": object{"inputs": "not json", "parameters": "[1,2]"}},
			}},
		},
		{
			name: "7: metric names",
			in:   []attribute{{"ag.metrics.foo.bar", 1}, {"ag.metrics.unit.costs.total", 0.5}, {"ag.metrics.acc.tokens.total", 7}},
			want: object{"ag": object{
				"type": object{},
				"metrics": object{
					"duration": object{"cumulative": 1500.0}, "errors": object{},
					"tokens": object{"cumulative": object{"total": int64(7)}}, "costs": object{"incremental": object{"total": 0.5}},
				},
				"unsupported": object{"metrics": object{"foo": object{"bar": int64(1)}}},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			span := fitOne(t, newSpan(tt.in...))
			if diff := cmp.Diff(tt.want, span.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			require.Equal(t, tt.typ, span.SpanType)
			require.Equal(t, tt.hash, hashOf(span))
		})
	}
}

// TestEventsAndLinks is worked examples 8 and 9.
func TestEventsAndLinks(t *testing.T) {
	t.Parallel()
	event := func(name string) *otlp.Span_Event { return &otlp.Span_Event{Name: name, TimeUnixNano: 7} }
	link := func(kvs ...attribute) *otlp.Span_Link {
		return &otlp.Span_Link{TraceId: id(traceHex), SpanId: id(spanHex), Attributes: keyValues(kvs)}
	}
	tests := []struct {
		name   string
		events []*otlp.Span_Event
		links  []*otlp.Span_Link
		errors object
		hash   string
	}{
		{"8: an exception", []*otlp.Span_Event{event("exception")}, nil, object{"incremental": int64(1)}, ""},
		{"8: other events", []*otlp.Span_Event{event("log")}, nil, object{"incremental": int64(0)}, ""},
		{"8: no events", nil, nil, object{}, ""},
		{"9: a link without a key", nil, []*otlp.Span_Link{link()}, object{}, ""},
		{"9: a link with a key", nil, []*otlp.Span_Link{link(attribute{"key", "invocation"})}, object{}, "336b91da-f79d-2c5c-cf65-524b79c75096"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := newSpan()
			in.Events, in.Links = tt.events, tt.links
			span := fitOne(t, in)
			ag, _ := span.Attributes["ag"].(object)
			metrics, _ := ag["metrics"].(object)
			require.Equal(t, tt.errors, metrics["errors"])
			require.Len(t, span.Events, len(tt.events))
			require.Len(t, span.Links, len(tt.links))
			require.Equal(t, tt.hash, hashOf(span))
		})
	}
}

func TestHashVectors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []attribute
		want string
	}{
		{"a slug", []attribute{{"ag.references.application.slug", "my-app"}}, "e3303481-fb6f-24b9-ce66-34b1f0120147"},
		{"ids and versions", []attribute{
			{"ag.refs.application.id", "01890a5d-ac96-774b-bcce-b302099a8057"},
			{"ag.refs.application.slug", "my-app"},
			{"ag.refs.application_revision.version", "3"},
		}, "686aba78-5ca2-1639-41fd-61f521606a75"},
		{"testset revisions do not count", []attribute{{"ag.references.application.slug", "my-app"}, {"ag.references.testset_revision.slug", "t"}}, "e3303481-fb6f-24b9-ce66-34b1f0120147"},
		{"alone they give none", []attribute{{"ag.references.testset_revision.slug", "t"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, hashOf(fitOne(t, newSpan(tt.in...))))
		})
	}
}

func hashOf(s trace.Span) string {
	for _, h := range s.Hashes {
		return h.ID.String()
	}
	return ""
}

func TestPromotion(t *testing.T) {
	t.Parallel()
	span := fitOne(t, newSpan(attribute{"ag.session.id", "s1"}, attribute{"ag.user.id", "u1"}, attribute{"ag.agent.id", "a1"}))
	require.Equal(t, []string{"s1", "u1", "a1"}, []string{span.SessionID, span.UserID, span.AgentID})
	require.Equal(t, uuid.Nil, span.CreatedBy)
	require.Equal(t, received, span.CreatedAt)
}

func resource(attributes ...attribute) *origin.Resource {
	return &origin.Resource{Attributes: keyValues(attributes)}
}

func scope(name, version string, attributes ...attribute) *collector.InstrumentationScope {
	return &collector.InstrumentationScope{Name: name, Version: version, Attributes: keyValues(attributes)}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

func unmarshal(t *testing.T, data []byte, m proto.Message) {
	t.Helper()
	require.NoError(t, proto.Unmarshal(data, m))
}
