package evaluators

import (
	"context"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// mock stands in for an application or an evaluator without a model:
// parameters.key chooses what it does, parameters.kwargs how.
// Source: contract §6, svc:custom:mock:v0.
func (i *Evaluators) mock(ctx context.Context, c *handler.Call) (any, error) {
	value, ok := c.Parameters["key"]
	if !ok {
		return nil, handler.Missing("key")
	}
	key, ok := value.(string)
	if !ok {
		return nil, handler.Invalid("key", mockKeys, value)
	}
	kwargs, ok := c.Parameters["kwargs"].(map[string]any)
	if given := c.Parameters["kwargs"]; given != nil && !ok {
		return nil, handler.Invalid("kwargs", "an object", given)
	}
	return i.mockAs(ctx, c, key, kwargs)
}

// MockFailed is the failure that a mock was asked for.
const MockFailed handler.Problem = "v0:workflows:mock-error"

// mockKeys are all that there are.
const mockKeys = "one of echo, static, pass, fail, score, reflect, error, delay, messages, events"

func (i *Evaluators) mockAs(ctx context.Context, c *handler.Call, key string, kwargs map[string]any) (any, error) {
	switch key {
	case "echo":
		return handler.NonNil(c.Inputs), nil
	case "static":
		return kwargs["output"], nil
	case "pass":
		return mockVerdict(1, true), nil
	case "fail":
		return mockVerdict(0, false), nil
	case "score":
		return mockScore(kwargs)
	case "reflect":
		return mockReflect(c.Outputs), nil
	case "error":
		return nil, handler.Fail(domain.Internal, MockFailed, "%s", textOr(kwargs["message"], "mock error"))
	case "delay":
		return i.mockDelay(ctx, c, kwargs)
	case "messages":
		return map[string]any{"messages": []any{map[string]any{"role": "assistant", "content": textOr(kwargs["text"], "mock response")}}}, nil
	case "events":
		return mockEvents(c, kwargs)
	default:
		return nil, handler.Invalid("key", mockKeys, key)
	}
}

func mockVerdict(score float64, success bool) map[string]any {
	return map[string]any{"score": score, "success": success}
}

func textOr(v any, otherwise string) string {
	if text, ok := v.(string); ok && text != "" {
		return text
	}
	return otherwise
}

func mockScore(kwargs map[string]any) (any, error) {
	threshold, err := handler.Threshold(kwargs)
	if err != nil {
		return nil, err
	}
	score := 1.0
	if value, ok := kwargs["score"]; ok && value != nil {
		if score, ok = handler.Number(value); !ok {
			return nil, handler.Invalid("kwargs.score", "a number", value)
		}
	}
	return mockVerdict(score, score >= threshold), nil
}

// mockReflect passes the outputs of an application and fails those of another
// evaluator, so that a run in which evaluators see each other's outputs fails.
func mockReflect(outputs any) any {
	object, isObject := outputs.(map[string]any)
	_, score := object["score"]
	_, success := object["success"]
	empty := outputs == nil || outputs == "" || isObject && len(object) == 0
	if empty || score || success {
		return mockVerdict(0, false)
	}
	return mockVerdict(1, true)
}

// maxMockDelay is shorter than any invocation may take.
const maxMockDelay = time.Minute

func (i *Evaluators) mockDelay(ctx context.Context, c *handler.Call, kwargs map[string]any) (any, error) {
	seconds := 0.1
	if value, ok := kwargs["seconds"]; ok {
		if seconds, ok = handler.Number(value); !ok || seconds < 0 || seconds > maxMockDelay.Seconds() {
			return nil, handler.Invalid("kwargs.seconds", "a number of seconds from 0 to 60", value)
		}
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	then := textOr(kwargs["then"], "pass")
	if then == "delay" {
		then = "pass"
	}
	return i.mockAs(ctx, c, then, kwargs)
}

// mockEvents is an agent's stream: a thought and a tool where asked for, then
// the text word by word. A caller that does not stream gets all events at once.
func mockEvents(c *handler.Call, kwargs map[string]any) (any, error) {
	var events []any
	add := func(name string, data map[string]any) {
		events = append(events, map[string]any{"type": name, "data": data})
	}
	if thought := textOr(kwargs["thought"], ""); thought != "" {
		add("thought_start", map[string]any{})
		add("thought_delta", map[string]any{"delta": thought})
		add("thought_end", map[string]any{})
	}
	if tool := textOr(kwargs["tool"], ""); tool != "" {
		add("tool_call", map[string]any{"id": "call_1", "name": tool, "arguments": map[string]any{}})
		add("tool_result", map[string]any{"id": "call_1", "name": tool, "result": "ok"})
	}
	add("message_start", map[string]any{"role": "assistant"})
	for _, word := range strings.SplitAfter(textOr(kwargs["text"], "mock response"), " ") {
		add("message_delta", map[string]any{"delta": word})
	}
	add("message_end", map[string]any{})
	add("done", map[string]any{})
	for _, event := range events {
		if c.Emit == nil {
			break
		}
		if err := c.Emit(event); err != nil {
			return nil, err
		}
	}
	return events, nil
}
