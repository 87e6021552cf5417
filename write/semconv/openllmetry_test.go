package semconv_test

import "testing"

// TestOpenLLMetry is the table of contract §1.3 A.
func TestOpenLLMetry(t *testing.T) {
	t.Parallel()
	check(t, []mapping{
		exact("llm.headers", "ag.meta.request.headers", "h"),
		exact("llm.request.type", "ag.type.node", "chat"),
		exact("traceloop.span.kind", "ag.type.node", "workflow"),
		exact("llm.top_k", "ag.meta.request.top_k", int64(3)),
		exact("llm.is_streaming", "ag.meta.request.streaming", true),
		exact("llm.usage.total_tokens", "ag.metrics.unit.tokens.total", int64(7)),
		exact("gen_ai.openai.api_base", "ag.meta.request.base_url", "u"),
		exact("db.system", "ag.meta.system", "pinecone"),
		exact("db.vector.query.top_k", "ag.meta.request.top_k", int64(3)),
		exact("pinecone.query.top_k", "ag.meta.request.top_k", int64(3)),
		exact("gen_ai.prompt.0.role", "ag.data.inputs.prompt.0.role", "user"),
		{name: "a call", in: pairs("gen_ai.completion.0.tool_calls.0.name", "f"), want: pairs("ag.data.outputs.completion.0.tool_calls", []any{object{"type": "function", "function": object{"name": "f"}}})},
		exact("llm.request.functions.0.name", "ag.data.inputs.tools.0.name", "f"),
		exact("llm.request.tools.0.name", "ag.data.inputs.tools.0.name", "f"),
		{name: "the entity's name has no place", in: pairs("traceloop.entity.name", "n")},
		{name: "entity input", in: pairs("traceloop.entity.input", `{"inputs":{"q":"x"},"tags":[]}`), want: pairs("ag.data.inputs", object{"q": "x"})},
		{name: "entity output", in: pairs("traceloop.entity.output", `{"outputs":"y"}`), want: pairs("ag.data.outputs", "y")},
		{name: "entity input without inputs", in: pairs("traceloop.entity.input", `{"args":[1]}`), want: pairs("ag.data.inputs", object{"args": []any{int64(1)}})},
		{name: "entity output that is no JSON", in: pairs("traceloop.entity.output", `plain`), want: pairs("ag.data.outputs", "plain")},
	})
}
