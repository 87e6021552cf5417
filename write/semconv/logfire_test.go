package semconv_test

import (
	"testing"

	"colonnade/write/otlp/wire"
)

// same is a row whose key has the same name below ag.meta.
func same(key string) mapping { return exact("gen_ai."+key, "ag.meta."+key, "x") }

// TestGenAI is the table of contract §1.3 C and the newer names of the conventions.
func TestGenAI(t *testing.T) {
	t.Parallel()
	tests := []mapping{
		exact("gen_ai.request.stream", "ag.meta.request.streaming", true),
		exact("gen_ai.request.type", "ag.type.node", "chat"),
		exact("gen_ai.conversation.id", "ag.session.id", "s"),
		exact("gen_ai.agent.id", "ag.agent.id", "a"),
		exact("gen_ai.usage.input_tokens", "ag.metrics.unit.tokens.prompt", int64(3)),
		exact("gen_ai.usage.prompt_tokens", "ag.metrics.unit.tokens.prompt", int64(3)),
		exact("gen_ai.usage.output_tokens", "ag.metrics.unit.tokens.completion", int64(3)),
		exact("gen_ai.usage.completion_tokens", "ag.metrics.unit.tokens.completion", int64(3)),
		exact("gen_ai.usage.total_tokens", "ag.metrics.unit.tokens.total", int64(3)),
		exact("gen_ai.usage.cache_read.input_tokens", "ag.metrics.unit.tokens.cache_read", int64(3)),
		exact("gen_ai.usage.cache_read_input_tokens", "ag.metrics.unit.tokens.cache_read", int64(3)),
		exact("gen_ai.usage.cache_creation.input_tokens", "ag.metrics.unit.tokens.cache_creation", int64(3)),
		exact("gen_ai.usage.reasoning.output_tokens", "ag.metrics.unit.tokens.reasoning", int64(3)),
		exact("gen_ai.usage.audio.input_tokens", "ag.metrics.unit.tokens.audio_input", int64(3)),
		exact("gen_ai.usage.details.cached_tokens", "ag.metrics.unit.tokens.cache_read", int64(3)),
		exact("gen_ai.retrieval.query.text", "ag.data.inputs.query", "q"),
		exact("tool_arguments", "ag.meta.tool_arguments", "a"),
		exact("tool_response", "ag.meta.tool_response", "r"),
		exact("agent_name", "ag.meta.agent_name", "a"),
		exact("model_name", "ag.meta.model_name", "m"),
		same("system"), same("provider.name"), same("output.type"), same("tool.call.id"), same("tool.description"), same("tool.type"),
		same("system_instructions"), same("agent.name"), same("agent.description"), same("agent.version"), same("workflow.name"), same("data_source.id"),
		same("prompt.name"), same("memory.store.id"), same("embeddings.dimension.count"), same("evaluation.score.label"),
		{name: "tool definitions", in: pairs("gen_ai.tool.definitions", `[{"name":"f"}]`), want: pairs("ag.data.inputs.tools", []any{object{"name": "f"}})},
		{name: "retrieved documents", in: pairs("gen_ai.retrieval.documents", `[{"id":"d"}]`), want: pairs("ag.data.outputs.retrieval.documents", []any{object{"id": "d"}})},
		{
			name: "counts", in: pairs("gen_ai.usage.input_tokens", int64(3), "gen_ai.usage.output_tokens", 4.0),
			want: pairs("ag.metrics.unit.tokens.prompt", int64(3), "ag.metrics.unit.tokens.completion", 4.0),
		},
		{
			name: "not of a part", in: pairs("gen_ai.usage.input_tokens", int64(3), "gen_ai.usage.output_tokens", int64(0)),
			want: pairs("ag.metrics.unit.tokens.prompt", int64(3), "ag.metrics.unit.tokens.completion", int64(0)),
		},
		exact("gen_ai.request.stop_sequences", "ag.meta.request.stop_sequences", []any{"x"}),
		{name: "reasons as JSON text", in: pairs("gen_ai.response.finish_reasons", `["stop"]`), want: pairs("ag.meta.response.finish_reasons", []any{"stop"})},
		{name: "numbers as text", in: pairs("gen_ai.request.temperature", "0.2", "gen_ai.request.max_tokens", "100", "gen_ai.request.streaming", "False"), want: pairs("ag.meta.request.temperature", 0.2, "ag.meta.request.max_tokens", int64(100), "ag.meta.request.streaming", false)},
		{name: "none is no model", in: pairs("gen_ai.response.model", "none")},
		{name: "other keys stay where they are", in: pairs("gen_ai.token.type", "input")},
	}
	for _, key := range []string{"model", "max_tokens", "temperature", "presence_penalty", "top_p", "top_k", "base_url", "endpoint", "headers", "streaming", "frequency_penalty", "seed", "choice.count"} {
		check(t, []mapping{same("request." + key)})
	}
	for _, key := range []string{"model", "id", "time_to_first_chunk"} {
		check(t, []mapping{same("response." + key)})
	}
	for operation, node := range map[string]string{
		"chat": "chat", "create_agent": "agent", "invoke_agent": "agent", "embeddings": "embedding", "execute_tool": "tool", "generate_content": "completion",
		"text_completion": "completion", "invoke_workflow": "workflow", "retrieval": "query", "plan": "task", "anything": "task",
	} {
		t.Run("operation "+operation, func(t *testing.T) {
			t.Parallel()
			check(t, []mapping{{name: operation, in: pairs("gen_ai.operation.name", operation), want: pairs("ag.type.node", node)}})
		})
	}
	check(t, tests)
}

