package semconv

import (
	"strings"

	"colonnade/write/semconv/convert"
	"colonnade/write/semconv/message"
)

// translateOpenLLMetry reads what Traceloop's OpenLLMetry writes. Models,
// parameters and token counts are in the gen_ai family, which
// translateGenAI reads. Source: contract §1.3 A.
func translateOpenLLMetry(o *Overlay) {
	var lists flatLists
	for i := range o.sorted {
		key, value := o.sorted[i].Key, o.sorted[i].Value
		if target := openLLMetryExact(key); target != "" {
			o.put(target, value)
			continue
		}
		switch key {
		case "llm.request.type":
			o.kind(value, rankOperation)
		case "traceloop.span.kind":
			o.kind(value, rankKind)
		case "llm.usage.total_tokens":
			o.count("total", value)
		case "traceloop.entity.input":
			o.facts.input.whole = memberOf(value, "inputs")
		case "traceloop.entity.output":
			o.facts.output.whole = memberOf(value, "outputs")
		case "traceloop.association.properties.session_id":
			o.identify("ag.session.id", value)
		case "traceloop.association.properties.user_id":
			o.identify("ag.user.id", value)
		case "gen_ai.prompt.name", "gen_ai.prompt.version":
			// Names of a stored prompt in the current gen_ai conventions, no parts of a message.
		default:
			_ = o.putMetadata(key, "traceloop.association.properties.", value) ||
				lists.below("prompt", key, "gen_ai.prompt.", value) ||
				lists.below("completion", key, "gen_ai.completion.", value) ||
				lists.below("functions", key, "llm.request.functions.", value) ||
				lists.below("tools", key, "llm.request.tools.", value)
		}
	}
	o.facts.input.converse(numbered(lists.list("prompt")))
	o.facts.output.converse(numbered(lists.list("completion")))
	for _, name := range []string{"functions", "tools"} {
		if tools := lists.list(name); tools != nil {
			o.facts.input.member("tools", tools)
		}
	}
}

// below notes a value whose key has a prefix; it reports whether it has.
func (l *flatLists) below(list, key, prefix string, value any) bool {
	rest, ok := strings.CutPrefix(key, prefix)
	if ok && rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		l.add(list, rest, value)
		return true
	}
	return false
}

// numbered returns numbered messages in the canonical shape: each element is
// one, also where it does not say whose it is.
func numbered(list []any) (messages []any) {
	for _, e := range list {
		if object, ok := e.(map[string]any); ok {
			messages = message.Append(messages, object)
		}
	}
	return messages
}

// openLLMetryExact returns where a key goes as it is.
func openLLMetryExact(key string) string {
	switch key {
	case "llm.headers":
		return "ag.meta.request.headers"
	case "llm.top_k", "db.vector.query.top_k", "pinecone.query.top_k":
		return "ag.meta.request.top_k"
	case "llm.is_streaming":
		return "ag.meta.request.streaming"
	case "gen_ai.openai.api_base":
		return "ag.meta.request.base_url"
	case "db.system":
		return "ag.meta.system"
	default:
		return ""
	}
}

// memberOf returns one member of a JSON document, or the document itself where
// it has no such member.
func memberOf(value any, member string) any {
	document := convert.Parsed(value)
	if object, ok := document.(map[string]any); ok {
		if inner, there := object[member]; there {
			return inner
		}
	}
	return document
}
