package model

import (
	"context"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// completion calls a model once and returns the content of its answer. Source: contract §6.
func (i *Client) completion(ctx context.Context, c *handler.Call) (any, error) {
	p, err := readPrompt(c.Parameters)
	if err != nil {
		return nil, err
	}
	inputs := unwrapped(c.Inputs)
	if err := p.require(inputs); err != nil {
		return nil, err
	}
	messages, err := i.render(ctx, p.format, p.messages, variables(inputs))
	if err != nil {
		return nil, err
	}
	out, err := i.complete(ctx, c, &p, messages, textually(c.Emit))
	if err != nil {
		return nil, err
	}
	return contentOf(out)
}

// textually hands on what a piece says as text; a piece that says something
// else goes as it is.
func textually(emit func(any) error) func(map[string]any) error {
	if emit == nil {
		return nil
	}
	return func(piece map[string]any) error {
		if text, ok := piece["content"].(string); ok && len(piece) == 1 {
			return emit(text)
		}
		return emit(piece)
	}
}

// contentOf returns the first of the answer's content, refusal, parsed value and
// tool calls that is present.
func contentOf(a answer) (any, error) {
	for _, name := range []string{"content", "refusal", "parsed", "tool_calls"} {
		value := a.message[name]
		if text, ok := value.(string); ok && text == "" && a.message["tool_calls"] != nil {
			continue // some providers send an empty text beside a tool call
		}
		if value != nil {
			return value, nil
		}
	}
	return nil, handler.Fail(domain.Internal, handler.PromptCompletion, "The model answered with nothing.")
}
