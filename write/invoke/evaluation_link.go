package invoke

import (
	"context"
	"strings"

	"colonnade/domain"
	"colonnade/domain/semconv"
)

// judgedLink is the name of the link that points at what is judged.
const judgedLink = "invocation"

// look completes a judgment that names what it judges by a link alone: the
// span's inputs and outputs are read from the store, after the caller's token
// if there is one. Without them an evaluator would judge nothing, and say so
// with a score. Source: interface.md §2.3, contract §6.
func (i *Invoke) look(ctx context.Context, req *Request, c *Call) error {
	if len(c.Links) == 0 || c.Outputs != nil || c.Trace != nil || !judges(c) || i.deps.Stored == nil {
		return nil
	}
	link, ok := c.Links[judgedLink]
	if !ok {
		if len(c.Links) > 1 {
			return Fail(domain.Rejected, MissingOutput, "Of several links, the one that is judged is to be named %q.", judgedLink)
		}
		for _, only := range c.Links {
			link = only
		}
	}
	if err := i.deps.Stored.Await(ctx, req.After); err != nil {
		return err
	}
	outline, err := i.deps.Stored.Outline(ctx, c.Caller.Project, link.TraceID)
	if err != nil {
		return err
	}
	span, err := i.deps.Stored.Span(ctx, c.Caller.Project, outline, link.SpanID)
	if domain.KindOf(err) == domain.NotFound {
		return Fail(domain.Rejected, MissingOutput,
			"There is nothing to judge: the request brings no data.outputs, and the linked span %s of trace %s is not stored. Send %s of the reply that named it, to wait until it is.",
			link.SpanID, link.TraceID, domain.TokenHeader)
	}
	if err != nil {
		return err
	}
	data := object(object(span.Attributes[semconv.Root])[semconv.Data])
	c.Outputs = data[semconv.Outputs]
	c.Trace = judgedTrace(span.TraceID, span.SpanID, data)
	if c.Inputs == nil {
		c.Inputs = object(data[semconv.Inputs])
	}
	return nil
}

// judges tells whether a call is a judgment: its handler is an evaluator's, or
// its references name one.
func judges(c *Call) bool {
	switch key := c.URI.Key; {
	case key == "feedback":
		return false // it brings its verdict along
	case key == "match", key == "field_match_test", key == "json_multi_field_match", strings.HasPrefix(key, "auto_"):
		return true
	default:
	}
	for _, name := range []string{"evaluator", "evaluator_variant", "evaluator_revision"} {
		if _, ok := c.References[name]; ok {
			return true
		}
	}
	return false
}
