package message

import (
	"strings"

	"colonnade/write/semconv/convert"
)

// Builder collects the parts of one message.
type Builder struct {
	Texts    []string
	Mixed    []any // all parts of the content, once one is no text
	calls    []any
	thinking []string
	answered bool
}

// content reads what a message has as its content: text, JSON text of blocks, or blocks.
func (b *Builder) content(out []any, content any) []any {
	switch c := content.(type) {
	case nil:
	case string:
		if strings.HasPrefix(c, "[{") || strings.HasPrefix(c, "{") {
			if blocks := Blocks(convert.Parsed(c)); blocks != nil {
				return b.Parts(out, blocks)
			}
		}
		b.text(c)
	case []any:
		return b.Parts(out, c)
	case map[string]any:
		if blocks := Blocks(c); blocks != nil {
			return b.Parts(out, blocks)
		}
		if parts, ok := c["parts"].([]any); ok {
			return b.Parts(out, parts)
		}
	}
	return out
}

// Blocks returns a list whose members are all parts of a known kind.
func Blocks(value any) []any {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, e := range list {
		part, _ := e.(map[string]any)
		if Kind(part) == "" {
			return nil
		}
	}
	return list
}

// Kind returns what a part of a content is in one word for all APIs; empty where it is not known.
func Kind(part map[string]any) string {
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

// Parts reads the parts of a content. Answers of tools are appended to out as
// messages of their own.
func (b *Builder) Parts(out, parts []any) []any {
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
		kind := Kind(part)
		if kind == "wrapped" {
			part, _ = part["message_content"].(map[string]any)
			kind = Kind(part)
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

func (b *Builder) textPart(part map[string]any) {
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

func (b *Builder) text(content string) {
	if b.Mixed != nil {
		b.Mixed = append(b.Mixed, textPart(content))
		return
	}
	b.Texts = append(b.Texts, content)
}

func (b *Builder) other(part any) {
	if b.Mixed == nil {
		b.Mixed = make([]any, 0, len(b.Texts)+1)
		for _, content := range b.Texts {
			b.Mixed = append(b.Mixed, textPart(content))
		}
	}
	b.Mixed = append(b.Mixed, part)
}

func (b *Builder) empty() bool {
	return len(b.Texts) == 0 && len(b.Mixed) == 0 && len(b.calls) == 0 && len(b.thinking) == 0
}

func (b *Builder) finish(message map[string]any) {
	switch {
	case b.Mixed != nil:
		message["content"] = b.Mixed
	case len(b.Texts) > 0:
		message["content"] = strings.Join(b.Texts, " ")
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
	mime, _ := First(part, "mime_type", "mimeType", "mediaType", "media_type").(string)
	image := modality == "image" || kind == "image" || kind == "input_image" || strings.HasPrefix(mime, "image/")
	switch {
	case kind == "image_url" || kind == "input_audio":
		return part
	case image && First(part, "uri", "url", "image_url") != nil:
		return url(First(part, "uri", "url", "image_url"))
	case image || part["image"] != nil:
		switch v := First(part, "image", "source", "content", "data").(type) {
		case map[string]any:
			if inner, ok := v["image"].(map[string]any); ok { // OpenInference has the word twice
				v = inner
			}
			if u := First(v, "url", "uri"); u != nil {
				return url(u)
			}
			data, _ := v["data"].(string)
			if m, ok := First(v, "media_type", "mime_type").(string); ok && data != "" {
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

// First returns the first of these members that is there.
func First(object map[string]any, names ...string) any {
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
	if name := First(source, "name", "toolName", "tool_name"); name != nil {
		function["name"] = name
	}
	if arguments := First(source, "arguments", "args", "input"); arguments != nil {
		function["arguments"] = arguments
	}
	if id := First(part, "call_id", "id", "toolCallId", "toolUseId", "tool_call_id"); id != nil {
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
	if id := First(part, "call_id", "id", "tool_use_id", "toolUseId", "toolCallId", "tool_call_id"); id != nil {
		m["tool_call_id"] = id
	}
	if name := First(part, "name", "toolName"); name != nil {
		m["name"] = name
	}
	answer := First(part, "response", "result", "output", "content")
	if object, ok := answer.(map[string]any); ok && object["value"] != nil && object["type"] != nil { // the AI SDK's {type, value}
		answer = object["value"]
	}
	if blocks := Blocks(answer); blocks != nil {
		var b Builder
		if b.Parts(nil, blocks); b.Mixed == nil && len(b.Texts) > 0 {
			answer = strings.Join(b.Texts, " ")
		}
	}
	if answer != nil {
		m["content"] = answer
	}
	return m
}
