package trace

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"colonnade/domain/jsonvalue"
)

// Preview returns at most n characters of a payload as text: of the last message of the role
// where the payload has messages below key or "messages", else of the payload itself; "" for
// nil. The roles of inputs and outputs are user and assistant.
func Preview(payload any, key, role string, n int) string {
	switch payload := payload.(type) {
	case nil:
		return ""
	case string:
		return Cut(payload, n)
	case map[string]any:
		if text := cmp.Or(lastMessage(payload[key], role), lastMessage(payload["messages"], role)); text != "" {
			return Cut(text, n)
		}
	}
	return Cut(string(jsonvalue.Append(nil, payload)), n)
}

// lastMessage returns the text of the last message of a role, or of the last message with
// text if none has that role; "" if messages is no list of messages with text.
func lastMessage(messages any, role string) string {
	list, _ := messages.([]any)
	last, ofRole := "", ""
	for _, m := range list {
		message, _ := m.(map[string]any)
		text := contentText(message["content"])
		if text == "" {
			continue
		}
		last = text
		if message["role"] == role {
			ofRole = text
		}
	}
	return cmp.Or(ofRole, last)
}

// contentText returns the text of a message's content, which is a string or a list of parts.
func contentText(content any) string {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		var parts []string
		for _, part := range content {
			if part, ok := part.(map[string]any); ok {
				if text, ok := part["text"].(string); ok {
					parts = append(parts, text)
				}
			}
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// Cut returns at most n characters of text.
func Cut(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}
