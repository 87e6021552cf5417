// Package spans holds the endpoints that create, replace and delete traces as
// JSON: /traces/ and the deprecated /traces/ingest and /tracing/. It decodes a
// body of nested spans (body.go), converts its nodes into canonical spans with an
// error location for each mistake (span.go, member.go) and writes the replies
// (reply.go). Publishing, and what a trace already has stored, are
// write/ingest; OTLP is received in write/otlp; simple traces and annotations are
// in write/api/simpletraces.
package spans

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/ingest"
	"colonnade/write/normalize"
	"colonnade/write/otlp/wire"
)

// source is what the records of these endpoints name as their source.
const source = "json"

// Config bounds the bodies of the endpoints.
type Config struct {
	// MaxBodyBytes bounds a body of spans: a whole trace as a query returns it.
	MaxBodyBytes int64
}

// DefaultConfig is the bound of a decompressed OTLP body. Source: contract §0 row 14.
func DefaultConfig() Config { return Config{MaxBodyBytes: 64 << 20} }

// Validate returns an error for a bound that cannot work.
func (c Config) Validate() error {
	if c.MaxBodyBytes <= 0 {
		return errors.New("max_body_bytes: must be positive")
	}
	return nil
}

// Deps are the components that the endpoints call.
type Deps struct {
	Ingest *ingest.Ingest
	// Stored is what commands look at before they write.
	Stored *ingest.Stored
	// Normalizer fits spans for replies, as the sink will for the store. Its metrics are not the sink's.
	Normalizer *normalize.Normalizer
	Now        func() time.Time
}

// Mount mounts the endpoints of traces. Source: contract §1.11.
func Mount(r api.Router, cfg Config, deps Deps) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	t := traces{cfg: cfg, deps: deps}
	edit := domain.Operation{Permission: domain.AddSpans, Status: http.StatusAccepted, Preview: true, Remember: true, Limit: cfg.MaxBodyBytes}

	op := edit
	op.Tag = "traces"
	op.Method, op.Path, op.Summary = http.MethodPost, "/traces/", "Take one trace in."
	op.Request, op.Response = traceRequest{}, traceReply{}
	r.Handle(op, t.create)
	op.Method, op.Path, op.Summary = http.MethodPut, "/traces/:trace_id", "Replace all spans of a trace."
	op.Permission = domain.EditTraces
	r.Handle(op, t.replace)
	op.Method, op.Request = http.MethodDelete, nil
	op.Summary = "Delete a trace, at once for readers."
	r.Handle(op, t.remove)

	op = edit
	op.Deprecated, op.Tag = true, "traces"
	op.Method, op.Path, op.Summary = http.MethodPost, "/traces/ingest", "Take traces in. Use /otlp/v1/traces."
	op.Request, op.Response = tracesRequest{}, traceIDsReply{}
	r.Handle(op, t.ingestTraces)

	op.Tag = "tracing"
	op.Path, op.Summary = "/tracing/spans/ingest", "Take spans in, flat or as traces. Use /otlp/v1/traces."
	op.Request, op.Response = tracingRequest{}, linksReply{}
	r.Handle(op, t.ingestSpans)
	op.Path, op.Summary = "/tracing/traces/", "Take one trace in. Use /traces/."
	r.Handle(op, t.createTracing)
	op.Method, op.Path, op.Summary = http.MethodPut, "/tracing/traces/:trace_id", "Replace all spans of a trace. Use /traces/{trace_id}."
	op.Permission = domain.EditTraces
	r.Handle(op, t.replaceTracing)
	op.Method, op.Request = http.MethodDelete, nil
	op.Summary = "Delete a trace. Use /traces/{trace_id}."
	r.Handle(op, t.removeTracing)
	return nil
}

type traces struct {
	cfg  Config
	deps Deps
}

// read decodes a body of spans.
func (t traces) read(c *gin.Context, known ...string) (traceBody, *spanReader, error) {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return traceBody{}, nil, err
	}
	b, err := readTraceBody(data, append(known, "count", "windowing")...)
	if err != nil {
		return b, nil, err
	}
	r := &spanReader{}
	r.body(&b)
	return b, r, nil
}

// create publishes exactly one trace, with one root. Source: contract §1.11.
func (t traces) create(c *gin.Context) error {
	b, spans, err := t.read(c, "trace")
	if err != nil {
		return err
	}
	if err := oneTrace(&b); err != nil {
		return err
	}
	if err := spans.oneRoot(b.traces[0].spans); err != nil {
		return err
	}
	return t.write(c, spans, t.publish, replyTrace)
}

func (t traces) createTracing(c *gin.Context) error {
	b, spans, err := t.read(c, "traces", "spans")
	if err != nil {
		return err
	}
	nodes, err := nodesOf(&b)
	if err != nil {
		return err
	}
	if err := spans.oneRoot(nodes); err != nil {
		return err
	}
	return t.write(c, spans, t.publish, replyLinks)
}

func (t traces) replace(c *gin.Context) error {
	b, spans, err := t.read(c, "trace")
	if err != nil {
		return err
	}
	if err := oneTrace(&b); err != nil {
		return err
	}
	return t.edit(c, &b, spans, replyTrace)
}

func (t traces) replaceTracing(c *gin.Context) error {
	b, spans, err := t.read(c, "traces", "spans")
	if err != nil {
		return err
	}
	if _, err := nodesOf(&b); err != nil {
		return err
	}
	return t.edit(c, &b, spans, replyLinks)
}

