// Package message gives the messages of all chat APIs and conventions one shape:
// roles, content, the calls of tools and their answers. Which attribute has
// messages is for write/semconv, the only caller.
package message

import (
	"strings"

	"colonnade/write/semconv/convert"
)

// Canonical gives the messages of a conversation the one shape in which
// they are stored, whatever API or convention they come from:
// {role, content, tool_calls:[{id, type, function:{name, arguments}}],
// tool_call_id, name, finish_reason, thinking}. value is a list, JSON text of one,
// or a single message; ok is false where it has no messages. What is sent is
// never changed. Source: contract §0 row 40.
func Canonical(value any) (messages []any, ok bool) {
	switch v := convert.Parsed(value).(type) {
	case []any:
		for len(v) == 1 { // LangChain has a list of conversations
			inner, nested := v[0].([]any)
			if !nested {
				break
			}
			v = inner
		}
		if len(v) == 0 {
			return nil, false
		}
		for _, e := range v {
			if !isMessage(e) {
				return nil, false
			}
		}
		messages = make([]any, 0, len(v))
		for _, e := range v {
			object, _ := e.(map[string]any)
			messages = Append(messages, object)
		}
		return messages, true
	case map[string]any:
		if !isMessage(v) {
			return nil, false
		}
		return Append(nil, v), true
	default:
		return nil, false
	}
}

// isMessage reports whether a value is a message of one of the known shapes.
func isMessage(value any) bool {
	object, ok := value.(map[string]any)
	if !ok {
		return false
	}
	if _, ok := object["role"].(string); ok {
		return true
	}
	if _, ok := object["kwargs"].(map[string]any); ok {
		return langChainRole(object) != ""
	}
	if _, ok := object["content"]; ok {
		return langChainRole(object) != ""
	}
	if object["type"] == "function_call" || object["type"] == "function_call_output" { // OpenAI's Responses
		return true
	}
	message, ok := object["message"].(map[string]any)
	return ok && isMessage(message)
}

// langChainRole returns the role that the class of a LangChain message stands for.
func langChainRole(object map[string]any) string {
	class, _ := object["type"].(string)
	if path, ok := object["id"].([]any); ok && len(path) > 0 {
		class, _ = path[len(path)-1].(string)
	}
	return roleOf(strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(class), "chunk"), "message"))
}

// roleOf returns the role that a word stands for; empty where it is none.
func roleOf(word string) string {
	switch word {
	case "human", "user":
		return "user"
	case "ai", "assistant", "model":
		return "assistant"
	case "system", "developer", "tool", "function":
		return word
	default:
		return ""
	}
}

// Append appends one message in the shape of Canonical; the
// Answers of tools in it become messages of their own.
func Append(out []any, object map[string]any) []any {
	if inner, ok := object["message"].(map[string]any); ok && object["role"] == nil && isMessage(inner) { // a choice
		out = Append(out, inner)
		if m, ok := out[len(out)-1].(map[string]any); ok && object["finish_reason"] != nil && m["finish_reason"] == nil {
			m["finish_reason"] = object["finish_reason"]
		}
		return out
	}
	if kwargs, ok := object["kwargs"].(map[string]any); ok && object["role"] == nil {
		role := langChainRole(object)
		object = kwargs
		return AppendAs(out, object, role)
	}
	switch object["type"] {
	case "function_call":
		return append(out, map[string]any{"role": "assistant", "tool_calls": []any{toolCall(object)}})
	case "function_call_output":
		return append(out, toolAnswer(object))
	}
	role, _ := object["role"].(string)
	if role == "" {
		role = langChainRole(object)
	}
	if known := roleOf(strings.ToLower(role)); known != "" {
		role = known
	}
	return AppendAs(out, object, role)
}

// AppendAs appends one message with this role, whatever role it names.
func AppendAs(out []any, object map[string]any, role string) []any {
	m := map[string]any{}
	if role != "" {
		m["role"] = role
	}
	var b Builder
	for k, v := range object {
		switch k {
		case "role", "parts", "content", "contents", "tool_calls", "toolCalls", "thinking", "reasoning_content", "type", "id", "function_call",
			"additional_kwargs", "response_metadata", "usage_metadata", "invalid_tool_calls", "annotations", "audio", "refusal":
		case "function_call_name", "function_call_arguments_json":
		case "toolCallId":
			m["tool_call_id"] = v
		case "stop_reason", "finishReason":
			if v != nil && object["finish_reason"] == nil {
				m["finish_reason"] = v
			}
		default:
			if v != nil {
				m[k] = v
			}
		}
	}
	if role == "tool" && m["tool_call_id"] == nil && object["id"] != nil {
		m["tool_call_id"] = object["id"]
	} else if id := object["id"]; id != nil && role != "tool" {
		m["id"] = id
	}
	for _, k := range []string{"reasoning_content", "thinking"} {
		if text, ok := object[k].(string); ok && text != "" {
			b.thinking = append(b.thinking, text)
		}
	}
	parts, hasParts := object["parts"].([]any)
	if hasParts {
		out = b.Parts(out, parts)
	} else {
		for _, k := range []string{"content", "contents"} {
			if out = b.content(out, object[k]); !b.empty() {
				break
			}
		}
	}
	b.calls = append(b.calls, calls(object)...)
	if b.answered && b.empty() {
		return out
	}
	b.finish(m)
	if content, there := object["content"]; there && m["content"] == nil && len(b.calls) == 0 && content != nil {
		if list, isList := content.([]any); !isList || len(list) > 0 {
			m["content"] = content
		}
	}
	if len(m) == 0 {
		return out
	}
	return append(out, m)
}

// calls returns the calls of tools that a message lists outside of its content.
func calls(object map[string]any) (list []any) {
	for _, k := range []string{"tool_calls", "toolCalls"} {
		for _, e := range convert.ListOf(object[k]) {
			if call, ok := convert.Parsed(e).(map[string]any); ok {
				list = append(list, toolCall(call))
			}
		}
		if list != nil {
			return list
		}
	}
	if extra, ok := object["additional_kwargs"].(map[string]any); ok {
		if list = calls(extra); list != nil {
			return list
		}
	}
	if call, ok := convert.Parsed(object["function_call"]).(map[string]any); ok && call["name"] != nil {
		return []any{toolCall(call)}
	}
	if name := object["function_call_name"]; name != nil {
		return []any{toolCall(map[string]any{"name": name, "arguments": object["function_call_arguments_json"]})}
	}
	return nil
}

// Answers reports whether one of the messages has content or calls.
func Answers(messages []any) bool {
	for _, e := range messages {
		m, _ := e.(map[string]any)
		if m["tool_calls"] != nil || m["thinking"] != nil {
			return true
		}
		switch content := m["content"].(type) {
		case nil:
		case string:
			if content != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// WithSystem puts a system instruction that came apart in front of the messages
// where they have none.
func WithSystem(messages []any, instruction any) []any {
	for _, e := range messages {
		if m, _ := e.(map[string]any); m["role"] == "system" || m["role"] == "developer" {
			return messages
		}
	}
	var b Builder
	instruction = convert.Parsed(instruction)
	if list, ok := instruction.([]any); ok {
		b.Parts(nil, list)
	} else {
		b.content(nil, instruction)
	}
	if b.empty() {
		return messages
	}
	m := map[string]any{"role": "system"}
	b.finish(m)
	return append([]any{m}, messages...)
}
