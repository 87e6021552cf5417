package adapt

import (
	"strings"

	"colonnade/domain/trace"
)

// messages normalises a list of messages {role, parts} to {role, content,
// tool_calls?, thinking?, finish_reason?, ...}. The answer of a tool becomes a
// message of its own with the role "tool". What is no message with parts stays
// as it is. Source: contract §1.3 C, the gen_ai message schemas.
func messages(list []any) []any {
	if len(list) == 0 {
		return nil
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		object, _ := e.(map[string]any)
		parts, ok := object["parts"].([]any)
		if !ok {
			out = append(out, e)
			continue
		}
		out = appendMessage(out, object, parts)
	}
	return out
}

func appendMessage(out []any, object map[string]any, parts []any) []any {
	var b messageBuilder
	for _, p := range parts {
		part, ok := p.(map[string]any)
		if !ok {
			b.other(p)
			continue
		}
		switch part["type"] {
		case "text":
			b.text(part)
		case "tool_call":
			b.calls = append(b.calls, toolCall(part))
		case "tool_call_response":
			out = append(out, toolAnswer(part))
			b.answered = true
		case "reasoning", "thinking":
			if content, ok := part["content"].(string); ok {
				b.thinking = append(b.thinking, content)
			}
		default:
			b.other(part)
		}
	}
	if b.empty() && b.answered {
		return out
	}
	return append(out, b.message(object))
}

type messageBuilder struct {
	texts    []string
	content  []any // all parts of the content, once one is no text
	mixed    bool
	calls    []any
	thinking []string
	answered bool
}

func (b *messageBuilder) text(part map[string]any) {
	text, ok := part["content"].(string)
	if !ok {
		b.other(part)
		return
	}
	b.texts = append(b.texts, text)
	b.content = append(b.content, map[string]any{"type": "text", "text": text})
}

func (b *messageBuilder) other(part any) {
	b.mixed = true
	b.content = append(b.content, part)
}

func (b *messageBuilder) empty() bool {
	return len(b.content) == 0 && len(b.calls) == 0 && len(b.thinking) == 0
}

func (b *messageBuilder) message(object map[string]any) map[string]any {
	m := make(map[string]any, len(object)+2)
	for k, v := range object {
		if k != "parts" {
			m[k] = v
		}
	}
	switch {
	case b.mixed:
		m["content"] = b.content
	case len(b.texts) > 0:
		m["content"] = strings.Join(b.texts, "\n")
	}
	if len(b.calls) > 0 {
		m["tool_calls"] = b.calls
	}
	if len(b.thinking) > 0 {
		m["thinking"] = strings.Join(b.thinking, "\n")
	}
	return m
}

// toolCall gives a part the shape that chat APIs have for it, arguments as JSON text.
func toolCall(part map[string]any) map[string]any {
	function := map[string]any{}
	if name, ok := part["name"]; ok {
		function["name"] = name
	}
	switch arguments := part["arguments"].(type) {
	case nil:
	case string:
		function["arguments"] = arguments
	default:
		function["arguments"] = string(trace.AppendJSON(nil, arguments))
	}
	call := map[string]any{"type": "function", "function": function}
	if id := part["id"]; id != nil {
		call["id"] = id
	}
	return call
}

func toolAnswer(part map[string]any) map[string]any {
	m := map[string]any{"role": "tool"}
	if id := part["id"]; id != nil {
		m["tool_call_id"] = id
	}
	if name := part["name"]; name != nil {
		m["name"] = name
	}
	for _, member := range []string{"response", "result", "content"} {
		if answer, ok := part[member]; ok {
			m["content"] = answer
			break
		}
	}
	return m
}
