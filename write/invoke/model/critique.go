package model

import (
	"context"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/template"
)

// critique has a model judge outputs (auto_ai_critique). A number is a score,
// true or false a success, an object the outputs as they are.
func (i *Client) critique(ctx context.Context, c *handler.Call) (any, error) {
	list, ok := c.Parameters["prompt_template"].([]any)
	if !ok {
		return nil, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: prompt_template, a list of messages")
	}
	if err := checkMessages(list, handler.InvalidParameter, "prompt_template"); err != nil {
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
	threshold, err := handler.Threshold(c.Parameters)
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
	value, err := contentOf(out)
	if err != nil {
		return nil, err
	}
	return handler.ParseVerdict(value, threshold)
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
		schema := handler.Object(parameters["json_schema"])
		switch {
		case len(schema) == 0:
		case schema["schema"] != nil:
			config["response_format"] = map[string]any{"type": "json_schema", "json_schema": schema}
		default:
			config["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "critique", "schema": schema}}
		}
	default:
		return nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: response_type must be text, json_object or json_schema")
	}
	return config, nil
}
