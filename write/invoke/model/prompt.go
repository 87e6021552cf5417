package model

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/template"
)

// prompt is what a revision says about asking a model. Source: interface.md
// §2.10, contract §6.
type prompt struct {
	messages []any
	format   template.Format
	// keys are inputs that must be there; nil asks for none.
	keys []string
	// models are configurations, the first choice first.
	models []map[string]any
	// attempts per model, and the pause before the second.
	attempts                    int
	pause                       time.Duration
	retryPolicy, fallbackPolicy string
}

// Bounds of what a revision may ask for.
const (
	mostAttempts  = 10
	mostModels    = 10
	longestPause  = 30 * time.Second
	usualPause    = time.Second
	mostMessages  = 4096
	usualAttempts = 2
)

// readPrompt reads parameters.prompt.
func readPrompt(parameters map[string]any) (prompt, error) {
	if parameters["prompt"] == nil {
		return prompt{}, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: prompt")
	}
	m := handler.Object(parameters["prompt"])
	if m == nil {
		return prompt{}, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: prompt must be an object")
	}
	p := prompt{}
	var err error
	if p.messages, err = promptMessages(m); err != nil {
		return p, err
	}
	if p.format, err = formatOf(m["template_format"]); err != nil {
		return p, err
	}
	if list, ok := m["input_keys"].([]any); ok {
		for _, e := range list {
			key, ok := e.(string)
			if !ok {
				return p, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: prompt.input_keys must hold strings")
			}
			p.keys = append(p.keys, key)
		}
	}
	config := handler.Object(m["llm_config"])
	if config == nil {
		return p, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: prompt.llm_config")
	}
	fallbacks, err := objects(m["fallback_configs"], "prompt.fallback_configs")
	if err != nil {
		return p, err
	}
	p.models = append([]map[string]any{config}, fallbacks...)
	p.retryPolicy, _ = m["retry_policy"].(string)
	p.fallbackPolicy, _ = m["fallback_policy"].(string)
	if len(fallbacks) > 0 && p.fallbackPolicy == "" {
		// Who lists other models wants them when the first is not to be had.
		p.fallbackPolicy = "access"
	}
	p.retry(handler.Object(m["retry_config"]))
	return p, checkModels(p.models)
}

func promptMessages(m map[string]any) ([]any, error) {
	if m["messages"] == nil {
		var list []any
		for _, role := range []string{"system", "user"} {
			if text, ok := m[role+"_prompt"].(string); ok && text != "" {
				list = append(list, map[string]any{"role": role, "content": text})
			}
		}
		if len(list) == 0 {
			return nil, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: prompt.messages")
		}
		return list, nil
	}
	list, ok := m["messages"].([]any)
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: prompt.messages must be a list")
	}
	return list, checkMessages(list, handler.InvalidParameter, "prompt.messages")
}

// checkMessages finds out here what a provider would say in its own words.
func checkMessages(list []any, problem handler.Problem, where string) error {
	if len(list) > mostMessages {
		return handler.Fail(domain.Rejected, problem, "%s holds more than %d messages", where, mostMessages)
	}
	for n, e := range list {
		if role, ok := handler.Object(e)["role"].(string); !ok || role == "" {
			return handler.Fail(domain.Rejected, problem, "%s: message %d must be an object with a role", where, n)
		}
	}
	return nil
}

func formatOf(value any) (template.Format, error) {
	text, ok := value.(string)
	if !ok && value != nil {
		return "", handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: template_format must be a string")
	}
	f, err := template.ParseFormat(text)
	if err != nil {
		return "", handler.Fail(domain.Rejected, handler.InvalidParameter, "%s", handler.Message(err))
	}
	return f, nil
}

func objects(value any, where string) ([]map[string]any, error) {
	if value == nil {
		return nil, nil
	}
	list, ok := value.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, e := range list {
		m := handler.Object(e)
		ok = ok && m != nil
		out = append(out, m)
	}
	if !ok || len(list) > mostModels {
		return nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: %s must be a list of at most %d objects", where, mostModels)
	}
	return out, nil
}

func checkModels(list []map[string]any) error {
	for _, m := range list {
		if name, ok := m["model"].(string); !ok || name == "" {
			return handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: the model's name (llm_config.model)")
		}
	}
	return nil
}

// retry reads {max_retries, base_delay}: how often again, and milliseconds
// before the first time, doubled for each later one.
func (p *prompt) retry(m map[string]any) {
	p.attempts, p.pause = 1, usualPause
	if p.retryPolicy != "" && p.retryPolicy != "off" {
		p.attempts = usualAttempts
	}
	if n, ok := m["max_retries"].(int64); ok && n >= 0 {
		p.attempts = int(min(n, mostAttempts-1)) + 1
		if p.retryPolicy == "" {
			p.retryPolicy = "transient"
		}
	}
	switch delay := m["base_delay"].(type) {
	case int64:
		p.pause = time.Duration(max(delay, 0)) * time.Millisecond
	case float64:
		p.pause = time.Duration(max(delay, 0) * float64(time.Millisecond))
	default:
	}
	p.pause = min(p.pause, longestPause)
}

