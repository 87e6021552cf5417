package semconv

import (
	"maps"
	"slices"

	"colonnade/write/semconv/message"
)

// openBodies finds the messages of a model call in the whole bodies of its
// request and its response.
func (o *Overlay) openBodies() {
	f := &o.facts
	if object, ok := f.input.whole.(map[string]any); ok {
		for _, k := range []string{"messages", "contents", "input", "prompt"} {
			messages, ok := message.Canonical(object[k])
			if !ok {
				continue
			}
			f.input.whole = nil
			f.input.converse(messages)
			for _, other := range slices.Sorted(maps.Keys(object)) {
				o.openRequest(other, k, object[other])
			}
			break
		}
	}
	if messages := responseMessages(f.output.whole); messages != nil {
		f.output.whole = nil
		f.output.converse(messages)
	}
}

// openRequest places one member of the body of a request beside its messages.
func (o *Overlay) openRequest(name, messagesKey string, value any) {
	f := &o.facts
	switch name {
	case messagesKey:
	case "tools", "functions":
		f.input.member("tools", value)
	case "system", "instructions", "system_instruction":
		f.system = value
	case "config":
		if config, ok := value.(map[string]any); ok {
			if f.system == nil {
				f.system = config["system_instruction"]
			}
			if config["tools"] != nil {
				f.input.member("tools", config["tools"])
			}
		}
	case "model":
		if f.request == "" {
			o.askedModel(value)
		}
	default:
		switch value.(type) {
		case string, bool, int64, float64:
			o.put("ag.meta.request."+name, value)
		}
	}
}

// responseMessages returns the messages of the body of a response; nil where it has none.
func responseMessages(body any) []any {
	object, _ := body.(map[string]any)
	for _, k := range []string{"choices", "messages", "output", "message", "replies", "generations", "candidates", "content"} {
		value := object[k]
		switch k {
		case "generations":
			value = generations(value)
		case "content":
			if _, ok := value.(map[string]any); !ok {
				continue
			}
		case "candidates":
			value = contents(value)
		}
		if messages, ok := message.Canonical(value); ok {
			return messages
		}
	}
	return nil
}

// generations returns the messages of LangChain's generations, which are lists of lists.
func generations(value any) any {
	list, _ := value.([]any)
	for len(list) > 0 {
		inner, nested := list[0].([]any)
		if !nested {
			break
		}
		list = inner
	}
	var out []any
	for _, e := range list {
		g, _ := e.(map[string]any)
		if message, ok := g["message"].(map[string]any); ok {
			out = append(out, message)
		} else if s, ok := g["text"].(string); ok {
			out = append(out, map[string]any{"role": "assistant", "content": s})
		}
	}
	return out
}

// contents returns the contents of Gemini's candidates.
func contents(value any) any {
	list, _ := value.([]any)
	out := make([]any, 0, len(list))
	for _, e := range list {
		candidate, _ := e.(map[string]any)
		out = append(out, candidate["content"])
	}
	return out
}
