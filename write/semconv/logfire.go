package semconv

import (
	"strings"

	"colonnade/write/otlp/wire"
	"colonnade/write/semconv/convert"
	"colonnade/write/semconv/message"
)

// translateGenAI reads the OpenTelemetry conventions for generative AI, as of
// schema gen-ai-dev/1.42.0-dev (semantic-conventions-genai) with the older names
// that are still written, and the attributes that Logfire and PydanticAI add.
// Source: contract §1.3 C.
func translateGenAI(o *Overlay, events []wire.Event) {
	g := genAISpan{Overlay: o}
	for i := range o.sorted {
		key, value := o.sorted[i].Key, o.sorted[i].Value
		if rest, ok := strings.CutPrefix(key, "gen_ai."); ok {
			g.attribute(rest, value)
		} else {
			g.plain(key, value)
		}
	}
	for i := range events {
		g.event(&events[i])
	}
	o.facts.input.converse(g.inputs)
	o.facts.output.converse(g.outputs)
	if g.final == nil {
		return
	}
	o.kindOr("agent")
	cut := 0
	for i, m := range o.facts.history {
		if object, ok := m.(map[string]any); ok && object["role"] == "user" {
			cut = i + 1
		}
	}
	if len(o.facts.output.messages) == 0 && len(o.facts.history) == cut {
		o.facts.output.member("completion", convert.Parsed(g.final))
	}
}

// genAISpan gathers the messages of events beside those of attributes.
type genAISpan struct {
	*Overlay
	inputs, outputs []any
	final           any
}

// attribute reads a key less "gen_ai.".
func (g *genAISpan) attribute(key string, value any) {
	f := &g.facts
	if rest, ok := strings.CutPrefix(key, "usage."); ok {
		if rest == "cost" || rest == "total_cost" {
			g.costs("total", value)
		} else if rest, ok := strings.CutPrefix(rest, "cost."); ok {
			g.costs(costKind(rest), value)
		} else if kind := tokenKind(rest); kind != "" {
			g.count(kind, value)
		}
		return
	}
	if rest, ok := strings.CutPrefix(key, "cost."); ok {
		if kind := costKind(rest); kind != rest {
			g.costs(kind, value)
		}
		return
	}
	switch key {
	case "request.type", "operation.name":
		g.kind(value, rankOperation)
	case "conversation.id":
		g.identify("ag.session.id", value)
	case "user", "request.user", "user.id":
		g.identify("ag.user.id", value)
	case "request.model":
		g.askedModel(value)
	case "response.model":
		g.answerModel(value)
	case "input.messages":
		g.inputs, _ = message.Canonical(value)
	case "output.messages":
		g.outputs, _ = message.Canonical(value)
	case "prompt":
		g.openPrompt(value)
	case "completion":
		f.output.read(value)
	case "system_instructions":
		f.system = value
		g.put("ag.meta.system_instructions", value)
	case "tool.name":
		f.tool.name = value
		g.put("ag.meta.tool.name", value)
	case "tool.call.arguments":
		if f.tool.arguments == nil {
			f.tool.arguments = value
		}
		g.put("ag.meta.tool.call.arguments", value)
	case "tool.call.result":
		if f.tool.result == nil {
			f.tool.result = value
		}
		g.put("ag.meta.tool.call.result", value)
	case "tool.definitions":
		if tools := convert.ListOf(value); tools != nil {
			f.input.member("tools", tools)
		} else {
			g.put("ag.meta.tool.definitions", value)
		}
	case "retrieval.documents", "memory.records":
		f.output.member(key, convert.Parsed(value))
	case "retrieval.query.text", "memory.query.text":
		f.input.member("query", value)
	case "agent.id":
		g.put("ag.agent.id", value)
	case "request.stream", "is_streaming", "request.is_stream":
		g.put("ag.meta.request.streaming", value)
	default:
		if genAIMeta(key) {
			g.put("ag.meta."+key, value)
		}
	}
}

// openPrompt reads the whole prompt: messages, a body with them, or text.
func (g *genAISpan) openPrompt(value any) { g.facts.input.read(value) }

// plain reads the keys of Logfire and PydanticAI that have no prefix in common.
func (g *genAISpan) plain(key string, value any) {
	f := &g.facts
	switch key {
	case "tool_arguments":
		f.tool.arguments = value
		g.put("ag.meta.tool_arguments", value)
	case "tool_response":
		f.tool.result = value
		g.put("ag.meta.tool_response", value)
	case "final_result":
		g.final = value
		g.put("ag.meta.final_result", value)
	case "agent_name", "model_name":
		g.put("ag.meta."+key, value)
	case "pydantic_ai.all_messages":
		if messages, ok := message.Canonical(value); ok {
			f.history = messages
		} else if f.input.whole == nil {
			f.input.member("messages", convert.Parsed(value))
		}
	case "events", "all_messages_events":
		g.listedEvents(convert.ListOf(value))
	}
}

// kindOr notes a type where nothing else is known.
func (o *Overlay) kindOr(word string) {
	if o.facts.kind == 0 {
		o.facts.kind = kindOf(word)
	}
}

// genAIMeta reports whether a key has the same name below ag.meta.
func genAIMeta(key string) bool {
	switch key {
	case "system", "provider.name", "output.type", "tool.call.id", "tool.description", "tool.type",
		"agent.name", "agent.description", "agent.version", "workflow.name", "data_source.id", "prompt.name", "prompt.version",
		"embeddings.dimension.count", "memory.store.id", "memory.record.id", "memory.record.count":
		return true
	default:
		return strings.HasPrefix(key, "request.") || strings.HasPrefix(key, "response.") || strings.HasPrefix(key, "evaluation.")
	}
}
