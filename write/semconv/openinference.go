package semconv

import (
	"strings"

	"colonnade/write/otlp/wire"
)

// translateOpenInference reads what Arize's OpenInference instrumentations
// write (openinference-semantic-conventions 0.1.46). Source: contract §1.3 B.
func translateOpenInference(span *wire.Span, to *Overlay) {
	node, prompts, completions := openInferenceKind(span)
	if node != "" {
		to.put(NodeType, node)
	}
	// Messages say the same as the raw bodies, and better.
	chat := node == "chat" || node == "completion"
	for i := range span.Attributes {
		key, value := span.Attributes[i].Key, span.Attributes[i].Value
		switch key {
		case "input.value":
			if !chat || !prompts {
				to.put("ag.data.inputs", value)
			}
		case "output.value":
			if !chat || !completions {
				to.put("ag.data.outputs", value)
			}
		case "llm.invocation_parameters":
			to.put("ag.meta.request", objectOr(value))
		default:
			if target := openInferenceExact(key); target != "" {
				to.put(target, value)
			} else if strings.HasPrefix(key, "llm.") {
				to.openInferenceLLM(key, value)
			} else {
				to.openInferenceList(key, value)
			}
		}
	}
}

// openInferenceKind looks at what decides the meaning of other attributes: the
// kind, and whether there are messages on either side.
func openInferenceKind(span *wire.Span) (node string, prompts, completions bool) {
	for i := range span.Attributes {
		switch key := span.Attributes[i].Key; {
		case key == "openinference.span.kind":
			kind, _ := span.Attributes[i].Value.(string)
			node = openInferenceNode(strings.ToUpper(kind))
		case strings.HasPrefix(key, "llm.input_messages."):
			prompts = true
		case strings.HasPrefix(key, "llm.output_messages."):
			completions = true
		}
	}
	return node, prompts, completions
}

func openInferenceNode(kind string) string {
	switch kind {
	case "CHAIN":
		return "chain"
	case "RETRIEVER":
		return "query"
	case "RERANKER":
		return "rerank"
	case "LLM":
		return "chat"
	case "EMBEDDING":
		return "embedding"
	case "AGENT":
		return "agent"
	case "TOOL":
		return "tool"
	case "GUARDRAIL", "EVALUATOR", "PROMPT", "DECISION":
		return "task"
	default:
		return ""
	}
}

// openInferenceExact gives where a key goes as it is.
func openInferenceExact(key string) string {
	switch key {
	case "input.mime_type":
		return "ag.meta.input.mime_type"
	case "output.mime_type":
		return "ag.meta.output.mime_type"
	case "llm.model_name", "llm.response.model_name":
		return "ag.meta.response.model"
	case "embedding.model_name", "llm.request.model_name":
		return "ag.meta.request.model"
	case "llm.provider":
		return "ag.meta.provider"
	case "llm.system":
		return "ag.meta.system"
	case "llm.function_call":
		return "ag.data.outputs.function_call"
	case "llm.prompt_template.template", "llm.prompt_template.variables", "llm.prompt_template.version":
		return "ag.meta." + key[len("llm."):]
	case "embedding.text":
		return "ag.data.inputs.embedding.text"
	case "embedding.vector":
		return "ag.data.outputs.embedding.vector"
	case "reranker.model_name", "reranker.query", "reranker.top_k":
		return "ag.meta." + key
	case "document.content", "document.id", "document.metadata", "document.score":
		return "ag.data.internals." + key
	case "exception.type", "exception.message", "exception.stacktrace", "exception.escaped":
		return "ag." + key
	case "image.url", "audio.url", "audio.transcript":
		return "ag.data.multimedia." + key
	case "audio.mime_type":
		return "ag.meta.multimedia.audio.mime_type"
	case "session.id":
		return "ag.session.id"
	case "user.id":
		return "ag.user.id"
	case "tag.tags":
		return "ag.meta.tags"
	case "metadata":
		return "ag.meta.metadata"
	case "tool.name", "tool.description", "tool.json_schema", "tool.id", "tool.parameters":
		return "ag.meta." + key
	case "tool_call.function.arguments":
		return "ag.data.inputs.tool_call.function.arguments"
	case "tool_call.function.name", "tool_call.id":
		return "ag.meta." + key
	default:
		return ""
	}
}

// openInferenceLLM reads the lists below llm.
func (o *Overlay) openInferenceLLM(key string, value any) {
	if rest, ok := strings.CutPrefix(key, "llm.input_messages."); ok {
		o.put("ag.data.inputs.prompt."+messagePath(rest), value)
	} else if rest, ok := strings.CutPrefix(key, "llm.output_messages."); ok {
		o.put("ag.data.outputs.completion."+messagePath(rest), value)
	} else if rest, ok := strings.CutPrefix(key, "llm.token_count."); ok {
		o.put("ag.metrics.unit.tokens."+tokenName(rest), value)
	} else if rest, ok := strings.CutPrefix(key, "llm.tools."); ok {
		o.openInferenceTool(rest, value)
	}
}

// messagePath drops the segments by which OpenInference names the type of a
// list's elements: "0.message.tool_calls.1.tool_call.id" is "0.tool_calls.1.id".
func messagePath(rest string) string {
	position, field, ok := strings.Cut(rest, ".message.")
	if !ok || strings.Contains(position, ".") {
		return rest
	}
	calls, ok := strings.CutPrefix(field, "tool_calls.")
	if !ok {
		return position + "." + field
	}
	call, member, ok := strings.Cut(calls, ".tool_call.")
	if !ok || strings.Contains(call, ".") {
		return position + "." + field
	}
	return position + ".tool_calls." + call + "." + member
}

// tokenName names the details of token counts as the other conventions do; the
// schema has no deeper level for them.
func tokenName(rest string) string {
	switch rest {
	case "prompt_details.cache_read", "prompt_details.cache_input":
		return "cache_read"
	case "prompt_details.cache_write":
		return "cache_creation"
	case "completion_details.reasoning":
		return "reasoning"
	case "prompt_details.audio":
		return "audio_input"
	case "completion_details.audio":
		return "audio_output"
	default:
		return rest
	}
}

// openInferenceTool reads "N.tool.json_schema", a tool definition as JSON text.
func (o *Overlay) openInferenceTool(rest string, value any) {
	position, ok := strings.CutSuffix(rest, ".tool.json_schema")
	if ok && !strings.Contains(position, ".") {
		switch definition := parsed(value).(type) {
		case map[string]any, []any:
			o.put("ag.data.inputs.tools."+position, definition)
			return
		}
	}
	o.put("ag.data.inputs.tools."+rest, value)
}

// openInferenceList reads the lists of embeddings and documents.
func (o *Overlay) openInferenceList(key string, value any) {
	_ = o.putBelow("ag.data.inputs.embeddings.", key, "embedding.embeddings.", value) ||
		o.putBelow("ag.data.inputs.reranker.input_documents.", key, "reranker.input_documents.", value) ||
		o.putBelow("ag.data.outputs.reranker.output_documents.", key, "reranker.output_documents.", value) ||
		o.putBelow("ag.data.outputs.retrieval.documents.", key, "retrieval.documents.", value) ||
		o.putBelow("ag.data.inputs.message_contents.", key, "message.contents.", value)
}
