package model

import (
	"context"
	"maps"
	"slices"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
)

// llm is the plain form of a prompt: messages, a list of models of which the
// first that can answers, and what the response should be. It runs
// applications and, with outputs to judge, evaluators.
func (i *Client) llm(ctx context.Context, c *handler.Call) (any, error) {
	p, response, err := readLLM(c.Parameters)
	if err != nil {
		return nil, err
	}
	inputs := unwrapped(c.Inputs)
	history, err := conversation(inputs)
	if err != nil {
		return nil, err
	}
	filled := maps.Clone(inputs)
	delete(filled, "messages")
	vars := judging(c, filled)
	maps.Copy(vars, handler.Object(inputs["variables"]))
	messages, err := i.render(ctx, p.format, p.messages, vars)
	if err != nil {
		return nil, err
	}
	var emit func(map[string]any) error
	if response["format"] != "json" {
		emit = textually(c.Emit)
	}
	out, err := i.complete(ctx, c, &p, slices.Concat(messages, history), emit)
	if err != nil {
		return nil, err
	}
	value, err := contentOf(out)
	if err != nil || response["format"] != "json" {
		return value, err
	}
	return structured(ctx, value, handler.Object(response["schema"]))
}

// readLLM reads {llms, messages, template_format, response, tools}.
func readLLM(parameters map[string]any) (prompt, map[string]any, error) {
	p := prompt{attempts: 1, fallbackPolicy: "any"}
	var err error
	if p.models, err = objects(parameters["llms"], "llms"); err != nil {
		return p, nil, err
	}
	if len(p.models) == 0 {
		return p, nil, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: llms")
	}
	if err := checkModels(p.models); err != nil {
		return p, nil, err
	}
	if parameters["loop"] != nil {
		return p, nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: loop: this handler asks a model once")
	}
	list, ok := parameters["messages"].([]any)
	if !ok && parameters["messages"] != nil {
		return p, nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: messages must be a list")
	}
	if err := checkMessages(list, handler.InvalidParameter, "messages"); err != nil {
		return p, nil, err
	}
	p.messages = list
	if p.format, err = formatOf(parameters["template_format"]); err != nil {
		return p, nil, err
	}
	response := handler.Object(parameters["response"])
	tools, _ := parameters["tools"].([]any)
	for n, m := range p.models {
		m = maps.Clone(m)
		if format := responseFormat(response); format != nil && m["response_format"] == nil {
			m["response_format"] = format
		}
		if len(tools) > 0 && m["tools"] == nil {
			m["tools"] = tools
		}
		p.models[n] = m
	}
	return p, response, nil
}

func responseFormat(response map[string]any) map[string]any {
	if response["format"] != "json" {
		return nil
	}
	schema := handler.Object(response["schema"])
	if len(schema) == 0 {
		return map[string]any{"type": "json_object"}
	}
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "response", "schema": schema}}
}

// structured reads the JSON that a model was asked for.
func structured(ctx context.Context, value any, schema map[string]any) (any, error) {
	text, ok := value.(string)
	if !ok {
		return value, nil
	}
	parsed, err := jsonvalue.ParseString(text)
	if err != nil {
		return nil, handler.Fail(domain.Internal, handler.InvalidOutputs, "The model was asked for JSON and answered with something else: %.200q", text)
	}
	if len(schema) == 0 {
		return parsed, nil
	}
	fields, err := catalog.Validate(ctx, schema, parsed)
	if err != nil && domain.KindOf(err) != domain.Rejected {
		return nil, handler.WithProblem(err, handler.InvalidOutputs)
	}
	if err != nil {
		return nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: response.schema: %s", err)
	}
	if len(fields) > 0 {
		return nil, handler.Fail(domain.Internal, handler.InvalidOutputs, "The model's answer does not fit the schema: %v: %s", fields[0].Loc, fields[0].Msg)
	}
	return parsed, nil
}

// judging are the variables of a prompt that judges: the inputs at the root
// and under "inputs", what is judged, and what would have been right.
func judging(c *handler.Call, inputs map[string]any) map[string]any {
	vars := variables(inputs)
	vars["parameters"] = c.Parameters
	if c.Outputs != nil {
		vars["outputs"], vars["prediction"] = c.Outputs, c.Outputs
	}
	if c.Trace != nil {
		vars["trace"] = c.Trace
	}
	if c.Testcase != nil {
		vars["testcase"] = c.Testcase
	}
	if key, ok := c.Parameters["correct_answer_key"].(string); ok && key != "" {
		if right, ok := inputs[key]; ok {
			vars["correct_answer"], vars["ground_truth"], vars["reference"] = right, right, right
		}
	}
	return vars
}
