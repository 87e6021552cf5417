package evaluators

import (
	"context"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// feedback records the judgment of a person or of a system of the caller: the
// outputs of the request become the outputs of the annotation, checked against the
// evaluator's schema like a computed verdict. Nothing is computed, so that a request
// without outputs is refused. Source: contract §5.7, svc:custom:feedback:v0.
func (i *Evaluators) feedback(_ context.Context, c *handler.Call) (any, error) {
	if c.Outputs == nil {
		return nil, handler.Fail(domain.Rejected, handler.MissingOutput, "Feedback is given, not computed: send it as data.outputs, with the judged span under links.")
	}
	return c.Outputs, nil
}
