package semconv

import (
	"strings"

	"colonnade/write/otlp/wire"
)

// translateGenAI reads the OpenTelemetry conventions for generative AI, as of
// schema gen-ai-dev/1.42.0-dev (semantic-conventions-genai) with the older names
// that are still written, and the attributes that Logfire and PydanticAI add.
// Source: contract §1.3 C.
func translateGenAI(span *wire.Span, to *Overlay) {
	g := genAISpan{to: to}
	for i := range span.Attributes {
		key, value := span.Attributes[i].Key, span.Attributes[i].Value
		if rest, ok := strings.CutPrefix(key, "gen_ai."); ok {
			g.attribute(rest, value)
		} else {
			g.plain(key, value)
		}
	}
	for i := range span.Events {
		g.event(&span.Events[i])
	}
	g.total()
	g.data()
}

// genAISpan gathers what must be seen together before it can be placed.
type genAISpan struct {
	to                        *Overlay
	prompt, completion        any
	hasTotal                  bool
	inputs, outputs           []any // messages, normalised
	history                   []any // the whole conversation of an agent, normalised
	tool, arguments, response any
	agent                     bool
	final                     any
}

// attribute reads a key less "gen_ai.".
func (g *genAISpan) attribute(key string, value any) {
	if rest, ok := strings.CutPrefix(key, "usage."); ok {
		g.usage(rest, value)
		return
	}
	switch key {
	case "request.type":
		g.to.put(NodeType, value)
	case "operation.name":
		operation, _ := value.(string)
		g.agent = g.agent || operation == "invoke_agent"
		g.to.put(NodeType, genAINode(operation))
	case "conversation.id":
		g.to.put("ag.session.id", value)
	case "input.messages":
		g.inputs = messagesOf(value)
	case "output.messages":
		g.outputs = messagesOf(value)
	case "tool.name":
		g.tool = value
		g.to.put("ag.meta.tool.name", value)
	case "tool.call.arguments":
		g.arguments = value
		g.to.put("ag.meta.tool.call.arguments", value)
	case "tool.call.result":
		if g.response == nil {
			g.response = value
		}
		g.to.put("ag.meta.tool.call.result", value)
	case "tool.definitions":
		if tools := listOf(value); tools != nil {
			g.to.put("ag.data.inputs.tools", tools)
		} else {
			g.to.put("ag.meta.tool.definitions", value)
		}
	case "retrieval.documents", "memory.records":
		g.to.put("ag.data.outputs."+key, parsed(value))
	case "retrieval.query.text", "memory.query.text":
		g.to.put("ag.data.inputs.query", value)
	case "agent.id":
		g.to.put("ag.agent.id", value)
	case "request.stream":
		g.to.put("ag.meta.request.streaming", value)
	default:
		if genAIMeta(key) {
			g.to.put("ag.meta."+key, value)
		}
	}
}

// genAIMeta tells whether a key has the same name below ag.meta.
func genAIMeta(key string) bool {
	switch key {
	case "system", "provider.name", "output.type", "tool.call.id", "tool.description", "tool.type", "system_instructions",
		"agent.name", "agent.description", "agent.version", "workflow.name", "data_source.id", "prompt.name", "prompt.version",
		"embeddings.dimension.count", "memory.store.id", "memory.record.id", "memory.record.count":
		return true
	default:
		return strings.HasPrefix(key, "request.") || strings.HasPrefix(key, "response.") || strings.HasPrefix(key, "evaluation.")
	}
}

