package semconv

import (
	"strings"

	"colonnade/write/otlp/wire"
)

// translateVercel reads what the Vercel AI SDK writes below "ai." (versions 3
// to 6). Source: contract §1.3 D.
func translateVercel(span *wire.Span, to *Overlay) {
	var out vercelOutput
	for i := range span.Attributes {
		key, ok := strings.CutPrefix(span.Attributes[i].Key, "ai.")
		if !ok {
			continue
		}
		value := span.Attributes[i].Value
		if target := vercelExact(key); target != "" {
			to.put(target, value)
			continue
		}
		switch key {
		case "operationId":
			operation, _ := value.(string)
			to.put(NodeType, vercelNode(operation))
		case "prompt":
			to.put("ag.data.inputs", parsed(value))
		case "prompt.messages":
			to.put("ag.data.inputs.prompt", parsed(value))
		case "prompt.tools":
			to.put("ag.data.inputs.tools", parsedEach(value))
		case "toolCall.args":
			to.put("ag.data.inputs.args", parsed(value))
		case "toolCall.result", "response.object":
			to.put("ag.data.outputs", parsed(value))
		case "value", "values":
			to.put("ag.data.inputs."+key, parsedEach(value))
		case "embedding", "embeddings":
			to.put("ag.data.outputs."+key, parsedEach(value))
		case "response.finishReason":
			to.put("ag.meta.response.finish_reasons", []any{value})
		case "response.text":
			out.text = value
		case "response.toolCalls":
			out.calls = parsed(value)
		case "response.reasoning":
			out.reasoning = value
		}
	}
	out.put(to)
}

// vercelOutput is what a model answered. Text alone is the output; with tool
// calls or reasoning beside it, it is a member of the output like them.
type vercelOutput struct{ text, calls, reasoning any }

func (v vercelOutput) put(to *Overlay) {
	if v.calls == nil && v.reasoning == nil {
		if v.text != nil {
			to.put("ag.data.outputs", v.text)
		}
		return
	}
	if v.text != nil && v.text != "" {
		to.put("ag.data.outputs.text", v.text)
	}
	if v.calls != nil {
		to.put("ag.data.outputs.toolCalls", v.calls)
	}
	if v.reasoning != nil {
		to.put("ag.data.outputs.reasoning", v.reasoning)
	}
}

// vercelExact gives where a key, less "ai.", goes as it is.
func vercelExact(key string) string {
	switch key {
	case "model.id":
		return "ag.meta.request.model"
	case "model.provider":
		return "ag.meta.system"
	case "response.model", "response.id", "response.timestamp":
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
	case "usage.promptTokens", "usage.inputTokens", "usage.tokens":
		return "ag.metrics.unit.tokens.prompt"
	case "usage.completionTokens", "usage.outputTokens":
		return "ag.metrics.unit.tokens.completion"
	case "usage.totalTokens":
		return "ag.metrics.unit.tokens.total"
	case "usage.reasoningTokens", "usage.outputTokenDetails.reasoningTokens":
		return "ag.metrics.unit.tokens.reasoning"
	case "usage.cachedInputTokens":
		return "ag.metrics.unit.tokens.cached"
	case "usage.inputTokenDetails.cacheReadTokens":
		return "ag.metrics.unit.tokens.cache_read"
	case "usage.inputTokenDetails.cacheWriteTokens":
		return "ag.metrics.unit.tokens.cache_creation"
	case "toolCall.name":
		return "ag.data.inputs.name"
	case "toolCall.id":
		return "ag.meta.tool.call.id"
	case "telemetry.metadata.userId":
		return "ag.user.id"
	case "telemetry.metadata.sessionId":
		return "ag.session.id"
	default:
		return ""
	}
}

// vercelNode gives the span type of an operation such as "ai.generateText.doGenerate".
func vercelNode(operation string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(operation, "ai."), ".")
	switch name {
	case "toolCall":
		return "tool"
	case "embed", "embedMany":
		return "embedding"
	case "rerank":
		return "rerank"
	default:
		return "task"
	}
}
