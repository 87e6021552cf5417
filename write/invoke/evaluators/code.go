package evaluators

import (
	"context"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/sandbox"
)

// The functions that code may define. A judgment is asked about outputs and
// its verdict is put into the usual form; an application's answer is its own.
const (
	judgeFunction = "evaluate"
	mainFunction  = "main"
)

// code runs the revision's script, or parameters.code: evaluate(inputs,
// outputs, trace) judges, main(inputs, parameters, context) answers.
// Source: contract §6, svc:custom:code:v0.
func (i *Evaluators) code(ctx context.Context, c *handler.Call) (any, error) {
	source := c.Revision.Script
	if source == "" {
		if _, ok := c.Parameters["code"]; !ok {
			return nil, handler.Fail(domain.Rejected, handler.MissingParameter, "There is no code: the revision has no data.script, and there is no parameter 'code'.")
		}
		var err error
		if source, err = handler.Text(c, "code"); err != nil {
			return nil, err
		}
	}
	threshold, err := handler.Threshold(c.Parameters)
	if err != nil {
		return nil, err
	}
	inputs := handler.NonNil(c.Inputs)
	around := map[string]any{"outputs": c.Outputs, "trace": c.Trace, "testcase": handler.NonNil(c.Testcase)}
	result, err := i.runCode(ctx, c, source, []sandbox.Call{
		{Function: judgeFunction, Args: []any{inputs, c.Outputs, c.Trace}},
		{Function: mainFunction, Args: []any{inputs, c.Parameters, around}},
	})
	if err != nil || result.Function == mainFunction {
		return result.Value, err
	}
	return verdictOf(result.Value, threshold)
}

// customCode is the older evaluator of code: version 2 is called as code's
// judgments are, version 1 evaluate(app_params, inputs, output, correct_answer).
// Source: contract §5.7, auto_custom_code_run.
func (i *Evaluators) customCode(ctx context.Context, c *handler.Call) (any, error) {
	source, err := handler.Text(c, "code")
	if err != nil {
		return nil, err
	}
	if _, err := judgedText(c); err != nil {
		return nil, err
	}
	threshold, err := handler.Threshold(c.Parameters)
	if err != nil {
		return nil, err
	}
	args := []any{handler.NonNil(c.Inputs), c.Outputs, c.Trace}
	if version, _ := c.Parameters["version"].(string); version != "2" {
		_, expected, err := expectedOf(c)
		if err != nil {
			return nil, err
		}
		args = []any{map[string]any{}, handler.NonNil(c.Inputs), c.Outputs, expected}
	}
	result, err := i.runCode(ctx, c, source, []sandbox.Call{{Function: judgeFunction, Args: args}})
	if err != nil {
		return nil, err
	}
	return verdictOf(result.Value, threshold)
}

func (i *Evaluators) runCode(ctx context.Context, c *handler.Call, source string, calls []sandbox.Call) (sandbox.Result, error) {
	runtime := c.Revision.Runtime
	if runtime == "" {
		runtime, _ = c.Parameters["runtime"].(string)
	}
	if runtime == "" {
		runtime = i.sandbox.DefaultRuntime()
	}
	result, err := i.sandbox.Run(ctx, sandbox.Code{Runtime: runtime, Source: source, Calls: calls})
	return result, handler.WithProblem(err, handler.CodeFailed)
}

// verdictOf converts the value that code returned into a verdict: a number is a
// score, a boolean a success, an object or a text stays as it is.
func verdictOf(value any, threshold float64) (any, error) {
	if score, ok := handler.Number(value); ok {
		return handler.Scores(score, threshold), nil
	}
	switch value.(type) {
	case bool:
		return map[string]any{"success": value}, nil
	case string, map[string]any:
		return value, nil
	default:
		return nil, handler.Fail(domain.Rejected, handler.InvalidOutputs, "The code's verdict must be a number, a boolean, an object or a string, not %s", handler.Shown(value))
	}
}
