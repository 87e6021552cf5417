package semconv

import (
	"maps"
	"strings"

	"colonnade/domain/jsonvalue"
)

// messagesOf normalises the messages of an attribute: a list, or JSON text of one.
func messagesOf(value any) []any {
	_, text := value.(string)
	return messages(listOf(value), text)
}

// messages normalises a list of messages {role, parts} to {role, content,
// tool_calls?, thinking?, finish_reason?, ...}; own tells that the list is ours
// to change. The answer of a tool becomes a message of its own with the role
// "tool". What is no message with parts stays as it is. Source: contract §1.3 C,
// the gen_ai message schemas.
func messages(list []any, own bool) []any {
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
		if !own {
			object = maps.Clone(object)
		}
		out = appendMessage(out, object, parts)
	}
	return out
}

// appendMessage turns object, whose parts these are, into a normalised message.
func appendMessage(out []any, object map[string]any, parts []any) []any {
	delete(object, "parts")
	var b messageBuilder
	answered := false
	for _, p := range parts {
		part, _ := p.(map[string]any)
		kind, _ := part["type"].(string)
		content, isText := part["content"].(string)
		switch {
		case kind == "text" && isText:
			b.text(content)
		case kind == "tool_call":
			b.calls = append(b.calls, toolCall(part))
		case kind == "tool_call_response":
			out = append(out, toolAnswer(part))
			answered = true
		case (kind == "reasoning" || kind == "thinking") && isText:
			b.thinking = append(b.thinking, content)
		default:
			b.other(p)
		}
	}
	if answered && b.empty() {
		return out
	}
	b.finish(object)
	return append(out, object)
}

type messageBuilder struct {
	texts    []string
	mixed    []any // all parts of the content, once one is no text
	calls    []any
	thinking []string
}

func (b *messageBuilder) text(content string) {
	if b.mixed != nil {
		b.mixed = append(b.mixed, textPart(content))
		return
	}
	b.texts = append(b.texts, content)
}

func (b *messageBuilder) other(part any) {
	if b.mixed == nil {
		b.mixed = make([]any, 0, len(b.texts)+1)
		for _, content := range b.texts {
			b.mixed = append(b.mixed, textPart(content))
		}
	}
	b.mixed = append(b.mixed, part)
}

func (b *messageBuilder) empty() bool {
	return len(b.texts) == 0 && len(b.mixed) == 0 && len(b.calls) == 0 && len(b.thinking) == 0
}

func (b *messageBuilder) finish(message map[string]any) {
	switch {
	case b.mixed != nil:
		message["content"] = b.mixed
	case len(b.texts) > 0:
		message["content"] = strings.Join(b.texts, "\n")
	}
	if len(b.calls) > 0 {
		message["tool_calls"] = b.calls
	}
	if len(b.thinking) > 0 {
		message["thinking"] = strings.Join(b.thinking, "\n")
	}
}

func textPart(content string) map[string]any {
	return map[string]any{"type": "text", "text": content}
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
		function["arguments"] = string(jsonvalue.Append(nil, arguments))
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
