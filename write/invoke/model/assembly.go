package model

import (
	"strings"

	"github.com/openai/openai-go/v3"
)

// assembly puts a streamed message together.
type assembly struct {
	role             string
	content, refusal strings.Builder
	spoke, refused   bool
	tools            []toolCall
}

type toolCall struct {
	id, kind, name string
	arguments      strings.Builder
}

// mostTools bounds the list that a provider's index can make us grow.
const mostTools = 256

// add takes a piece in and gives what it adds, for a listener; empty where it
// adds nothing.
func (a *assembly) add(d openai.ChatCompletionChunkChoiceDelta) map[string]any {
	piece := map[string]any{}
	if d.Role != "" {
		a.role = d.Role
	}
	if d.Content != "" {
		a.content.WriteString(d.Content)
		a.spoke = true
		piece["content"] = d.Content
	}
	if d.Refusal != "" {
		a.refusal.WriteString(d.Refusal)
		a.refused = true
		piece["refusal"] = d.Refusal
	}
	var calls []any
	for _, t := range d.ToolCalls {
		if t.Index < 0 || t.Index >= mostTools {
			continue
		}
		for int64(len(a.tools)) <= t.Index {
			a.tools = append(a.tools, toolCall{kind: "function"})
		}
		call := &a.tools[t.Index]
		function := map[string]any{}
		shown := map[string]any{"index": t.Index, "function": function}
		if t.ID != "" {
			call.id = t.ID
			shown["id"] = t.ID
		}
		if t.Type != "" {
			call.kind = t.Type
			shown["type"] = t.Type
		}
		if t.Function.Name != "" {
			call.name += t.Function.Name
			function["name"] = t.Function.Name
		}
		if t.Function.Arguments != "" {
			call.arguments.WriteString(t.Function.Arguments)
			function["arguments"] = t.Function.Arguments
		}
		calls = append(calls, shown)
	}
	if len(calls) > 0 {
		piece["tool_calls"] = calls
	}
	return piece
}

// message returns the assembled message in the form of a reply that is not streamed.
func (a *assembly) message() map[string]any {
	role := a.role
	if role == "" {
		role = "assistant"
	}
	m := map[string]any{"role": role, "content": nil}
	if a.spoke || len(a.tools) == 0 && !a.refused {
		m["content"] = a.content.String()
	}
	if a.refused {
		m["refusal"] = a.refusal.String()
	}
	calls := make([]any, len(a.tools))
	for n := range a.tools {
		t := &a.tools[n]
		calls[n] = map[string]any{
			"id": t.id, "type": t.kind, "function": map[string]any{"name": t.name, "arguments": t.arguments.String()},
		}
	}
	if len(calls) > 0 {
		m["tool_calls"] = calls
	}
	return m
}
