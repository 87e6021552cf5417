package semconv

import (
	"maps"
	"strings"

	"colonnade/write/otlp/wire"
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
			outputs = appendShown(outputs, choiceOf(event), "")
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
		g.keep(messagesOf(e.Attributes["gen_ai.input.messages"]), messagesOf(e.Attributes["gen_ai.output.messages"]))
	case "gen_ai.content.prompt":
		g.keep(listOf(e.Attributes["gen_ai.prompt"]), nil)
	case "gen_ai.content.completion":
		g.keep(nil, listOf(e.Attributes["gen_ai.completion"]))
	case "gen_ai.choice":
		g.outputs = appendShown(g.outputs, choiceOf(e.Attributes), "assistant")
	case "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message":
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

// choiceOf gives the message of a choice, which is a member of it or itself.
func choiceOf(event map[string]any) map[string]any {
	message, ok := parsed(event["message"]).(map[string]any)
	if !ok {
		return event
	}
	if reason := event["finish_reason"]; reason != nil && message["finish_reason"] == nil {
		message = maps.Clone(message) // it may be the client's own
		message["finish_reason"] = reason
	}
	return message
}

// appendShown appends what an event shows of a message, with the role its name
// implies where it states none.
func appendShown(list []any, event map[string]any, implied string) []any {
	m := make(map[string]any, 4)
	for _, k := range []string{"role", "content", "name", "id", "finish_reason"} {
		if v := event[k]; v != nil {
			m[k] = v
		}
	}
	if calls := event["tool_calls"]; calls != nil {
		m["tool_calls"] = parsed(calls)
	}
	if len(m) == 0 {
		return list
	}
	if m["role"] == nil && implied != "" {
		m["role"] = implied
	}
	return append(list, m)
}

// role is what the name of an event such as gen_ai.user.message implies.
func role(name string) string {
	who, ok := strings.CutSuffix(strings.TrimPrefix(name, "gen_ai."), ".message")
	if !ok {
		return ""
	}
	return who
}
