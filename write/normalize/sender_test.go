package normalize_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain/jsonvalue"
)

// sender is a span as one library sends it, and what it is to us: type, data,
// tokens, the total cost, and the members of ag that the row names.
type sender struct {
	name   string
	in     []attribute
	events []*otlp.Span_Event
	status string // the message of a failure
	want   object
}

func event(name string, attributes ...attribute) *otlp.Span_Event {
	return &otlp.Span_Event{Name: name, Attributes: keyValues(attributes)}
}

func messageOf(role string, content any) object { return object{"role": role, "content": content} }

// TestSenders has the spans of real libraries, with content of our own, against
// the whole value of each member of ag that the row names. A member that is
// named as nil must be absent.
func TestSenders(t *testing.T) {
	t.Parallel()
	tests := []sender{
		{
			name: "langfuse generation",
			in: []attribute{
				{"langfuse.observation.type", "generation"},
				{"langfuse.observation.input", `{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f"}]}`},
				{"langfuse.observation.output", `{"role":"assistant","content":"hello"}`},
				{"langfuse.observation.model.name", "gpt-4o-mini-2024-07-18"},
				{"langfuse.observation.model.parameters", `{"temperature":0.2,"max_tokens":"Infinity"}`},
				{"langfuse.observation.usage_details", `{"prompt_tokens":1200,"completion_tokens":80,"total_tokens":1280,"prompt_tokens_details":{"cached_tokens":1024},"completion_tokens_details":{"reasoning_tokens":40}}`},
				{"langfuse.observation.metadata.step", "1"},
				{"langfuse.trace.tags", []any{"beta"}},
				{"langfuse.environment", "prod"},
				{"langfuse.release", "r1"},
				{"session.id", "s1"},
				{"user.id", "u1"},
			},
			want: object{
				"type":    object{"span": "chat"},
				"data":    object{"inputs": object{"prompt": []any{messageOf("user", "hi")}, "tools": []any{object{"name": "f"}}}, "outputs": object{"completion": []any{messageOf("assistant", "hello")}}},
				"tokens":  object{"prompt": int64(1200), "completion": int64(80), "total": int64(1280), "cache_read": int64(1024), "reasoning": int64(40)},
				"cost":    0.0001512,
				"session": object{"id": "s1"}, "user": object{"id": "u1"}, "tags": object{"beta": true}, "unsupported": nil,
			},
		},
		{
			name: "langfuse with usage and cost set by hand",
			in: []attribute{
				{"langfuse.observation.type", "generation"},
				{"langfuse.observation.input", "plain"},
				{"langfuse.observation.output", "text"},
				{"langfuse.observation.model.name", "gpt-4o"},
				{"langfuse.observation.usage_details", `{"input":100,"output":20,"cache_read_input_tokens":50}`},
				{"langfuse.observation.cost_details", `{"input":0.001,"output":0.002}`},
			},
			want: object{
				"type": object{"span": "chat"}, "data": object{"inputs": object{"input": "plain"}, "outputs": "text"},
				"tokens": object{"prompt": int64(150), "completion": int64(20), "total": int64(170), "cache_read": int64(50)}, "cost": 0.003,
			},
		},
		{
			name: "langfuse error",
			in:   []attribute{{"langfuse.observation.type", "retriever"}, {"langfuse.observation.level", "ERROR"}, {"langfuse.observation.status_message", "no index"}},
			want: object{"type": object{"span": "query"}, "errors": int64(1), "exception": object{"message": "no index"}},
		},
		{
			name: "Spring AI, all values as text",
			in: []attribute{
				{"gen_ai.operation.name", "chat"},
				{"gen_ai.request.model", "gpt-4o-mini"},
				{"gen_ai.request.temperature", "0.2"},
				{"gen_ai.response.model", "none"},
				{"gen_ai.usage.input_tokens", "1200"},
				{"gen_ai.usage.output_tokens", "80"},
				{"gen_ai.usage.total_tokens", "1280"},
				{"gen_ai.response.finish_reasons", `["STOP"]`},
			},
			want: object{
				"type": object{"span": "chat"}, "tokens": object{"prompt": int64(1200), "completion": int64(80), "total": int64(1280)}, "cost": 0.000228, "unsupported": nil,
				"meta.request": object{"model": "gpt-4o-mini", "temperature": 0.2}, "meta.response": object{"finish_reasons": []any{"STOP"}},
			},
		},
		{
			name: "Spring AI vector store",
			in:   []attribute{{"spring.ai.kind", "vector_store"}, {"db.operation.name", "query"}, {"db.vector.query.content", "q"}, {"db.vector.query.top_k", "4"}},
			want: object{"type": object{"span": "query"}, "data": object{"inputs": object{"query": "q"}}, "meta.request": object{"top_k": int64(4)}},
		},
		{
			name: "Spring AI advisor", in: []attribute{{"gen_ai.operation.name", "framework"}, {"spring.ai.kind", "advisor"}},
			want: object{"type": object{"span": "chain"}},
		},
		{
			name: "AI SDK call",
			in: []attribute{
				{"ai.operationId", "ai.generateText.doGenerate"},
				{"ai.response.model", "gpt-4o-mini-2024-07-18"},
				{"ai.model.provider", "openai.chat"},
				{"gen_ai.system", "openai.chat"},
				{"gen_ai.usage.input_tokens", 1200},
				{"gen_ai.usage.output_tokens", 80},
				{"ai.usage.cachedInputTokens", 1024},
				{"ai.prompt.messages", `[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{"a":1}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"f","output":{"type":"text","value":"42"}}]}]`},
				{"ai.response.text", "hello"},
				{"ai.response.finishReason", "stop"},
			},
			want: object{
				"type": object{"span": "chat"}, "cost": 0.0001512,
				"data": object{
					"inputs": object{"prompt": []any{
						messageOf("user", "hi"),
						object{"role": "assistant", "tool_calls": []any{object{"id": "c1", "type": "function", "function": object{"name": "f", "arguments": object{"a": int64(1)}}}}},
						object{"role": "tool", "tool_call_id": "c1", "name": "f", "content": "42"},
					}},
					"outputs": object{"completion": []any{object{"role": "assistant", "content": "hello", "finish_reason": "stop"}}},
				},
			},
		},
		{
			name: "a model and usage without an operation",
			in: []attribute{
				{"gen_ai.system", "openai"},
				{"gen_ai.request.model", "gpt-4o"},
				{"gen_ai.usage.prompt_tokens", 1_000_000},
				{"gen_ai.usage.completion_tokens", 0},
				{"gen_ai.prompt.0.role", "user"},
				{"gen_ai.prompt.0.content", "hi"},
				{"llm.request.type", "something"},
			},
			want: object{"type": object{"span": "chat"}, "cost": 2.5, "data": object{"inputs": object{"prompt": []any{messageOf("user", "hi")}}}},
		},
		{
			name: "an operation in the plural and capitals", in: []attribute{{"gen_ai.operation.name", "Responses"}, {"gen_ai.request.model", "gpt-4o"}, {"gen_ai.usage.input_tokens", 1_000_000}},
			want: object{"type": object{"span": "chat"}, "cost": 2.5},
		},
		{
			name: "an agent with a model and usage is none", in: []attribute{{"gen_ai.operation.name", "invoke_agent"}, {"gen_ai.request.model", "gpt-4o"}, {"gen_ai.usage.input_tokens", 1_000_000}},
			want: object{"type": object{"span": "agent"}, "cost": nil},
		},
		{
			name: "a chain of OpenLLMetry", in: []attribute{{"gen_ai.operation.name", "invoke_agent"}, {"traceloop.span.kind", "workflow"}, {"traceloop.association.properties.user_id", "u"}, {"traceloop.association.properties.session_id", "s"}},
			want: object{"type": object{"span": "workflow"}, "user": object{"id": "u"}, "session": object{"id": "s"}},
		},
		{
			name: "LangSmith",
			in: []attribute{
				{"langsmith.span.kind", "llm"},
				{"gen_ai.operation.name", "embeddings"},
				{"gen_ai.request.model", "gpt-4o"},
				{"langsmith.metadata.session_id", "s"},
				{"langsmith.metadata.user_id", "u"},
				{"gen_ai.prompt", `{"messages":[[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi","type":"human"}}]]}`},
				{"gen_ai.completion", `{"generations":[[{"text":"yo"}]]}`},
			},
			want: object{
				"type": object{"span": "chat"}, "session": object{"id": "s"}, "user": object{"id": "u"},
				"data": object{"inputs": object{"prompt": []any{messageOf("user", "hi")}}, "outputs": object{"completion": []any{messageOf("assistant", "yo")}}},
			},
		},
		{
			name: "LangSmith chain", in: []attribute{{"langsmith.span.kind", "chain"}, {"gen_ai.operation.name", "chat"}, {"gen_ai.prompt", `{"input":"q"}`}, {"gen_ai.completion", `{"output":"a"}`}},
			want: object{"type": object{"span": "chain"}, "data": object{"inputs": object{"input": "q"}, "outputs": object{"output": "a"}}},
		},
		{
			name: "MLflow",
			in: []attribute{
				{"mlflow.spanType", `"CHAT_MODEL"`},
				{"mlflow.spanInputs", `{"messages":[{"role":"user","content":"hi"}],"temperature":0.2,"model":"gpt-4o-mini"}`},
				{"mlflow.spanOutputs", `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"yo"}}]}`},
				{"mlflow.llm.model", `"gpt-4o-mini-2024-07-18"`},
				{"mlflow.chat.tokenUsage", `{"input_tokens":1200,"output_tokens":80,"total_tokens":1280,"cache_read_input_tokens":1024}`},
			},
			want: object{
				"type": object{"span": "chat"}, "cost": 0.0001512, "meta.request": object{"model": "gpt-4o-mini", "temperature": 0.2},
				"data": object{"inputs": object{"prompt": []any{messageOf("user", "hi")}}, "outputs": object{"completion": []any{object{"role": "assistant", "content": "yo", "finish_reason": "stop"}}}},
			},
		},
		{
			name: "Google ADK",
			in: []attribute{
				{"gen_ai.system", "gcp.vertex.agent"},
				{"gen_ai.request.model", "gemini-2.5-flash"},
				{"gen_ai.usage.input_tokens", 1_000_000},
				{"gen_ai.usage.output_tokens", 0},
				{"gcp.vertex.agent.llm_request", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`},
				{"gcp.vertex.agent.llm_response", `{"content":{"parts":[{"text":"yo"}],"role":"model"}}`},
				{"gcp.vertex.agent.session_id", "s"},
			},
			want: object{
				"type": object{"span": "chat"}, "cost": 0.30, "session": object{"id": "s"},
				"data": object{"inputs": object{"prompt": []any{messageOf("user", "hi")}}, "outputs": object{"completion": []any{messageOf("assistant", "yo")}}},
			},
		},
		{
			name: "haystack", in: []attribute{
				{"haystack.component.type", "OpenAIChatGenerator"},
				{"haystack.component.input", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`},
				{"haystack.component.output", `{"replies":[{"role":"assistant","content":[{"text":"yo"}],"meta":{"model":"gpt-4o-mini","usage":{"prompt_tokens":1200,"completion_tokens":80}}}]}`},
			},
			want: object{"type": object{"span": "chat"}, "cost": 0.000228, "tokens": object{"prompt": int64(1200), "completion": int64(80), "total": int64(1280)}},
		},
		{
			name:   "Strands",
			in:     []attribute{{"gen_ai.operation.name", "chat"}},
			events: []*otlp.Span_Event{event("gen_ai.user.message", attribute{"content", `[{"text":"weather?"}]`}), event("gen_ai.choice", attribute{"finish_reason", "end_turn"}, attribute{"message", `[{"text":"It is sunny"}]`})},
			want: object{"data": object{
				"inputs": object{"prompt": []any{messageOf("user", "weather?")}}, "outputs": object{"completion": []any{object{"role": "assistant", "content": "It is sunny", "finish_reason": "end_turn"}}},
			}},
		},
		{
			name:   "Strands, plain text",
			in:     []attribute{{"gen_ai.operation.name", "chat"}},
			events: []*otlp.Span_Event{event("gen_ai.choice", attribute{"finish_reason", "end_turn"}, attribute{"message", "plain answer"})},
			want:   object{"data": object{"outputs": object{"completion": []any{object{"role": "assistant", "content": "plain answer", "finish_reason": "end_turn"}}}}},
		},
		{
			name:   "Strands tool",
			in:     []attribute{{"gen_ai.operation.name", "execute_tool"}, {"gen_ai.tool.name", "get_weather"}},
			events: []*otlp.Span_Event{event("gen_ai.tool.message", attribute{"role", "tool"}, attribute{"content", `{"city":"Lisbon"}`}), event("gen_ai.choice", attribute{"message", `[{"text":"sunny"}]`})},
			want:   object{"type": object{"span": "tool"}, "data": object{"inputs": object{"name": "get_weather", "arguments": object{"city": "Lisbon"}}, "outputs": "sunny"}},
		},
		{
			name: "whole prompt and completion", in: []attribute{{"gen_ai.operation.name", "chat"}, {"gen_ai.prompt", `[{"role":"user","content":"hi"}]`}, {"gen_ai.completion", `[{"role":"assistant","content":"yo"}]`}},
			want: object{"data": object{"inputs": object{"prompt": []any{messageOf("user", "hi")}}, "outputs": object{"completion": []any{messageOf("assistant", "yo")}}}},
		},
		{
			name: "an empty answer does not replace a call",
			in: []attribute{
				{"gen_ai.operation.name", "chat"},
				{"gen_ai.output.messages", `[{"role":"assistant","parts":[],"finish_reason":"tool_calls"}]`},
				{"gen_ai.completion.0.role", "assistant"},
				{"gen_ai.completion.0.function_call.name", "get_weather"},
				{"gen_ai.completion.0.function_call.arguments", "{}"},
			},
			want: object{"data": object{"outputs": object{"completion": []any{object{"role": "assistant", "tool_calls": []any{object{"type": "function", "function": object{"name": "get_weather", "arguments": "{}"}}}}}}}},
		},
		{
			name: "a system instruction apart",
			in: []attribute{
				{"gen_ai.operation.name", "chat"},
				{"gen_ai.system_instructions", `[{"type":"text","content":"You are a weather bot."}]`},
				{"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`},
			},
			want: object{"data": object{"inputs": object{"prompt": []any{messageOf("system", "You are a weather bot."), messageOf("user", "hi")}}}},
		},
		{
			name: "cost of LiteLLM", in: []attribute{
				{"gen_ai.operation.name", "chat"},
				{"gen_ai.request.model", "gpt-4o-mini"},
				{"gen_ai.usage.input_tokens", 1200},
				{"gen_ai.usage.output_tokens", 80},
				{"gen_ai.cost.input_cost", 0.0001032},
				{"gen_ai.cost.output_cost", 0.000048},
				{"gen_ai.cost.total_cost", 0.0001512},
				{"llm.user", "u"},
			},
			want: object{"cost": 0.0001512, "user": object{"id": "u"}, "meta.cost": object{"source": "reported"}},
		},
		{
			name: "cost of OpenInference", in: []attribute{{"openinference.span.kind", "LLM"}, {"llm.model_name", "my-model"}, {"llm.cost.total", 0.5}, {"llm.cost.prompt", 0.3}, {"llm.cost.completion", 0.2}},
			want: object{"cost": 0.5},
		},
		{
			name: "a failure without an event", in: []attribute{{"error.type", "timeout"}}, status: "timed out",
			want: object{"errors": int64(1), "exception": object{"type": "timeout", "message": "timed out"}},
		},
		{
			name: "a failure beside an attribute error", in: []attribute{{"error", true}, {"error.type", "timeout"}}, status: "timed out",
			want: object{"errors": int64(1), "exception": object{"type": "timeout", "message": "timed out"}},
		},
		{
			name: "a failure with events", status: "boom",
			events: []*otlp.Span_Event{event("exception", attribute{"exception.type", "A"}, attribute{"exception.message", "m"}), event("exception", attribute{"exception.type", "B"}, attribute{"exception.message", "n"})},
			want:   object{"errors": int64(2), "exception": object{"type": "B", "message": "n"}},
		},
		{
			name: "what does not convert is parked", in: []attribute{{"gen_ai.operation.name", "chat"}, {"gen_ai.usage.input_tokens", "many"}, {"gen_ai.usage.output_tokens", 5}},
			want: object{"tokens": object{"completion": int64(5), "total": int64(5)}, "unsupported": object{"metrics": object{"tokens": object{"incremental": object{"prompt": "many"}}}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			for range 3 { // the order on the wire decides nothing
				r.Shuffle(len(tt.in), func(i, j int) { tt.in[i], tt.in[j] = tt.in[j], tt.in[i] })
				sent := newSpan(tt.in...)
				sent.Events = tt.events
				if tt.status != "" {
					sent.Status = &otlp.Status{Code: otlp.Status_STATUS_CODE_ERROR, Message: tt.status}
				}
				got := shown(fitOne(t, sent).Attributes["ag"].(object), tt.want)
				require.Empty(t, cmp.Diff(tt.want, got, cmpopts.EquateApprox(1e-12, 1e-15)))
			}
		})
	}
}

// shown returns the members of ag that want names.
func shown(ag, want object) object {
	at := func(keys ...string) any {
		v, _ := jsonvalue.Lookup(ag, keys)
		return v
	}
	got := object{}
	for k := range want {
		switch k {
		case "tokens":
			got[k] = at("metrics", "tokens", "incremental")
		case "cost":
			got[k] = at("metrics", "costs", "incremental", "total")
		case "errors":
			got[k] = at("metrics", "errors", "incremental")
		case "meta.request", "meta.response", "meta.cost":
			got[k] = at("meta", k[len("meta."):])
		default:
			got[k] = at(k)
		}
	}
	return got
}
