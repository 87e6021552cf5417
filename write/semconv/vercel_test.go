package semconv_test

import "testing"

// TestVercel is the table of contract §1.3 D.
func TestVercel(t *testing.T) {
	t.Parallel()
	tests := []mapping{
		exact("ai.model.id", "ag.meta.request.model", "m"),
		{name: "provider", in: pairs("ai.model.provider", "openai.chat"), want: pairs("ag.meta.system", "openai.chat", "ag.meta.provider.name", "openai")},
		exact("ai.response.model", "ag.meta.response.model", "m"),
		exact("ai.response.id", "ag.meta.response.id", "i"),
		exact("ai.response.timestamp", "ag.meta.response.timestamp", "t"),
		exact("ai.settings.temperature", "ag.meta.request.temperature", 0.5),
		exact("ai.settings.topP", "ag.meta.request.top_p", 0.5),
		exact("ai.settings.topK", "ag.meta.request.top_k", int64(1)),
		exact("ai.settings.maxOutputTokens", "ag.meta.request.max_tokens", int64(1)),
		exact("ai.settings.maxTokens", "ag.meta.request.max_tokens", int64(1)),
		exact("ai.settings.frequencyPenalty", "ag.meta.request.frequency_penalty", 0.5),
		exact("ai.settings.presencePenalty", "ag.meta.request.presence_penalty", 0.5),
		exact("ai.settings.stopSequences", "ag.meta.request.stop_sequences", []any{"x"}),
		exact("ai.settings.seed", "ag.meta.request.seed", int64(1)),
		exact("ai.settings.maxRetries", "ag.meta.request.max_retries", int64(1)),
		exact("ai.usage.promptTokens", "ag.metrics.unit.tokens.prompt", int64(1)),
		exact("ai.usage.inputTokens", "ag.metrics.unit.tokens.prompt", int64(1)),
		exact("ai.usage.tokens", "ag.metrics.unit.tokens.prompt", int64(1)),
		exact("ai.usage.completionTokens", "ag.metrics.unit.tokens.completion", int64(1)),
		exact("ai.usage.outputTokens", "ag.metrics.unit.tokens.completion", int64(1)),
		exact("ai.usage.totalTokens", "ag.metrics.unit.tokens.total", int64(1)),
		exact("ai.usage.reasoningTokens", "ag.metrics.unit.tokens.reasoning", int64(1)),
		exact("ai.usage.cachedInputTokens", "ag.metrics.unit.tokens.cache_read", int64(1)),
		exact("ai.usage.inputTokenDetails.cacheReadTokens", "ag.metrics.unit.tokens.cache_read", int64(1)),
		exact("ai.usage.inputTokenDetails.cacheWriteTokens", "ag.metrics.unit.tokens.cache_creation", int64(1)),
		exact("ai.usage.outputTokenDetails.reasoningTokens", "ag.metrics.unit.tokens.reasoning", int64(1)),
		exact("ai.toolCall.id", "ag.meta.tool.call.id", "c"),
		exact("ai.telemetry.metadata.userId", "ag.user.id", "u"),
		exact("ai.telemetry.metadata.sessionId", "ag.session.id", "s"),
		exact("ai.response.text", "ag.data.outputs", "hello"),
		{name: "prompt", in: pairs("ai.prompt", `{"prompt":"hi"}`), want: pairs("ag.data.inputs", object{"prompt": "hi"})},
		{name: "messages", in: pairs("ai.prompt.messages", `[{"role":"user"}]`), want: pairs("ag.data.inputs.prompt", []any{object{"role": "user"}})},
		{name: "tools", in: pairs("ai.prompt.tools", []any{`{"name":"f"}`}), want: pairs("ag.data.inputs.tools", []any{object{"name": "f"}})},
		{
			name: "a tool", in: pairs("ai.operationId", "ai.toolCall", "ai.toolCall.name", "f", "ai.toolCall.args", `{"a":1}`, "ai.toolCall.result", `{"a":1}`),
			want: pairs("ag.type.node", "tool", "ag.data.inputs.name", "f", "ag.data.inputs.args", object{"a": int64(1)}, "ag.data.outputs", object{"a": int64(1)}),
		},
		{name: "object", in: pairs("ai.response.object", `{"a":1}`), want: pairs("ag.data.outputs", object{"a": int64(1)})},
		{name: "a value to embed", in: pairs("ai.value", `"x"`, "ai.embedding", `[0.5]`), want: pairs("ag.data.inputs.value", "x", "ag.data.outputs.embedding", []any{0.5})},
		{name: "values to embed", in: pairs("ai.values", []any{`"x"`}, "ai.embeddings", []any{`[0.5]`}), want: pairs("ag.data.inputs.values", []any{"x"}, "ag.data.outputs.embeddings", []any{[]any{0.5}})},
		{name: "finish reason", in: pairs("ai.response.finishReason", "stop"), want: pairs("ag.meta.response.finish_reasons", []any{"stop"})},
		{
			name: "tool calls beside no text",
			in:   pairs("ai.response.text", "", "ai.response.toolCalls", `[{"toolName":"f"}]`),
			want: pairs("ag.data.outputs.completion", []any{object{"role": "assistant", "tool_calls": []any{object{"type": "function", "function": object{"name": "f"}}}}}),
		},
		{
			name: "text, tool calls and reasoning",
			in:   pairs("ai.response.reasoning", "r", "ai.response.toolCalls", "[]", "ai.response.text", "t"),
			want: pairs("ag.data.outputs.completion", []any{object{"role": "assistant", "content": "t", "thinking": "r"}}),
		},
		{name: "other keys stay where they are", in: pairs("ai.schema.name", "n")},
	}
	for operation, node := range map[string]string{
		"ai.generateText": "chain", "ai.generateText.doGenerate": "chat", "ai.streamText.doStream": "chat", "ai.generateObject": "chain", "ai.streamObject.doStream": "chat", "ai.toolCall": "tool",
		"ai.embed": "chain", "ai.embedMany": "chain", "ai.embed.doEmbed": "embedding", "ai.rerank.doRerank": "rerank", "other": "task",
	} {
		t.Run("operation "+operation, func(t *testing.T) {
			t.Parallel()
			check(t, []mapping{{name: operation, in: pairs("ai.operationId", operation), want: pairs("ag.type.node", node)}})
		})
	}
	check(t, tests)
}
