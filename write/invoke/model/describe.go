package model

import "colonnade/write/invoke/handler"

// describeAsk and describeAnswer say of a call to a model what
// OpenTelemetry's conventions for generative AI ask for, and the same in our
// own namespace. Source: interface.md §2.5, contract §1.3.

func describeAsk(s *handler.Span, provider, model string, body map[string]any) {
	if s == nil {
		return
	}
	request := map[string]any{"model": model}
	for _, name := range []string{"temperature", "max_tokens", "top_p", "frequency_penalty", "presence_penalty", "seed"} {
		if value, ok := body[name]; ok {
			request[name] = value
		}
	}
	if stop, ok := body["stop"]; ok {
		request["stop_sequences"] = stop
	}
	s.Set(map[string]any{
		"operation": map[string]any{"name": "chat"}, "provider": map[string]any{"name": provider}, "system": provider, "request": request,
	}, "gen_ai")
	inputs := map[string]any{"prompt": body["messages"]}
	if tools, ok := body["tools"]; ok {
		inputs["tools"] = tools
	}
	s.Set(inputs, "ag", "data", "inputs")
	parameters := map[string]any{}
	for name, value := range body {
		if name != "messages" && name != "tools" {
			parameters[name] = value
		}
	}
	s.Set(parameters, "ag", "data", "parameters")
	s.Set(request, "ag", "meta", "request")
	s.Set(provider, "ag", "meta", "provider", "name")
	s.Set(provider, "ag", "meta", "system")
}

func describeAnswer(s *handler.Span, a *answer) {
	if s == nil {
		return
	}
	response := map[string]any{}
	if a.model != "" {
		response["model"] = a.model
	}
	if a.id != "" {
		response["id"] = a.id
	}
	if a.finish != "" {
		response["finish_reasons"] = []any{a.finish}
	}
	if len(response) > 0 {
		s.Set(response, "gen_ai", "response")
		s.Set(response, "ag", "meta", "response")
	}
	if a.message != nil {
		s.Set(map[string]any{"completion": []any{a.message}}, "ag", "data", "outputs")
	}
	if u := a.usage; u.known {
		s.Set(map[string]any{"input_tokens": u.prompt, "output_tokens": u.completion}, "gen_ai", "usage")
		tokens := map[string]any{"prompt": u.prompt, "completion": u.completion, "total": u.total}
		if u.cached > 0 {
			tokens["cache_read"] = u.cached
		}
		if u.reasoning > 0 {
			tokens["reasoning"] = u.reasoning
		}
		s.Set(tokens, "ag", "metrics", "tokens", "incremental")
	}
}
