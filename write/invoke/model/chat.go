package model

import (
	"context"
	"maps"
	"slices"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// chat continues a conversation: the prompt's messages, then those of the
// inputs; it gives the next message. Source: contract §6.
func (i *Client) chat(ctx context.Context, c *handler.Call) (any, error) {
	p, err := readPrompt(c.Parameters)
	if err != nil {
		return nil, err
	}
	inputs := unwrapped(c.Inputs)
	history, err := conversation(inputs)
	if err != nil {
		return nil, err
	}
	if err := p.require(inputs, "messages"); err != nil {
		return nil, err
	}
	filled := maps.Clone(inputs)
	delete(filled, "messages")
	messages, err := i.render(ctx, p.format, p.messages, variables(filled))
	if err != nil {
		return nil, err
	}
	var emit func(map[string]any) error
	if c.Emit != nil {
		emit = func(piece map[string]any) error { return c.Emit(piece) }
	}
	out, err := i.complete(ctx, c, &p, slices.Concat(messages, history), emit)
	if err != nil {
		return nil, err
	}
	return spoken(out)
}

// conversation reads inputs.messages.
func conversation(inputs map[string]any) ([]any, error) {
	if inputs["messages"] == nil {
		return nil, nil
	}
	list, ok := inputs["messages"].([]any)
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.InvalidInput, "Invalid input: messages must be a list")
	}
	return list, checkMessages(list, handler.InvalidInput, "messages")
}

// spoken is the message without what only one provider knows.
func spoken(a answer) (any, error) {
	if a.message == nil {
		return nil, handler.Fail(domain.Internal, handler.PromptCompletion, "The model answered with nothing.")
	}
	out := map[string]any{}
	for _, name := range []string{"role", "content", "refusal", "name", "tool_calls", "tool_call_id"} {
		if value, ok := a.message[name]; ok && value != nil {
			out[name] = value
		}
	}
	return out, nil
}
