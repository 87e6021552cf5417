package normalize_test

import (
	"strconv"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/write/normalize"
)

// chatSpan is a call to a model of about 2 KB, as one convention or another writes it.
func chatSpan(convention string) *otlp.Span {
	system := "You are a helpful assistant of a travel agency. " + strings.Repeat("Answer in the customer's language, briefly. ", 4)
	user := strings.Repeat("I would like to go from Paris to Rome by night train. ", 4)
	answer := strings.Repeat("There is a train at 19:12 from Gare de Lyon, arriving at 9:40. ", 6)
	quoted := func(s string) string { return strconv.Quote(s) }
	in := []attribute{{"service.instance", "worker-7"}, {"thread.id", 42}, {"deployment", "production"}}
	switch convention {
	case "native":
		messages := `[{"role":"system","content":` + quoted(system) + `},{"role":"user","content":` + quoted(user) + `}]`
		in = append(in, attribute{"ag.type.node", "chat"},
			attribute{"ag.data.inputs", `@ag.type=json:{"messages":` + messages + `,"tenant":"acme"}`},
			attribute{"ag.data.outputs", `@ag.type=json:{"role":"assistant","content":` + quoted(answer) + `}`},
			attribute{"ag.data.parameters", `@ag.type=json:{"model":"gpt-4o","temperature":0.2,"max_tokens":512}`},
			attribute{"ag.metrics.unit.tokens.prompt", 311}, attribute{"ag.metrics.unit.tokens.completion", 122}, attribute{"ag.metrics.unit.tokens.total", 433},
			attribute{"ag.meta.response.model", "gpt-4o-2024-08-06"}, attribute{"ag.meta.system", "openai"},
			attribute{"ag.refs.application.id", "01890a5d-ac96-774b-bcce-b302099a8057"}, attribute{"ag.refs.application.slug", "travel"},
			attribute{"ag.refs.variant.slug", "travel.default"}, attribute{"ag.refs.variant.version", "7"}, attribute{"ag.refs.environment.slug", "production"},
			attribute{"ag.session.id", "s-81234"}, attribute{"ag.user.id", "u-5512"}, attribute{"ag.flags.stream", false}, attribute{"ag.tags.team", "web"},
			attribute{"ag.meta.request.endpoint", "/v1/chat"}, attribute{"ag.meta.retries", 0})
	case "history":
		message := `{"role": "user", "content": ` + quoted(user) + `}, {"role": "assistant", "content": ` + quoted(answer) + `, "tool_calls": [{"id": "call_7", "type": "function", "function": {"name": "trains", "arguments": "{}"}}]}`
		in = append(in, attribute{"ag.type.node", "chat"}, attribute{"ag.data.inputs", `@ag.type=json:{"messages": [` + strings.Repeat(message+", ", 19) + message + `], "tenant": "acme"}`},
			attribute{"ag.data.outputs", `@ag.type=json:{"role": "assistant", "content": ` + quoted(answer) + `}`})
	case "gen_ai":
		part := func(s string) string { return `{"type":"text","content":` + quoted(s) + `}` }
		in = append(in, attribute{"gen_ai.operation.name", "chat"}, attribute{"gen_ai.provider.name", "openai"}, attribute{"gen_ai.request.model", "gpt-4o"},
			attribute{"gen_ai.response.model", "gpt-4o-2024-08-06"}, attribute{"gen_ai.response.id", "chatcmpl-123"}, attribute{"gen_ai.request.temperature", 0.2},
			attribute{"gen_ai.request.max_tokens", 512}, attribute{"gen_ai.usage.input_tokens", 311}, attribute{"gen_ai.usage.output_tokens", 122},
			attribute{"gen_ai.response.finish_reasons", []any{"stop"}}, attribute{"gen_ai.conversation.id", "s-81234"}, attribute{"server.address", "api.openai.com"}, attribute{"server.port", 443},
			attribute{"gen_ai.input.messages", `[{"role":"system","parts":[` + part(system) + `]},{"role":"user","parts":[` + part(user) + `]}]`},
			attribute{"gen_ai.output.messages", `[{"role":"assistant","parts":[` + part(answer) + `],"finish_reason":"stop"}]`})
	case "openllmetry":
		in = append(in, attribute{"gen_ai.system", "OpenAI"}, attribute{"gen_ai.request.model", "gpt-4o"}, attribute{"gen_ai.response.model", "gpt-4o-2024-08-06"},
			attribute{"llm.request.type", "chat"}, attribute{"llm.is_streaming", false}, attribute{"llm.usage.total_tokens", 433}, attribute{"gen_ai.usage.prompt_tokens", 311},
			attribute{"gen_ai.usage.completion_tokens", 122}, attribute{"gen_ai.request.temperature", 0.2}, attribute{"gen_ai.openai.api_base", "https://api.openai.com/v1/"},
			attribute{"gen_ai.prompt.0.role", "system"}, attribute{"gen_ai.prompt.0.content", system}, attribute{"gen_ai.prompt.1.role", "user"}, attribute{"gen_ai.prompt.1.content", user},
			attribute{"gen_ai.completion.0.role", "assistant"}, attribute{"gen_ai.completion.0.content", answer}, attribute{"gen_ai.completion.0.finish_reason", "stop"},
			attribute{"traceloop.workflow.name", "book"}, attribute{"traceloop.entity.path", "book.plan"})
	case "openinference":
		in = append(in, attribute{"openinference.span.kind", "LLM"}, attribute{"llm.model_name", "gpt-4o-2024-08-06"}, attribute{"llm.provider", "openai"}, attribute{"llm.system", "openai"},
			attribute{"llm.invocation_parameters", `{"model":"gpt-4o","temperature":0.2,"max_tokens":512}`}, attribute{"llm.token_count.prompt", 311},
			attribute{"llm.token_count.completion", 122}, attribute{"llm.token_count.total", 433}, attribute{"llm.token_count.prompt_details.cache_read", 128},
			attribute{"input.mime_type", "application/json"}, attribute{"output.mime_type", "application/json"}, attribute{"session.id", "s-81234"}, attribute{"user.id", "u-5512"},
			attribute{"llm.input_messages.0.message.role", "system"}, attribute{"llm.input_messages.0.message.content", system},
			attribute{"llm.input_messages.1.message.role", "user"}, attribute{"llm.input_messages.1.message.content", user},
			attribute{"llm.output_messages.0.message.role", "assistant"}, attribute{"llm.output_messages.0.message.content", answer})
	default:
		in = append(in, attribute{"ai.operationId", "ai.generateText"}, attribute{"operation.name", "ai.generateText"}, attribute{"ai.model.id", "gpt-4o"}, attribute{"ai.model.provider", "openai.chat"},
			attribute{"ai.settings.temperature", 0.2}, attribute{"ai.settings.maxRetries", 2}, attribute{"ai.prompt", `{"system":` + quoted(system) + `,"prompt":` + quoted(user) + `}`},
			attribute{"ai.response.text", answer}, attribute{"ai.response.finishReason", "stop"}, attribute{"ai.usage.promptTokens", 311}, attribute{"ai.usage.completionTokens", 122},
			attribute{"ai.telemetry.metadata.userId", "u-5512"}, attribute{"ai.telemetry.metadata.sessionId", "s-81234"}, attribute{"ai.response.model", "gpt-4o-2024-08-06"})
	}
	return newSpan(in...)
}

// BenchmarkSpans is decode, adapt, fit and measure of one span a record.
func BenchmarkSpans(b *testing.B) {
	for _, convention := range []string{"native", "history", "gen_ai", "openllmetry", "openinference", "vercel"} {
		b.Run(convention, func(b *testing.B) {
			normalizer := newNormalizer(b)
			value := record(b, chatSpan(convention))
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				spans, _, err := normalizer.Spans(normalize.Meta{ReceivedAt: received}, value)
				if err != nil || len(spans) != 1 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}