// require checks that the inputs hold what the prompt asks for.
func (p *prompt) require(inputs map[string]any, except ...string) error {
	var missing []string
	for _, key := range p.keys {
		if _, ok := inputs[key]; !ok && !slices.Contains(except, key) {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return handler.Fail(domain.Rejected, handler.InvalidInputs, "Invalid inputs: missing %s", strings.Join(missing, ", "))
}

// unwrapped takes off one wrapper {inputs: {...}}, which clients send that
// record a call by its arguments. Source: contract §6.
func unwrapped(inputs map[string]any) map[string]any {
	inner := handler.Object(inputs["inputs"])
	if inner == nil {
		return inputs
	}
	for name := range inputs {
		if name != "inputs" && name != "messages" {
			return inputs
		}
	}
	out := maps.Clone(inputs)
	delete(out, "inputs")
	maps.Copy(out, inner)
	return out
}

// variables are the inputs at the root and again under "inputs".
func variables(inputs map[string]any) map[string]any {
	vars := maps.Clone(inputs)
	if vars == nil {
		vars = map[string]any{}
	}
	again := maps.Clone(inputs)
	delete(again, "messages")
	if again == nil {
		again = map[string]any{}
	}
	vars["inputs"] = again
	return vars
}

// render fills the placeholders in the contents of messages.
func (i *Client) render(ctx context.Context, format template.Format, messages []any, vars map[string]any) ([]any, error) {
	var texts []string
	for _, m := range messages {
		collect(handler.Object(m)["content"], &texts)
	}
	filled, err := i.sandbox.Render(ctx, format, texts, vars)
	if err != nil {
		if e, ok := errors.AsType[*domain.Error](err); ok && (e.Kind == domain.Rejected || e.Kind == domain.TooLarge) {
			return nil, handler.Fail(domain.Rejected, handler.PromptFormatting, "%s", e.Message)
		}
		return nil, err
	}
	out := make([]any, len(messages))
	for n, m := range messages {
		next := maps.Clone(handler.Object(m))
		if content, ok := next["content"]; ok {
			next["content"] = replace(content, &filled)
		}
		out[n] = next
	}
	return out, nil
}

// collect and replace walk a content, a text or a list of parts, in the same order.
func collect(content any, into *[]string) {
	switch v := content.(type) {
	case string:
		*into = append(*into, v)
	case []any:
		for _, e := range v {
			collect(e, into)
		}
	case map[string]any:
		for _, name := range contentNames() {
			if e, ok := v[name]; ok {
				collect(e, into)
			}
		}
	default:
	}
}

func replace(content any, from *[]string) any {
	switch v := content.(type) {
	case string:
		text := (*from)[0]
		*from = (*from)[1:]
		return text
	case []any:
		out := make([]any, len(v))
		for n, e := range v {
			out[n] = replace(e, from)
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		for _, name := range contentNames() {
			if e, ok := v[name]; ok {
				out[name] = replace(e, from)
			}
		}
		return out
	default:
		return content
	}
}

// contentNames are the members of a content's part that hold text of the author.
func contentNames() [6]string {
	return [6]string{"text", "image_url", "url", "file", "file_data", "file_id"}
}

// complete asks the prompt's models in turn until one answers.
func (i *Client) complete(ctx context.Context, c *handler.Call, p *prompt, messages []any, emit func(map[string]any) error) (answer, error) {
	var out answer
	var err error
	for n, config := range p.models {
		out, err = i.persist(ctx, c, p, ask{config: config, messages: messages, emit: emit})
		if err == nil || n == len(p.models)-1 || ctx.Err() != nil || out.pieces > 0 || !fallsBack(p.fallbackPolicy, failureOf(err).category) {
			break
		}
	}
	return out, err
}

// persist asks one model as often as the prompt allows.
func (i *Client) persist(ctx context.Context, c *handler.Call, p *prompt, a ask) (answer, error) {
	pause := p.pause
	for attempt := 1; ; attempt++ {
		out, err := i.call(ctx, c, a)
		failure := failureOf(err)
		if err == nil || attempt >= p.attempts || ctx.Err() != nil || out.pieces > 0 || !retries(p.retryPolicy, failure.category) {
			return out, err
		}
		timer := time.NewTimer(min(max(pause, failure.after), longestPause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return out, err
		}
		pause = min(2*pause, longestPause)
	}
}
