package semconv

import (
	"strings"

	"colonnade/write/semconv/convert"
	"colonnade/write/semconv/message"
)

// translateVercel reads what the Vercel AI SDK writes below "ai." (versions 3
// to 7). Source: contract §1.3 D.
func translateVercel(o *Overlay) {
	var out vercelOutput
	f := &o.facts
	for i := range o.sorted {
		key, ok := strings.CutPrefix(o.sorted[i].Key, "ai.")
		if !ok {
			continue
		}
		value := o.sorted[i].Value
		if target := vercelExact(key); target != "" {
			o.put(target, value)
			continue
		}
		switch key {
		case "operationId":
			operation, _ := value.(string)
			o.kind(vercelKind(operation), rankConvention)
			out.call = strings.Contains(operation, ".do")
		case "model.id":
			o.askedModel(value)
		case "response.model":
			o.answerModel(value)
		case "model.provider":
			provider, _ := value.(string)
			provider, _, _ = strings.Cut(provider, ".")
			o.put("ag.meta.provider.name", provider)
			o.put("ag.meta.system", value)
		case "prompt":
			f.input.whole = convert.Parsed(value)
		case "prompt.messages":
			if messages, ok := message.Canonical(value); ok {
				f.input.converse(messages)
			} else {
				f.input.member("prompt", convert.Parsed(value))
			}
		case "prompt.tools":
			f.input.member("tools", convert.ParsedEach(value))
		case "toolCall.name":
			f.tool.name = value
		case "toolCall.args", "toolCall.input":
			f.tool.arguments, f.argumentsKey = value, "args"
		case "toolCall.result", "toolCall.output":
			f.tool.result = value
		case "response.object":
			f.output.whole = convert.Parsed(value)
		case "value", "values":
			f.input.member(key, convert.ParsedEach(value))
		case "embedding", "embeddings":
			f.output.member(key, convert.ParsedEach(value))
		case "response.finishReason":
			out.reason = value
			o.put("ag.meta.response.finish_reasons", []any{value})
		case "response.text":
			out.text = value
		case "response.toolCalls":
			out.calls = convert.Parsed(value)
		case "response.reasoning":
			out.reasoning = value
		case "telemetry.metadata.userId", "settings.context.userId":
			o.identify("ag.user.id", value)
		case "telemetry.metadata.sessionId", "settings.context.sessionId":
			o.identify("ag.session.id", value)
		case "telemetry.metadata.tags":
			o.tag(value)
			o.put("ag.meta.metadata.tags", value)
		case "usage.tokens":
			o.count("prompt", value)
		default:
			if rest, ok := strings.CutPrefix(key, "usage."); ok {
				if kind := tokenKind(rest); kind != "" {
					o.count(kind, value)
				}
				continue
			}
			_ = o.putMetadata(key, "telemetry.metadata.", value) || o.putMetadata(key, "settings.context.", value)
		}
	}
	out.place(f)
}

// vercelOutput is what a model answered.
type vercelOutput struct {
	text, calls, reasoning, reason any
	call                           bool
}

// place makes a message of the answer on the span of the call itself, and where
// there are calls of tools or reasoning beside the text; text alone is the output
// of the spans around it.
func (v vercelOutput) place(f *facts) {
	calls, _ := v.calls.([]any)
	if v.text == nil && len(calls) == 0 && v.reasoning == nil {
		return
	}
	if !v.call && len(calls) == 0 && v.reasoning == nil {
		if f.output.whole == nil {
			f.output.whole = v.text
		}
		return
	}
	m := map[string]any{"role": "assistant", "content": v.text, "thinking": v.reasoning, "finish_reason": v.reason}
	if v.text == "" {
		delete(m, "content")
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	f.output.converse(message.AppendAs(nil, m, "assistant"))
}

// vercelExact returns where a key, less "ai.", goes as it is.
func vercelExact(key string) string {
	switch key {
	case "response.id", "response.timestamp":
		return "ag.meta." + key
	case "settings.temperature", "settings.seed":
		return "ag.meta.request." + key[len("settings."):]
	case "settings.topP":
		return "ag.meta.request.top_p"
	case "settings.topK":
		return "ag.meta.request.top_k"
	case "settings.maxOutputTokens", "settings.maxTokens":
		return "ag.meta.request.max_tokens"
	case "settings.frequencyPenalty":
		return "ag.meta.request.frequency_penalty"
	case "settings.presencePenalty":
		return "ag.meta.request.presence_penalty"
	case "settings.stopSequences":
		return "ag.meta.request.stop_sequences"
	case "settings.maxRetries":
		return "ag.meta.request.max_retries"
	case "toolCall.id":
		return "ag.meta.tool.call.id"
	case "telemetry.functionId":
		return "ag.meta.function_id"
	default:
		return ""
	}
}

// vercelKind returns the kind of span of an operation such as
// "ai.generateText.doGenerate": those that call the model are calls, the spans
// around them chains. Source: contract §0 row 35.
func vercelKind(operation string) string {
	name, step, _ := strings.Cut(strings.TrimPrefix(operation, "ai."), ".")
	called := strings.HasPrefix(step, "do")
	switch name {
	case "toolCall":
		return "tool"
	case "embed", "embedMany":
		if !called {
			return "chain"
		}
		return "embedding"
	case "rerank":
		return "rerank"
	case "generateText", "streamText", "generateObject", "streamObject":
		if called {
			return "chat"
		}
		return "chain"
	case "":
		return ""
	default:
		return "task"
	}
}
