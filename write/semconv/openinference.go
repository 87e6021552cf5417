package semconv

import (
	"strings"

	"colonnade/domain/trace"
	"colonnade/write/semconv/convert"
)

// translateOpenInference reads what Arize's OpenInference instrumentations
// write (openinference-semantic-conventions 0.1.46). Source: contract §1.3 B.
func translateOpenInference(o *Overlay) {
	var lists flatLists
	in, out := &o.facts.input, &o.facts.output
	for i := range o.sorted {
		key, value := o.sorted[i].Key, o.sorted[i].Value
		switch key {
		case "openinference.span.kind":
			o.kind(value, rankConvention)
		case "input.value":
			in.whole = convert.Compound(value)
		case "output.value":
			out.whole = convert.Compound(value)
		case "llm.invocation_parameters":
			o.put("ag.meta.request", convert.ObjectOr(value))
		case "llm.model_name", "llm.response.model_name":
			o.answerModel(value)
		case "embedding.model_name", "llm.request.model_name":
			o.askedModel(value)
		case "llm.finish_reason":
			o.put("ag.meta.response.finish_reasons", value)
		case "llm.function_call":
			out.member("function_call", convert.Parsed(value))
		case "embedding.text":
			in.member("embedding.text", value)
		case "embedding.vector":
			out.member("embedding.vector", value)
		case "tool_call.function.arguments":
			in.member("tool_call.function.arguments", value)
		case "tool.name":
			o.facts.tool.name = value
			o.put("ag.meta.tool.name", value)
		case "session.id":
			o.identify("ag.session.id", value)
		case "user.id":
			o.identify("ag.user.id", value)
		case "tag.tags":
			o.tag(value)
			o.put("ag.meta.tags", value)
		default:
			if target := openInferenceExact(key); target != "" {
				o.put(target, value)
			} else {
				o.openInferenceBelow(key, value, &lists)
			}
		}
	}
	in.converse(numbered(innerCalls(unwrapped(lists.list("in"), "message"))))
	out.converse(numbered(innerCalls(unwrapped(lists.list("out"), "message"))))
	for name, target := range map[string]string{"embeddings": "embeddings", "reranked": "reranker.input_documents", "contents": "message_contents"} {
		if l := lists.list(name); l != nil {
			in.member(target, l)
		}
	}
	if l := documents(lists.list("ranked")); l != nil {
		out.member("reranker.output_documents", l)
	}
	if l := documents(lists.list("documents")); l != nil {
		out.member("retrieval.documents", l)
	}
	if tools := lists.list("tools"); tools != nil {
		in.member("tools", definitions(tools))
	}
	if o.facts.kind == trace.Tool && o.facts.tool.arguments == nil {
		o.facts.tool.name = nil // its input is known as a whole
	}
}

// openInferenceBelow reads the keys that have a prefix in common.
func (o *Overlay) openInferenceBelow(key string, value any, lists *flatLists) {
	if rest, ok := strings.CutPrefix(key, "llm.token_count."); ok {
		if kind := tokenKind(rest); kind != "" {
			o.count(kind, value)
		} else {
			o.count(rest, value)
		}
		return
	}
	if rest, ok := strings.CutPrefix(key, "llm.cost."); ok {
		if !strings.Contains(rest, ".") && !strings.HasSuffix(rest, "_details") {
			o.costs(costKind(rest), value)
		}
		return
	}
	_ = lists.below("in", key, "llm.input_messages.", value) ||
		lists.below("out", key, "llm.output_messages.", value) ||
		lists.below("tools", key, "llm.tools.", value) ||
		lists.below("embeddings", key, "embedding.embeddings.", value) ||
		lists.below("reranked", key, "reranker.input_documents.", value) ||
		lists.below("ranked", key, "reranker.output_documents.", value) ||
		lists.below("documents", key, "retrieval.documents.", value) ||
		lists.below("contents", key, "message.contents.", value)
}

// innerCalls takes the name of the type out of the calls of messages.
func innerCalls(messages []any) []any {
	for _, e := range messages {
		m, _ := e.(map[string]any)
		if list, ok := m["tool_calls"].([]any); ok {
			m["tool_calls"] = unwrapped(list, "tool_call")
		}
	}
	return messages
}

// documents parses the metadata of documents, which comes as JSON text.
func documents(list []any) []any {
	for _, e := range list {
		object, _ := e.(map[string]any)
		if d, ok := object["document"].(map[string]any); ok && d["metadata"] != nil {
			d["metadata"] = convert.Compound(d["metadata"])
		}
	}
	return list
}

// definitions returns the definitions of tools, which come as JSON text.
func definitions(tools []any) []any {
	for i, e := range tools {
		object, _ := e.(map[string]any)
		inner, ok := object["tool"].(map[string]any)
		if !ok {
			continue
		}
		switch definition := convert.Parsed(inner["json_schema"]).(type) {
		case map[string]any, []any:
			tools[i] = definition
		}
	}
	return tools
}

// openInferenceExact returns where a key goes as it is.
func openInferenceExact(key string) string {
	switch key {
	case "input.mime_type":
		return "ag.meta.input.mime_type"
	case "output.mime_type":
		return "ag.meta.output.mime_type"
	case "llm.provider":
		return "ag.meta.provider"
	case "llm.system":
		return "ag.meta.system"
	case "llm.prompt_template.template", "llm.prompt_template.variables", "llm.prompt_template.version":
		return "ag.meta." + key[len("llm."):]
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
	case "tag.tags":
		return "ag.meta.tags"
	case "metadata":
		return "ag.meta.metadata"
	case "tool.name", "tool.description", "tool.json_schema", "tool.id", "tool.parameters":
		return "ag.meta." + key
	case "tool_call.function.name", "tool_call.id":
		return "ag.meta." + key
	default:
		return ""
	}
}
