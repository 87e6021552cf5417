package invoke

import (
	"context"

	"colonnade/domain"
)

// completion asks a model once and gives what it said. Source: contract §6.
func (i *Invoke) completion(ctx context.Context, c *Call) (any, error) {
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
	return said(out)
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

// said is the answer's content, else its refusal, else what it parsed, else
// the tools that it wants called.
func said(a answer) (any, error) {
	for _, name := range []string{"content", "refusal", "parsed", "tool_calls"} {
		value := a.message[name]
		if text, ok := value.(string); ok && text == "" && a.message["tool_calls"] != nil {
			continue // some providers say nothing beside a tool call by an empty text
		}
		if value != nil {
			return value, nil
		}
	}
	return nil, Fail(domain.Internal, PromptCompletion, "The model answered with nothing.")
}
