package invoke

import (
	"context"
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/invoke/handler"
)

// JudgedLink is the name of the link that points at what is judged.
const JudgedLink = "invocation"

// look completes a judgment that names what it judges by a link alone: the
// span's inputs and outputs are read from the store, after the caller's token
// if there is one. Without them an evaluator would judge nothing, and say so
// with a score. Source: interface.md §2.3, contract §6.
func (i *Invoke) look(ctx context.Context, req *Request, c *handler.Call) error {
	if len(c.Links) == 0 || c.Outputs != nil || c.Trace != nil || !judges(c) || i.deps.Stored == nil {
		return nil
	}
	link, ok := c.Links[JudgedLink]
	if !ok {
		if len(c.Links) > 1 {
			return handler.Fail(domain.Rejected, handler.MissingOutput, "Of several links, the one that is judged is to be named %q.", JudgedLink)
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
		return handler.Fail(domain.Rejected, handler.MissingOutput,
			"There is nothing to judge: the request brings no data.outputs, and the linked span %s of trace %s is not stored. Send %s of the reply that named it, to wait until it is.",
			link.SpanID, link.TraceID, domain.TokenHeader)
	}
	if err != nil {
		return err
	}
	data := handler.Object(handler.Object(span.Attributes[semconv.Root])[semconv.Data])
	c.Outputs = data[semconv.Outputs]
	c.Trace = JudgedTrace(span.TraceID, span.SpanID, data)
	if c.Inputs == nil {
		c.Inputs = handler.Object(data[semconv.Inputs])
	}
	return nil
}

// judges tells whether a call is a judgment: its handler is an evaluator's, or
// its references name one.
func judges(c *handler.Call) bool {
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

// JudgedTrace is a trace as evaluators see it: the ids of the judged span and
// its data, where a stored span has them.
func JudgedTrace(id trace.TraceID, span trace.SpanID, data map[string]any) map[string]any {
	return map[string]any{
		"trace_id": id.String(), "span_id": span.String(),
		"attributes": map[string]any{"ag": map[string]any{"data": data}},
	}
}

// Find returns references to a revision that can be run, as its traces will have them. A
// revision that does not exist, or whose workflow has another role than the family's, is
// NotFound; one that annotators answer for is Rejected.
func (i *Invoke) Find(ctx context.Context, q entity.Retrieval) (entity.Entities, error) {
	found, err := i.deps.Registry.Retrieve(ctx, domain.PrincipalFrom(ctx), q)
	if err != nil {
		return nil, err
	}
	r := found.Revision
	if r == nil || !q.Family.Owns(r.ArtifactFlags) { // a look-up by id finds revisions of every role
		return nil, domain.E(domain.NotFound, "There is no such %s revision.", q.Family.Name)
	}
	uri, _ := r.Data["uri"].(string)
	u, err := catalog.ParseURI(uri)
	if err != nil {
		return nil, domain.E(domain.Rejected, "Version %s of the %s %s has no handler: its data.uri is %q.", strconv.Itoa(r.Version), q.Family.Name, r.ArtifactSlug, uri)
	}
	u = u.Resolved()
	if _, ok := i.handler(u); !ok || u.Key == "feedback" {
		return nil, domain.E(domain.Rejected, "The %s %s cannot be run: nothing here computes what %s says.", q.Family.Name, r.ArtifactSlug, describe(u))
	}
	return complete(nil, q.Family, found), nil
}