func TestGenAIMessages(t *testing.T) {
	t.Parallel()
	user := object{"role": "user", "content": "hi"}
	answer := object{"role": "assistant", "content": "hello", "finish_reason": "stop"}
	check(t, []mapping{
		{
			name: "both sides as JSON text",
			in: pairs(
				"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`,
				"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"hello"}],"finish_reason":"stop"}]`,
			),
			want: pairs("ag.data.inputs.prompt", []any{user}, "ag.data.outputs.completion", []any{answer}),
		},
		{
			name: "structured",
			in:   pairs("gen_ai.input.messages", []any{object{"role": "user", "parts": []any{object{"type": "text", "content": "hi"}}}}),
			want: pairs("ag.data.inputs.prompt", []any{user}),
		},
		{
			name: "every kind of part",
			in: pairs("gen_ai.input.messages", []any{
				object{"role": "assistant", "name": "n", "parts": []any{
					object{"type": "reasoning", "content": "hm"},
					object{"type": "thinking", "content": "so"},
					object{"type": "text", "content": "a"},
					object{"type": "text", "content": "b"},
					object{"type": "tool_call", "id": "c1", "name": "f", "arguments": object{"x": int64(1)}},
					object{"type": "tool_call", "id": nil, "name": "g", "arguments": "{}"},
				}},
				object{"role": "user", "parts": []any{object{"type": "tool_call_response", "id": "c1", "result": "42"}}},
				object{"role": "user", "parts": []any{object{"type": "tool_call_response", "id": "c2", "name": "g", "response": object{"y": int64(2)}}, object{"type": "text", "content": "and?"}}},
				object{"role": "user", "parts": []any{object{"type": "text", "content": "see"}, object{"type": "uri", "uri": "u"}}},
				object{"role": "user", "content": "as it is"},
			}),
			want: pairs("ag.data.inputs.prompt", []any{
				object{
					"role": "assistant", "name": "n", "content": "a b", "thinking": "hm so",
					"tool_calls": []any{
						object{"id": "c1", "type": "function", "function": object{"name": "f", "arguments": object{"x": int64(1)}}},
						object{"type": "function", "function": object{"name": "g", "arguments": "{}"}},
					},
				},
				object{"role": "tool", "tool_call_id": "c1", "content": "42"},
				object{"role": "tool", "tool_call_id": "c2", "name": "g", "content": object{"y": int64(2)}},
				object{"role": "user", "content": "and?"},
				object{"role": "user", "content": []any{object{"type": "text", "text": "see"}, object{"type": "uri", "uri": "u"}}},
				object{"role": "user", "content": "as it is"},
			}),
		},
		{
			name: "a tool's span",
			in:   pairs("gen_ai.tool.name", "f", "gen_ai.tool.call.arguments", `{"x":1}`, "gen_ai.tool.call.result", `"42"`),
			want: pairs("ag.meta.tool.name", "f", "ag.meta.tool.call.arguments", `{"x":1}`, "ag.meta.tool.call.result", `"42"`,
				"ag.data.inputs.name", "f", "ag.data.inputs.arguments", object{"x": int64(1)}, "ag.data.outputs", "42"),
		},
		{
			name: "a tool's response goes before its result",
			in:   pairs("tool_response", "r", "gen_ai.tool.call.result", "x", "gen_ai.tool.name", "f"),
			want: pairs("ag.meta.tool_response", "r", "ag.meta.tool.call.result", "x", "ag.meta.tool.name", "f", "ag.data.inputs.name", "f", "ag.data.outputs", "r"),
		},
		{
			name: "an agent's conversation is divided at its last user message",
			in: pairs("gen_ai.operation.name", "invoke_agent", "final_result", "done", "pydantic_ai.all_messages", []any{
				object{"role": "user", "content": "1"}, object{"role": "assistant", "content": "2"}, object{"role": "user", "content": "3"}, object{"role": "assistant", "content": "4"},
			}),
			want: pairs("ag.type.node", "agent", "ag.meta.final_result", "done",
				"ag.data.inputs.prompt", []any{object{"role": "user", "content": "1"}, object{"role": "assistant", "content": "2"}, object{"role": "user", "content": "3"}},
				"ag.data.outputs.completion", []any{object{"role": "assistant", "content": "4"}}),
		},
		{
			name: "an agent's result", in: pairs("final_result", `{"a":1}`),
			want: pairs("ag.type.node", "agent", "ag.meta.final_result", `{"a":1}`, "ag.data.outputs.completion", object{"a": int64(1)}),
		},
		{
			name: "listed events",
			in:   pairs("events", `[{"event.name":"gen_ai.user.message","content":"hi","gen_ai.message.index":0},{"event.name":"gen_ai.choice","finish_reason":"stop","message":{"role":"assistant","content":"hello"}}]`),
			want: pairs("ag.data.inputs.prompt", []any{user}, "ag.data.outputs.completion", []any{answer}),
		},
		{name: "lists of other events", in: pairs("events", `[{"name":"x"}]`)},
		{
			name: "events of their own",
			in:   pairs("gen_ai.operation.name", "chat"),
			events: []wire.Event{
				{Name: "gen_ai.user.message", Attributes: object{"content": "hi", "gen_ai.system": "openai"}},
				{Name: "gen_ai.choice", Attributes: object{"index": int64(0), "finish_reason": "stop", "message": `{"role":"assistant","content":"hello"}`}},
			},
			want: pairs("ag.type.node", "chat", "ag.data.inputs.prompt", []any{user}, "ag.data.outputs.completion", []any{answer}),
		},
		{
			name: "an event with everything",
			events: []wire.Event{{Name: "gen_ai.client.inference.operation.details", Attributes: object{
				"gen_ai.input.messages": []any{object{"role": "user", "parts": []any{object{"type": "text", "content": "hi"}}}},
			}}},
			want: pairs("ag.data.inputs.prompt", []any{user}),
		},
		{
			name: "content events",
			events: []wire.Event{
				{Name: "gen_ai.content.prompt", Attributes: object{"gen_ai.prompt": `[{"role":"user","content":"hi"}]`}},
				{Name: "gen_ai.content.completion", Attributes: object{"gen_ai.completion": `[{"role":"assistant","content":"hello","finish_reason":"stop"}]`}},
			},
			want: pairs("ag.data.inputs.prompt", []any{user}, "ag.data.outputs.completion", []any{answer}),
		},
	})
}
