package semconv

import (
	"strings"

	"colonnade/write/otlp/wire"
)

// translateOpenLLMetry reads what Traceloop's OpenLLMetry writes. Models,
// parameters and token counts are in the gen_ai family, which
// translateGenAI reads. Source: contract §1.3 A.
func translateOpenLLMetry(span *wire.Span, to *Overlay) {
	for i := range span.Attributes {
		key, value := span.Attributes[i].Key, span.Attributes[i].Value
		if target := openLLMetryExact(key); target != "" {
			to.put(target, value)
			continue
		}
		switch key {
		case "traceloop.entity.input":
			to.putMember("ag.data.inputs", value, "inputs")
		case "traceloop.entity.output":
			to.putMember("ag.data.outputs", value, "outputs")
		case "gen_ai.prompt.name", "gen_ai.prompt.version":
			// Names of a stored prompt in the current gen_ai conventions, no parts of a message.
		default:
			_ = to.putBelow("ag.data.inputs.prompt.", key, "gen_ai.prompt.", value) ||
				to.putBelow("ag.data.outputs.completion.", key, "gen_ai.completion.", value) ||
				to.putBelow("ag.data.inputs.functions.", key, "llm.request.functions.", value) ||
				to.putBelow("ag.data.inputs.tools.", key, "llm.request.tools.", value)
		}
	}
}

// openLLMetryExact gives where a key goes as it is. The entity's name, which
// the table sends to ag.node.name, has no place in the schema and is left out:
// the span's own attribute keeps it.
func openLLMetryExact(key string) string {
	switch key {
	case "llm.headers":
		return "ag.meta.request.headers"
	case "llm.request.type", "traceloop.span.kind":
		return NodeType
	case "llm.top_k", "db.vector.query.top_k", "pinecone.query.top_k":
		return "ag.meta.request.top_k"
	case "llm.is_streaming":
		return "ag.meta.request.streaming"
	case "llm.usage.total_tokens":
		return "ag.metrics.unit.tokens.total"
	case "gen_ai.openai.api_base":
		return "ag.meta.request.base_url"
	case "db.system":
		return "ag.meta.system"
	default:
		return ""
	}
}

// putMember puts one member of a JSON document, or the document itself where
// it has no such member.
func (o *Overlay) putMember(target string, value any, member string) {
	document := parsed(value)
	if object, ok := document.(map[string]any); ok {
		if inner, there := object[member]; there {
			document = inner
		}
	}
	o.put(target, document)
}

// putBelow puts a value whose key has a prefix under the target with the rest
// of the key; false where it has not.
func (o *Overlay) putBelow(target, key, prefix string, value any) bool {
	rest, ok := strings.CutPrefix(key, prefix)
	if ok && rest != "" {
		o.put(target+rest, value)
	}
	return ok
}
