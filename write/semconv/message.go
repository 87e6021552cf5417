package semconv

import (
	"strings"
)

// canonicalMessages gives the messages of a conversation the one shape in which
// they are stored, whatever API or convention they come from:
// {role, content, tool_calls:[{id, type, function:{name, arguments}}],
// tool_call_id, name, finish_reason, thinking}. value is a list, JSON text of one,
// or a single message; ok is false where it has no messages. What is sent is
// never changed. Source: contract §0 row 40.
func canonicalMessages(value any) (messages []any, ok bool) {
	switch v := parsed(value).(type) {
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
			messages = appendMessage(messages, object)
		}
		return messages, true
	case map[string]any:
		if !isMessage(v) {
			return nil, false
		}
		return appendMessage(nil, v), true
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

// appendMessage appends one message in the shape of canonicalMessages; the
// answers of tools in it become messages of their own.
func appendMessage(out []any, object map[string]any) []any {
	if inner, ok := object["message"].(map[string]any); ok && object["role"] == nil && isMessage(inner) { // a choice
		out = appendMessage(out, inner)
		if m, ok := out[len(out)-1].(map[string]any); ok && object["finish_reason"] != nil && m["finish_reason"] == nil {
			m["finish_reason"] = object["finish_reason"]
		}
		return out
	}
	if kwargs, ok := object["kwargs"].(map[string]any); ok && object["role"] == nil {
		role := langChainRole(object)
		object = kwargs
		return appendMessageAs(out, object, role)
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
	return appendMessageAs(out, object, role)
}

func appendMessageAs(out []any, object map[string]any, role string) []any {
	m := map[string]any{}
	if role != "" {
		m["role"] = role
	}
	var b messageBuilder
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
		out = b.parts(out, parts)
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
		for _, e := range listOf(object[k]) {
			if call, ok := parsed(e).(map[string]any); ok {
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
	if call, ok := parsed(object["function_call"]).(map[string]any); ok && call["name"] != nil {
		return []any{toolCall(call)}
	}
	if name := object["function_call_name"]; name != nil {
		return []any{toolCall(map[string]any{"name": name, "arguments": object["function_call_arguments_json"]})}
	}
	return nil
}

// messageBuilder collects the parts of one message.
type messageBuilder struct {
	texts    []string
	mixed    []any // all parts of the content, once one is no text
	calls    []any
	thinking []string
	answered bool
}

// content reads what a message has as its content: text, JSON text of blocks, or blocks.
func (b *messageBuilder) content(out []any, content any) []any {
	switch c := content.(type) {
	case nil:
	case string:
		if strings.HasPrefix(c, "[{") || strings.HasPrefix(c, "{") {
			if blocks := blocksOf(parsed(c)); blocks != nil {
				return b.parts(out, blocks)
			}
		}
		b.text(c)
	case []any:
		return b.parts(out, c)
	case map[string]any:
		if blocks := blocksOf(c); blocks != nil {
			return b.parts(out, blocks)
		}
		if parts, ok := c["parts"].([]any); ok {
			return b.parts(out, parts)
		}
	}
	return out
}

// blocksOf returns a list whose members are all parts of a known kind.
func blocksOf(value any) []any {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, e := range list {
		part, _ := e.(map[string]any)
		if partKind(part) == "" {
			return nil
		}
	}
	return list
}

// partKind returns what a part of a content is in one word for all APIs; empty where it is not known.
func partKind(part map[string]any) string {
	kind, _ := part["type"].(string)
	switch kind {
	case "text", "input_text", "output_text", "message_content":
		return "text"
	case "tool_call", "tool-call", "tool_use", "function_call", "toolCall":
		return "call"
	case "tool_call_response", "tool-result", "tool_result", "function_call_output", "toolResult":
		return "answer"
	case "reasoning", "thinking":
		return "thinking"
	case "image_url", "image", "input_image", "uri", "blob", "file", "input_file", "document", "input_audio", "audio":
		return "media"
	case "":
	default:
		return ""
	}
	switch {
	case part["message_content"] != nil:
		return "wrapped"
	case part["toolUse"] != nil || part["functionCall"] != nil || part["function_call"] != nil:
		return "call"
	case part["toolResult"] != nil || part["functionResponse"] != nil || part["function_response"] != nil:
		return "answer"
	case part["reasoningContent"] != nil:
		return "thinking"
	case part["inlineData"] != nil || part["inline_data"] != nil || part["fileData"] != nil || part["file_data"] != nil || part["image"] != nil || part["document"] != nil:
		return "media"
	}
	if _, ok := part["text"].(string); ok {
		if part["thought"] == true {
			return "thinking"
		}
		return "text"
	}
	return ""
}

func (b *messageBuilder) parts(out, parts []any) []any {
	for _, e := range parts {
		part, isObject := e.(map[string]any)
		if text, ok := e.(string); ok {
			b.text(text)
			continue
		}
		if !isObject {
			b.other(e)
			continue
		}
		kind := partKind(part)
		if kind == "wrapped" {
			part, _ = part["message_content"].(map[string]any)
			kind = partKind(part)
		}
		switch kind {
		case "text":
			b.textPart(part)
		case "thinking":
			if text := partText(part); text != "" {
				b.thinking = append(b.thinking, text)
			}
		case "call":
			b.calls = append(b.calls, toolCall(part))
		case "answer":
			out, b.answered = append(out, toolAnswer(part)), true
		case "media":
			b.other(media(part))
		default:
			b.other(e)
		}
	}
	return out
}

func (b *messageBuilder) textPart(part map[string]any) {
	for _, k := range []string{"text", "content"} {
		switch text := part[k].(type) {
		case string:
			b.text(text)
			return
		case map[string]any: // a part that was sent twice as deep
			if inner, ok := text["text"].(string); ok {
				b.text(inner)
				return
			}
		}
	}
	b.other(part)
}

// partText returns the text of a part that has it under one of several names.
func partText(part map[string]any) string {
	for _, k := range []string{"content", "text", "thinking", "reasoning"} {
		if text, ok := part[k].(string); ok {
			return text
		}
	}
	if inner, ok := part["reasoningContent"].(map[string]any); ok {
		if inner, ok = inner["reasoningText"].(map[string]any); ok {
			text, _ := inner["text"].(string)
			return text
		}
	}
	return ""
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
		message["content"] = strings.Join(b.texts, " ")
	}
	if len(b.calls) > 0 {
		message["tool_calls"] = b.calls
	}
	if len(b.thinking) > 0 {
		message["thinking"] = strings.Join(b.thinking, " ")
	}
}

func textPart(content string) map[string]any {
	return map[string]any{"type": "text", "text": content}
}

// media gives an image, a recording or a file the shape that chat APIs have for
// it; a part that has it already, or is not known, stays as it is.
func media(part map[string]any) any {
	url := func(u any) any { return map[string]any{"type": "image_url", "image_url": map[string]any{"url": u}} }
	kind, _ := part["type"].(string)
	modality, _ := part["modality"].(string)
	mime, _ := first(part, "mime_type", "mimeType", "mediaType", "media_type").(string)
	image := modality == "image" || kind == "image" || kind == "input_image" || strings.HasPrefix(mime, "image/")
	switch {
	case kind == "image_url" || kind == "input_audio":
		return part
	case image && first(part, "uri", "url", "image_url") != nil:
		return url(first(part, "uri", "url", "image_url"))
	case image || part["image"] != nil:
		switch v := first(part, "image", "source", "content", "data").(type) {
		case map[string]any:
			if inner, ok := v["image"].(map[string]any); ok { // OpenInference has the word twice
				v = inner
			}
			if u := first(v, "url", "uri"); u != nil {
				return url(u)
			}
			data, _ := v["data"].(string)
			if m, ok := first(v, "media_type", "mime_type").(string); ok && data != "" {
				return url("data:" + m + ";base64," + data)
			}
		case string:
			if strings.HasPrefix(v, "http") || strings.HasPrefix(v, "data:") {
				return url(v)
			}
			if mime == "" {
				mime = "image/png"
			}
			return url("data:" + mime + ";base64," + v)
		}
	}
	return part
}

// first returns the first of these members that is there.
func first(object map[string]any, names ...string) any {
	for _, name := range names {
		if v := object[name]; v != nil {
			return v
		}
	}
	return nil
}

// toolCall gives the call of a tool the shape that chat APIs have for it. The
// arguments keep the type that was sent.
func toolCall(part map[string]any) map[string]any {
	for _, k := range []string{"toolUse", "functionCall", "function_call", "tool_call"} {
		if inner, ok := part[k].(map[string]any); ok {
			part = inner
			break
		}
	}
	call := map[string]any{"type": "function"}
	source := part
	if function, ok := part["function"].(map[string]any); ok {
		source = function
	}
	function := map[string]any{}
	if name := first(source, "name", "toolName", "tool_name"); name != nil {
		function["name"] = name
	}
	if arguments := first(source, "arguments", "args", "input"); arguments != nil {
		function["arguments"] = arguments
	}
	if id := first(part, "call_id", "id", "toolCallId", "toolUseId", "tool_call_id"); id != nil {
		call["id"] = id
	}
	call["function"] = function
	return call
}

// toolAnswer makes a message of its own of a part that has the answer of a tool.
func toolAnswer(part map[string]any) map[string]any {
	for _, k := range []string{"toolResult", "functionResponse", "function_response"} {
		if inner, ok := part[k].(map[string]any); ok {
			part = inner
			break
		}
	}
	m := map[string]any{"role": "tool"}
	if id := first(part, "call_id", "id", "tool_use_id", "toolUseId", "toolCallId", "tool_call_id"); id != nil {
		m["tool_call_id"] = id
	}
	if name := first(part, "name", "toolName"); name != nil {
		m["name"] = name
	}
	answer := first(part, "response", "result", "output", "content")
	if object, ok := answer.(map[string]any); ok && object["value"] != nil && object["type"] != nil { // the AI SDK's {type, value}
		answer = object["value"]
	}
	if blocks := blocksOf(answer); blocks != nil {
		var b messageBuilder
		if b.parts(nil, blocks); b.mixed == nil && len(b.texts) > 0 {
			answer = strings.Join(b.texts, " ")
		}
	}
	if answer != nil {
		m["content"] = answer
	}
	return m
}

// answers reports whether one of the messages has content or calls.
func answers(messages []any) bool {
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

// withSystem puts a system instruction that came apart in front of the messages
// where they have none.
func withSystem(messages []any, instruction any) []any {
	for _, e := range messages {
		if m, _ := e.(map[string]any); m["role"] == "system" || m["role"] == "developer" {
			return messages
		}
	}
	var b messageBuilder
	instruction = parsed(instruction)
	if list, ok := instruction.([]any); ok {
		b.parts(nil, list)
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