func (g *genAISpan) usage(key string, value any) {
	var name string
	switch key {
	case "input_tokens", "prompt_tokens":
		g.prompt, name = value, "prompt"
	case "output_tokens", "completion_tokens":
		g.completion, name = value, "completion"
	case "total_tokens":
		g.hasTotal, name = value != nil && value != int64(0), "total"
	case "cache_read.input_tokens", "cache_read_input_tokens", "details.cache_read_tokens":
		name = "cache_read"
	case "cache_creation.input_tokens", "cache_creation_input_tokens", "details.cache_write_tokens":
		name = "cache_creation"
	case "reasoning.output_tokens", "reasoning_tokens", "details.reasoning_tokens":
		name = "reasoning"
	case "details.cached_tokens":
		name = "cached"
	case "audio.input_tokens", "audio.output_tokens", "image.input_tokens", "text.input_tokens", "text.output_tokens", "video.input_tokens":
		name = strings.Replace(strings.TrimSuffix(key, "_tokens"), ".", "_", 1)
	default:
		return
	}
	g.to.put("ag.metrics.unit.tokens."+name, value)
}

// total adds the parts up where the instrumentation did not.
func (g *genAISpan) total() {
	if g.hasTotal {
		return
	}
	switch p := g.prompt.(type) {
	case int64:
		switch c := g.completion.(type) {
		case int64:
			if p != 0 && c != 0 {
				g.to.put("ag.metrics.unit.tokens.total", p+c)
			}
		case float64:
			if p != 0 && c != 0 {
				g.to.put("ag.metrics.unit.tokens.total", float64(p)+c)
			}
		}
	case float64:
		switch c := g.completion.(type) {
		case int64:
			if p != 0 && c != 0 {
				g.to.put("ag.metrics.unit.tokens.total", p+float64(c))
			}
		case float64:
			if p != 0 && c != 0 {
				g.to.put("ag.metrics.unit.tokens.total", p+c)
			}
		}
	}
}

// plain reads the keys of Logfire and PydanticAI that have no prefix in common.
func (g *genAISpan) plain(key string, value any) {
	switch key {
	case "tool_arguments":
		g.arguments = value
		g.to.put("ag.meta.tool_arguments", value)
	case "tool_response":
		g.response = value
		g.to.put("ag.meta.tool_response", value)
	case "final_result":
		g.agent, g.final = true, value
		g.to.put("ag.meta.final_result", value)
	case "agent_name", "model_name":
		g.to.put("ag.meta."+key, value)
	case "pydantic_ai.all_messages":
		g.history = messagesOf(value)
	case "events", "all_messages_events":
		g.listedEvents(listOf(value))
	}
}

// data places the messages: those of the call itself; else a tool's arguments
// and result; else an agent's conversation, divided at its last user message,
// or its result.
func (g *genAISpan) data() {
	if g.inputs != nil || g.outputs != nil {
		g.put(g.inputs, g.outputs)
		return
	}
	if g.tool != nil {
		g.to.put("ag.data.inputs.name", g.tool)
		if g.arguments != nil {
			g.to.put("ag.data.inputs.arguments", parsed(g.arguments))
		}
		if g.response != nil {
			g.to.put("ag.data.outputs", parsed(g.response))
		}
		return
	}
	if !g.agent {
		return
	}
	cut := 0
	for i, m := range g.history {
		if object, ok := m.(map[string]any); ok && object["role"] == "user" {
			cut = i + 1
		}
	}
	g.put(g.history[:cut], g.history[cut:])
	if len(g.history) == cut && g.final != nil {
		g.to.put("ag.data.outputs", parsed(g.final))
	}
}

func (g *genAISpan) put(inputs, outputs []any) {
	if len(inputs) > 0 {
		g.to.put("ag.data.inputs.prompt", inputs)
	}
	if len(outputs) > 0 {
		g.to.put("ag.data.outputs.completion", outputs)
	}
}

func genAINode(operation string) string {
	switch operation {
	case "chat":
		return "chat"
	case "create_agent", "invoke_agent":
		return "agent"
	case "embeddings":
		return "embedding"
	case "execute_tool":
		return "tool"
	case "generate_content", "text_completion":
		return "completion"
	case "invoke_workflow":
		return "workflow"
	case "retrieval":
		return "query"
	default:
		return "task"
	}
}
