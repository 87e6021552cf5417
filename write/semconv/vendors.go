package semconv

import (
	"strings"

	"colonnade/write/semconv/convert"
	"colonnade/write/semconv/message"
)

// translateVendors reads the few attributes of their own that frameworks add to
// the common conventions: Google ADK, haystack, Spring AI, LiteLLM, Claude Code.
// Source: contract §0 row 41.
func translateVendors(o *Overlay) {
	f := &o.facts
	var component string
	var query bool
	for i := range o.sorted {
		key, value := o.sorted[i].Key, o.sorted[i].Value
		switch key {
		case "gcp.vertex.agent.llm_request":
			f.input.whole = convert.Parsed(value)
			o.kind("chat", rankOperation)
		case "gcp.vertex.agent.llm_response":
			f.output.whole = convert.Parsed(value)
		case "gcp.vertex.agent.session_id":
			o.identify("ag.session.id", value)
		case "gcp.vertex.agent.tool_call_args":
			f.tool.arguments = value
		case "gcp.vertex.agent.tool_response":
			f.tool.result = value
		case "haystack.component.type":
			component, _ = value.(string)
			o.kind(haystackKind(component), rankConvention)
			o.put("ag.meta.haystack.component.type", value)
		case "haystack.component.name":
			o.put("ag.meta.haystack.component.name", value)
		case "haystack.component.input", "haystack.pipeline.input_data":
			f.input.whole = convert.Parsed(value)
		case "haystack.component.output", "haystack.pipeline.output_data":
			f.output.whole = convert.Parsed(value)
			o.haystackUsage(f.output.whole)
		case "spring.ai.kind":
			o.kind(value, rankConvention)
		case "db.operation.name":
			query = value == "query" || value == "search"
		case "db.vector.query.content":
			f.input.member("query", value)
		case "llm.user":
			o.identify("ag.user.id", value)
		case "operation.cost":
			o.costs("total", value)
		}
	}
	if query && f.input.members["query"] != nil {
		o.kind("query", rankConvention)
	}
}

// haystackKind returns the kind of a component by its class.
func haystackKind(class string) string {
	switch {
	case class == "":
		return ""
	case strings.HasSuffix(class, "Generator"):
		return "chat"
	case strings.HasSuffix(class, "Retriever"):
		return "query"
	case strings.HasSuffix(class, "Embedder"):
		return "embedding"
	case strings.HasSuffix(class, "Ranker"):
		return "rerank"
	case strings.HasSuffix(class, "Agent"):
		return "agent"
	default:
		return "chain"
	}
}

// haystackUsage reads the model and the usage of the first reply.
func (o *Overlay) haystackUsage(output any) {
	object, _ := output.(map[string]any)
	meta, _ := object["meta"].(map[string]any)
	if replies, ok := object["replies"].([]any); ok && len(replies) > 0 {
		reply, _ := replies[0].(map[string]any)
		if m, ok := message.First(reply, "meta", "_meta").(map[string]any); ok {
			meta = m
		}
	}
	o.answerModel(meta["model"])
	o.usage(meta["usage"])
}
