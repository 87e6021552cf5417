package invoke

import (
	"context"
	"maps"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/template"
)

// critique has a model judge outputs (auto_ai_critique). A number is a score,
// true or false a success, an object the outputs as they are.
func (i *Invoke) critique(ctx context.Context, c *Call) (any, error) {
	list, ok := c.Parameters["prompt_template"].([]any)
	if !ok {
		return nil, Fail(domain.Rejected, MissingParameter, "Missing parameter: prompt_template, a list of messages")
	}
	if err := checkMessages(list, InvalidParameter, "prompt_template"); err != nil {
		return nil, err
	}
	format, err := critiqueFormat(c.Parameters)
	if err != nil {
		return nil, err
	}
	config, err := critiqueModel(c.Parameters)
	if err != nil {
		return nil, err
	}
	threshold, err := thresholdOf(c.Parameters)
	if err != nil {
		return nil, err
	}
	vars := judging(c, unwrapped(c.Inputs))
	messages, err := i.render(ctx, format, list, vars)
	if err != nil {
		return nil, err
	}
	p := prompt{models: []map[string]any{config}, attempts: 1}
	out, err := i.complete(ctx, c, &p, messages, nil)
	if err != nil {
		return nil, err
	}
	value, err := said(out)
	if err != nil {
		return nil, err
	}
	return verdict(value, threshold)
}

func critiqueFormat(parameters map[string]any) (template.Format, error) {
	if parameters["template_format"] != nil {
		return formatOf(parameters["template_format"])
	}
	switch parameters["version"] {
	case "2", int64(2):
		return template.FString, nil
	case "5", int64(5):
		return template.Mustache, nil
	default:
		return template.Curly, nil
	}
}

func critiqueModel(parameters map[string]any) (map[string]any, error) {
	config := map[string]any{"model": "gpt-4o-mini"}
	if given, ok := parameters["model"]; ok {
		config["model"] = given
	}
	if err := checkModels([]map[string]any{config}); err != nil {
		return nil, err
	}
	switch parameters["response_type"] {
	case nil, "text":
	case "json_object":
		config["response_format"] = map[string]any{"type": "json_object"}
	case "json_schema":
		// Without a schema, the prompt alone says what is wanted.
		schema := object(parameters["json_schema"])
		switch {
		case len(schema) == 0:
		case schema["schema"] != nil:
			config["response_format"] = map[string]any{"type": "json_schema", "json_schema": schema}
		default:
			config["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "critique", "schema": schema}}
		}
	default:
		return nil, Fail(domain.Rejected, InvalidParameter, "Invalid parameter: response_type must be text, json_object or json_schema")
	}
	return config, nil
}

// thresholdOf is the score from which a judgement is a success.
func thresholdOf(parameters map[string]any) (float64, error) {
	t := 0.5
	switch v := parameters["threshold"].(type) {
	case nil:
	case float64:
		t = v
	case int64:
		t = float64(v)
	default:
		return 0, Fail(domain.Rejected, InvalidParameter, "Invalid parameter: threshold must be a number")
	}
	if t <= 0 || t > 1 {
		return 0, Fail(domain.Rejected, InvalidParameter, "Invalid parameter: threshold must be above 0 and at most 1")
	}
	return t, nil
}

// verdict reads what a judge answered.
func verdict(value any, threshold float64) (any, error) {
	if text, ok := value.(string); ok {
		parsed, err := jsonvalue.ParseString(strings.TrimSpace(text))
		if err != nil {
			return nil, Fail(domain.Internal, InvalidOutputs, "The judge answered neither a number, nor true or false, nor an object: %.200q", text)
		}
		value = parsed
	}
	switch v := value.(type) {
	case bool:
		return map[string]any{"success": v}, nil
	case int64:
		return map[string]any{"score": float64(v), "success": float64(v) >= threshold}, nil
	case float64:
		return map[string]any{"score": v, "success": v >= threshold}, nil
	case map[string]any:
		return maps.Clone(v), nil
	default:
		return nil, Fail(domain.Internal, InvalidOutputs, "The judge answered neither a number, nor true or false, nor an object.")
	}
}
