package semconv

import (
	"maps"
	"strings"

	"colonnade/write/otlp/wire"
	"colonnade/write/semconv/convert"
	"colonnade/write/semconv/message"
)

// listedEvents reads a list of events that Logfire keeps in an attribute: a
// choice is an answer, any other a message sent.
func (g *genAISpan) listedEvents(events []any) {
	var inputs, outputs []any
	for _, e := range events {
		event, _ := e.(map[string]any)
		name, ok := event["event.name"].(string)
		if !ok {
			continue
		}
		if name == "gen_ai.choice" {
			outputs = appendShown(outputs, choiceOf(event), "assistant")
		} else {
			inputs = appendShown(inputs, event, role(name))
		}
	}
	g.keep(inputs, outputs)
}

// event reads a span event of the older gen_ai conventions, one for each
// message, or of the current one, which holds all of them.
func (g *genAISpan) event(e *wire.Event) {
	if !strings.HasPrefix(e.Name, "gen_ai.") {
		return
	}
	switch e.Name {
	case "gen_ai.client.inference.operation.details":
		inputs, _ := message.Canonical(e.Attributes["gen_ai.input.messages"])
		outputs, _ := message.Canonical(e.Attributes["gen_ai.output.messages"])
		g.keep(inputs, outputs)
	case "gen_ai.content.prompt":
		g.facts.input.read(e.Attributes["gen_ai.prompt"])
	case "gen_ai.content.completion":
		g.facts.output.read(e.Attributes["gen_ai.completion"])
	case "gen_ai.choice":
		g.choice(e.Attributes)
	case "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message":
		if e.Name == "gen_ai.tool.message" && g.facts.tool.arguments == nil {
			g.facts.tool.arguments = convert.Compound(e.Attributes["content"])
		}
		g.inputs = appendShown(g.inputs, e.Attributes, role(e.Name))
	}
}

// keep takes messages where none were found in a better place.
func (g *genAISpan) keep(inputs, outputs []any) {
	if len(g.inputs) == 0 {
		g.inputs = inputs
	}
	if len(g.outputs) == 0 {
		g.outputs = outputs
	}
}

// choice reads an event that has an answer: its message is an object, blocks, or plain text.
func (g *genAISpan) choice(event map[string]any) {
	if g.facts.tool.result == nil {
		g.facts.tool.result = answerText(event["message"])
	}
	g.outputs = appendShown(g.outputs, choiceOf(event), "assistant")
	if result := event["tool.result"]; result != nil {
		if blocks := message.Blocks(convert.Parsed(result)); blocks != nil {
			var b message.Builder
			g.outputs = b.Parts(g.outputs, blocks)
		}
	}
}

// answerText returns the text of blocks, and anything else as it is.
func answerText(value any) any {
	blocks := message.Blocks(convert.Compound(value))
	if blocks == nil {
		return value
	}
	var b message.Builder
	if b.Parts(nil, blocks); b.Mixed == nil && len(b.Texts) > 0 {
		return strings.Join(b.Texts, " ")
	}
	return value
}

// choiceOf returns the message of a choice, which is a member of it or itself.
func choiceOf(event map[string]any) map[string]any {
	sent := event["message"]
	answer, ok := convert.Parsed(sent).(map[string]any)
	switch {
	case ok && message.Kind(answer) == "":
	case sent == nil:
		return event
	default: // blocks or text
		answer = map[string]any{"content": sent, "role": event["role"], "tool_calls": event["tool_calls"]}
	}
	if reason := event["finish_reason"]; reason != nil && answer["finish_reason"] == nil {
		answer = maps.Clone(answer) // it may be the client's own
		answer["finish_reason"] = reason
	}
	return answer
}

// appendShown appends what an event shows of a message, with the role its name
// implies where it states none.
func appendShown(list []any, event map[string]any, implied string) []any {
	m := make(map[string]any, 4)
	for _, k := range []string{"role", "content", "name", "id", "finish_reason", "tool_calls"} {
		if v := event[k]; v != nil {
			m[k] = v
		}
	}
	if len(m) == 0 {
		return list
	}
	role, _ := m["role"].(string)
	if role == "" {
		role = implied
	}
	return message.AppendAs(list, m, role)
}

// role returns what the name of an event such as gen_ai.user.message implies.
func role(name string) string {
	who, ok := strings.CutSuffix(strings.TrimPrefix(name, "gen_ai."), ".message")
	if !ok {
		return ""
	}
	return who
}