// edit checks that the payload is the trace of the path.
func (t traces) edit(c *gin.Context, b *traceBody, spans *spanReader, reply replyShape) error {
	invalid := domain.E(domain.Rejected, "Invalid trace_id in path or payload.")
	path, err := trace.ParseTraceID(c.Param("trace_id"))
	if err != nil {
		return invalid
	}
	ids, ok := payloadIDs(b)
	switch {
	case !ok:
		return invalid
	case len(ids) != 1:
		return domain.E(domain.Rejected, "Trace payload must contain exactly one trace_id.")
	case ids[0] != path:
		return domain.E(domain.Rejected, "Path trace_id '%s' does not match payload trace_id '%s'.", c.Param("trace_id"), ids[0])
	}
	return t.write(c, spans, func(ctx context.Context, spans []trace.Span) (ingest.Receipt, error) {
		turn, err := t.deps.Stored.Turn(ctx, callerProject(ctx), path)
		if err != nil {
			return ingest.Receipt{}, err
		}
		defer turn.End()
		return t.deps.Ingest.Edit(ctx, turn, source, spans)
	}, reply)
}

func (t traces) publish(ctx context.Context, spans []trace.Span) (ingest.Receipt, error) {
	return t.deps.Ingest.JSON(ctx, source, spans, nil)
}

func (t traces) ingestTraces(c *gin.Context) error {
	b, spans, err := t.read(c, "traces")
	if err != nil {
		return err
	}
	if len(b.traces) == 0 {
		return domain.E(domain.Rejected, "Missing traces")
	}
	return t.take(c, spans, replyTraceIDs)
}

func (t traces) ingestSpans(c *gin.Context) error {
	b, spans, err := t.read(c, "spans", "traces")
	if err != nil {
		return err
	}
	if !b.has["spans"] && !b.has["traces"] {
		return domain.E(domain.Rejected, "Missing spans")
	}
	return t.take(c, spans, replyLinks)
}

// take takes the good spans in; the bad ones are named in the reply and where
// refused spans are kept. A body without a good span is refused.
func (t traces) take(c *gin.Context, r *spanReader, reply replyShape) error {
	if len(r.spans) == 0 && len(r.refused) > 0 {
		return r.invalid()
	}
	refused := wire.Refusals{}
	for _, bad := range r.refused {
		refused.Add(bad.Refusal)
	}
	refused.Count += r.more
	receipt, err := t.deps.Ingest.JSON(c.Request.Context(), source, r.spans, &refused)
	if err != nil {
		return err
	}
	return respondSpans(c, receipt, nil, reply)
}

// write takes a trace in or gives it a new state: all of its spans, or none.
func (t traces) write(c *gin.Context, r *spanReader, publish func(context.Context, []trace.Span) (ingest.Receipt, error), reply replyShape) error {
	if len(r.refused) > 0 {
		return r.invalid()
	}
	if err := distinct(r.spans); err != nil {
		return err
	}
	now := t.deps.Now().UnixNano()
	for i := range r.spans {
		if s := &r.spans[i]; s.Start == 0 && s.End == 0 {
			s.Start, s.End = now, now // the reply and the store name one moment
		}
	}
	fitted, err := Normalize(t.deps.Normalizer, r.spans)
	if err != nil {
		return err
	}
	receipt, err := publish(c.Request.Context(), r.spans)
	if err != nil {
		return err
	}
	return respondSpans(c, receipt, fitted, reply)
}

func (t traces) remove(c *gin.Context) error {
	id, outline, receipt, err := t.drop(c)
	if err != nil {
		return err
	}
	api.SetToken(c, receipt)
	reply := traceReply{TraceID: id.String()} // also where nothing was: a delete may be repeated (contract §1.11)
	if outline.Root() != nil {
		reply.Count = 1
	}
	c.JSON(http.StatusAccepted, reply)
	return nil
}

func (t traces) removeTracing(c *gin.Context) error {
	_, outline, receipt, err := t.drop(c)
	if err != nil {
		return err
	}
	receipt.Count = len(outline.Spans)
	for i := range outline.Spans {
		receipt.Links = append(receipt.Links, ingest.Link{TraceID: outline.Spans[i].TraceID, SpanID: outline.Spans[i].SpanID})
	}
	return respondSpans(c, receipt, nil, replyLinks)
}

// drop deletes the trace of the path and returns the spans that it had.
func (t traces) drop(c *gin.Context) (trace.TraceID, *ingest.Outline, ingest.Receipt, error) {
	id, err := trace.ParseTraceID(c.Param("trace_id"))
	if err != nil {
		return id, nil, ingest.Receipt{}, err
	}
	ctx := c.Request.Context()
	turn, err := t.deps.Stored.Turn(ctx, callerProject(ctx), id)
	if err != nil {
		return id, nil, ingest.Receipt{}, err
	}
	defer turn.End()
	outline, err := api.Outline(c, turn)
	if err != nil {
		return id, nil, ingest.Receipt{}, err
	}
	receipt, err := t.deps.Ingest.Delete(ctx, turn, source)
	return id, outline, receipt, err
}

func callerProject(ctx context.Context) domain.ProjectID { return domain.PrincipalFrom(ctx).Project }
