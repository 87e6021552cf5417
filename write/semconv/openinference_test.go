package semconv_test

import "testing"

// TestOpenInference is the table of contract §1.3 B.
func TestOpenInference(t *testing.T) {
	t.Parallel()
	tests := []mapping{
		{name: "input.value", in: pairs("input.value", `{"q":1}`), want: pairs("ag.data.inputs", object{"q": int64(1)})},
		{name: "input.value that is text", in: pairs("input.value", "Lisbon weather"), want: pairs("ag.data.inputs", object{"input": "Lisbon weather"})},
		{name: "input.value that is a list", in: pairs("input.value", `[{"name":"f"}]`), want: pairs("ag.data.inputs", object{"input": []any{object{"name": "f"}}})},
		exact("output.value", "ag.data.outputs", "text"),
		exact("input.mime_type", "ag.meta.input.mime_type", "text/plain"),
		exact("output.mime_type", "ag.meta.output.mime_type", "text/plain"),
		exact("llm.model_name", "ag.meta.response.model", "m"),
		exact("llm.request.model_name", "ag.meta.request.model", "m"),
		exact("llm.response.model_name", "ag.meta.response.model", "m"),
		exact("llm.provider", "ag.meta.provider", "p"),
		exact("llm.system", "ag.meta.system", "s"),
		exact("llm.function_call", "ag.data.outputs.function_call", "f"),
		exact("llm.token_count.prompt", "ag.metrics.unit.tokens.prompt", int64(1)),
		exact("llm.token_count.completion", "ag.metrics.unit.tokens.completion", int64(1)),
		exact("llm.token_count.total", "ag.metrics.unit.tokens.total", int64(1)),
		exact("llm.token_count.prompt_details.cache_read", "ag.metrics.unit.tokens.cache_read", int64(1)),
		exact("llm.token_count.prompt_details.cache_write", "ag.metrics.unit.tokens.cache_creation", int64(1)),
		exact("llm.token_count.completion_details.reasoning", "ag.metrics.unit.tokens.reasoning", int64(1)),
		exact("llm.token_count.prompt_details.audio", "ag.metrics.unit.tokens.audio_input", int64(1)),
		exact("llm.token_count.completion_details.audio", "ag.metrics.unit.tokens.audio_output", int64(1)),
		exact("llm.input_messages.0.message.role", "ag.data.inputs.prompt.0.role", "user"),
		exact("llm.output_messages.1.message.content", "ag.data.outputs.completion.0.content", "x"),
		exact("llm.input_messages.0.message.contents.1.message_content.text", "ag.data.inputs.prompt.0.content", "x"),
		{name: "a call", in: pairs("llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments", "{}"), want: pairs("ag.data.outputs.completion.0.tool_calls", []any{object{"type": "function", "function": object{"arguments": "{}"}}})},
		exact("llm.input_messages.0.other", "ag.data.inputs.prompt.0.other", "x"),
		exact("llm.prompt_template.template", "ag.meta.prompt_template.template", "t"),
		{name: "llm.prompt_template.variables", in: pairs("llm.prompt_template.variables", "{}"), want: pairs("ag.meta.prompt_template.variables", object{})},
		exact("llm.prompt_template.version", "ag.meta.prompt_template.version", "1"),
		exact("embedding.model_name", "ag.meta.request.model", "m"),
		exact("embedding.text", "ag.data.inputs.embedding.text", "x"),
		exact("embedding.vector", "ag.data.outputs.embedding.vector", []any{1.5}),
		exact("embedding.embeddings.0.embedding.text", "ag.data.inputs.embeddings.0.embedding.text", "x"),
		exact("reranker.model_name", "ag.meta.reranker.model_name", "m"),
		exact("reranker.query", "ag.meta.reranker.query", "q"),
		exact("reranker.top_k", "ag.meta.reranker.top_k", int64(1)),
		exact("reranker.input_documents.0.document.id", "ag.data.inputs.reranker.input_documents.0.document.id", "d"),
		exact("reranker.output_documents.0.document.id", "ag.data.outputs.reranker.output_documents.0.document.id", "d"),
		exact("retrieval.documents.0.document.content", "ag.data.outputs.retrieval.documents.0.document.content", "c"),
		exact("message.contents.0.message_content.type", "ag.data.inputs.message_contents.0.message_content.type", "text"),
		exact("document.content", "ag.data.internals.document.content", "c"),
		exact("document.id", "ag.data.internals.document.id", "i"),
		exact("document.metadata", "ag.data.internals.document.metadata", "m"),
		exact("document.score", "ag.data.internals.document.score", 0.5),
		exact("exception.type", "ag.exception.type", "E"),
		exact("exception.message", "ag.exception.message", "m"),
		exact("exception.stacktrace", "ag.exception.stacktrace", "s"),
		exact("exception.escaped", "ag.exception.escaped", false),
		exact("image.url", "ag.data.multimedia.image.url", "u"),
		exact("audio.url", "ag.data.multimedia.audio.url", "u"),
		exact("audio.transcript", "ag.data.multimedia.audio.transcript", "t"),
		exact("audio.mime_type", "ag.meta.multimedia.audio.mime_type", "audio/mp3"),
		exact("session.id", "ag.session.id", "s"),
		exact("user.id", "ag.user.id", "u"),
		{name: "tag.tags", in: pairs("tag.tags", []any{"a"}), want: pairs("ag.meta.tags", []any{"a"}, "ag.tags", object{"a": true})},
		{name: "metadata", in: pairs("metadata", "{}"), want: pairs("ag.meta.metadata", object{})},
		exact("tool.name", "ag.meta.tool.name", "n"),
		exact("tool.description", "ag.meta.tool.description", "d"),
		{name: "tool.json_schema", in: pairs("tool.json_schema", "{}"), want: pairs("ag.meta.tool.json_schema", object{})},
		exact("tool.id", "ag.meta.tool.id", "i"),
		exact("tool.parameters", "ag.meta.tool.parameters", "{}"),
		exact("tool_call.function.arguments", "ag.data.inputs.tool_call.function.arguments", "{}"),
		exact("tool_call.function.name", "ag.meta.tool_call.function.name", "f"),
		exact("tool_call.id", "ag.meta.tool_call.id", "i"),
		{name: "invocation parameters", in: pairs("llm.invocation_parameters", `{"temperature":0.5}`), want: pairs("ag.meta.request", object{"temperature": 0.5})},
		{name: "invocation parameters that are no JSON", in: pairs("llm.invocation_parameters", "?"), want: pairs("ag.meta.request", "?")},
		{name: "a tool as JSON", in: pairs("llm.tools.0.tool.json_schema", `{"type":"function"}`), want: pairs("ag.data.inputs.tools.0", object{"type": "function"})},
		{name: "a tool that is no JSON", in: pairs("llm.tools.0.tool.json_schema", "?"), want: pairs("ag.data.inputs.tools.0.tool.json_schema", "?")},
		{
			name: "messages win on their side",
			in:   pairs("openinference.span.kind", "llm", "input.value", "in", "output.value", "out", "llm.input_messages.0.message.role", "user"),
			want: pairs("ag.type.node", "chat", "ag.data.outputs", "out", "ag.data.inputs.prompt.0.role", "user"),
		},
		{
			name: "but only on calls to a model",
			in:   pairs("openinference.span.kind", "CHAIN", "input.value", "in", "llm.input_messages.0.message.role", "user"),
			want: pairs("ag.type.node", "chain", "ag.data.inputs.input", "in", "ag.data.inputs.prompt.0.role", "user"),
		},
		{
			name: "documents and the whole output do not displace each other",
			in:   pairs("output.value", `{"documents":2,"retrieval":0}`, "output.mime_type", "application/json", "retrieval.documents.0.document.id", "d", "retrieval.documents.0.document.metadata", `{"k":1}`),
			want: pairs("ag.meta.output.mime_type", "application/json", "ag.data.outputs.documents", int64(2), "ag.data.outputs.retrieval.documents", []any{object{"document": object{"id": "d", "metadata": object{"k": int64(1)}}}}),
		},
		{name: "an unknown kind", in: pairs("openinference.span.kind", "X", "user.id", "u"), want: pairs("ag.user.id", "u", "ag.type.node", "task")},
	}
	for kind, node := range map[string]string{
		"CHAIN": "chain", "RETRIEVER": "query", "RERANKER": "rerank", "LLM": "chat", "EMBEDDING": "embedding",
		"AGENT": "agent", "TOOL": "tool", "GUARDRAIL": "task", "EVALUATOR": "task", "Tool": "tool",
	} {
		t.Run("kind "+kind, func(t *testing.T) {
			t.Parallel()
			check(t, []mapping{{name: kind, in: pairs("openinference.span.kind", kind), want: pairs("ag.type.node", node)}})
		})
	}
	check(t, tests)
}
