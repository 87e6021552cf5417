package invoke

import (
	"context"

	"colonnade/domain"
)

// feedback records what a person, or a system of the caller's, said of an
// invocation: the outputs of the request become the outputs of the annotation,
// checked against the evaluator's schema like a computed verdict. Nothing is
// computed, so that a request without outputs has nothing to say.
// Source: contract §5.7, svc:custom:feedback:v0.
func (i *Invoke) feedback(_ context.Context, c *Call) (any, error) {
	if c.Outputs == nil {
		return nil, Fail(domain.Rejected, MissingOutput, "Feedback is given, not computed: send it as data.outputs, with the judged span under links.")
	}
	return c.Outputs, nil
}
