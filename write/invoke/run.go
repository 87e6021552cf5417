package invoke

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/write/invoke/handler"
)

// Request asks for one invocation. Source: contract §6.
type Request struct {
	// Handler is what the address names: key and version; zero on the generic
	// route, where the revision decides.
	Handler catalog.URI
	Data    Data
	// References name what is to run and what else the trace refers to.
	References entity.Entities
	// Key selects within the environment that the references name.
	Key string
	// Links make the invocation an annotation of other spans, by name.
	Links map[string]trace.Link
	// SessionID is empty for a new session.
	SessionID string
	// Flags, Tags and Meta are recorded with the trace.
	Flags, Tags, Meta map[string]any
	// Secrets are keys of providers for this invocation alone.
	Secrets map[string]string
	// Raw leaves embeds in parameters as they are.
	Raw bool
	// TraceID and ParentID continue a caller's trace; zero begins a new one.
	TraceID  trace.TraceID
	ParentID trace.SpanID
	// Refused is why nothing is to be run although the request was understood,
	// such as an Accept header that cannot be served; it leaves a trace like any failure.
	Refused error
	// After is the caller's earlier write, which a judgment by link waits for.
	After domain.Token
	// Begun is called with the ids before anything runs; nil means not.
	Begun func(Reply)
	// Emit is given to the handler.
	Emit func(delta any) error
}

// Data is the body of a request.
type Data struct {
	Inputs map[string]any
	// Parameters are nil where the revision's are meant.
	Parameters map[string]any
	// Revision is a revision's data that was not committed; nil means none.
	Revision map[string]any
	Testcase map[string]any
	Trace    any
	Outputs  any
}

// Reply is what an invocation left behind. On failure it has what is known of
// it: the trace exists then, too.
type Reply struct {
	TraceID   trace.TraceID
	SpanID    trace.SpanID
	SessionID string
	Outputs   any
	// Token is where the trace stands in the log; empty where it could not be
	// recorded, which Lost then tells.
	Token domain.Token
	Lost  error
}

// Run invokes a revision and records the trace. The caller is in ctx. Errors
// are those of the handler. A TooMany of the slots leaves no trace.
func (i *Invoke) Run(ctx context.Context, req Request) (Reply, error) {
	caller := domain.PrincipalFrom(ctx)
	if caller.Project.IsZero() {
		return Reply{}, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	release, err := i.slots.Acquire(ctx, caller.Project, slot.Long)
	if err != nil {
		return Reply{}, err
	}
	defer release()
	run, err := i.begin(&req)
	if err != nil {
		return Reply{}, err
	}
	if req.Begun != nil {
		req.Begun(run.reply)
	}
	limited, cancel := context.WithTimeoutCause(ctx, i.cfg.Timeout, errTimeout)
	defer cancel()
	call, outputs, err := i.handle(limited, caller, &req, run)
	err = call.Redactor.Error(explain(limited, err))
	run.reply.Outputs = call.Redactor.Value(outputs)
	i.record(&req, call, run, err)
	i.publish(ctx, call, run)
	i.observe(call, run, err)
	return run.reply, err
}

// running is one invocation under way.
type running struct {
	rec   *handler.Recorder
	root  *handler.Span
	reply Reply
}

// begin makes the ids and starts the root span.
func (i *Invoke) begin(req *Request) (*running, error) {
	run := &running{rec: handler.NewRecorder(i.deps.Now, i.deps.Random)}
	id, session := req.TraceID, req.SessionID
	var err error
	if id.IsZero() {
		if id, err = handler.NewTraceID(i.deps.Random); err != nil {
			return nil, err
		}
	}
	if session == "" {
		var text [16]byte
		if _, err := io.ReadFull(i.deps.Random, text[:]); err != nil {
			return nil, fmt.Errorf("invoke: making a session id: %w", err)
		}
		session = hex.EncodeToString(text[:])
	}
	if run.root, err = run.rec.Start(id, req.ParentID, "invoke", trace.Workflow, trace.KindServer); err != nil {
		return nil, err
	}
	run.reply = Reply{TraceID: id, SpanID: run.root.SpanID(), SessionID: session}
	return run, nil
}

// handle finds out what to run and runs it. The call is what is known of it
// where that failed.
func (i *Invoke) handle(ctx context.Context, caller domain.Principal, req *Request, run *running) (*handler.Call, any, error) {
	call := &handler.Call{
		Caller: caller, URI: req.Handler, Parameters: req.Data.Parameters, Inputs: req.Data.Inputs, Outputs: req.Data.Outputs,
		Trace: req.Data.Trace, Testcase: req.Data.Testcase, SessionID: run.reply.SessionID, References: req.References,
		Links: req.Links, Secrets: req.Secrets, Redactor: &handler.Redactor{}, Span: run.root,
	}
	if req.Emit != nil {
		call.Emit = func(delta any) error { return req.Emit(call.Redactor.Value(delta)) }
	}
	if req.Refused != nil {
		return call, nil, req.Refused
	}
	if err := i.resolve(ctx, req, call); err != nil {
		return call, nil, err
	}
	if err := i.look(ctx, req, call); err != nil {
		return call, nil, err
	}
	h, ok := i.handler(call.URI)
	if !ok {
		kind := domain.Rejected
		if req.Handler.Key != "" {
			kind = domain.NotFound
		}
		return call, nil, handler.Fail(kind, handler.UnknownHandler, "Nothing here runs %s.", describe(call.URI))
	}
	outputs, err := i.guarded(ctx, h, call)
	if err != nil {
		return call, nil, err
	}
	if err := judged(ctx, call, outputs); err != nil {
		// Kept for whoever mends the evaluator, where nobody takes it for a verdict.
		run.root.Set(outputs, "ag", "data", "internals", "refused")
		return call, nil, err
	}
	return call, outputs, nil
}

// guarded runs a handler; a panic of it is a fault of ours and ends this
// invocation alone. The server's own guard does not reach here: an evaluation
// runs handlers in goroutines, where a panic would end the process.
func (i *Invoke) guarded(ctx context.Context, h handler.Handler, c *handler.Call) (outputs any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			i.deps.Log.LogAttrs(ctx, slog.LevelError, "handler panicked",
				slog.Any("reason", reason), slog.String("handler", describe(c.URI)), slog.String("stack", string(debug.Stack())))
			outputs, err = nil, fmt.Errorf("invoke: handler %s panicked: %v", describe(c.URI), reason)
		}
	}()
	return h(ctx, c)
}

// judged checks what an evaluator says against what it promises: an annotation
// that does not fit its schema would break every table it appears in.
func judged(ctx context.Context, c *handler.Call, outputs any) error {
	schema := handler.Object(c.Revision.Schemas["outputs"])
	if len(c.Links) == 0 || len(schema) == 0 {
		return nil
	}
	fields, err := catalog.Validate(ctx, schema, outputs, "data", "outputs")
	if err != nil && domain.KindOf(err) != domain.Rejected {
		return handler.WithProblem(err, handler.InvalidOutputs)
	}
	if err != nil {
		return handler.Fail(domain.Rejected, handler.InvalidParameters, "The evaluator's schema of outputs cannot be used: %s", err)
	}
	if len(fields) == 0 {
		return nil
	}
	return handler.Fail(domain.Rejected, handler.InvalidOutputs, "The evaluator's outputs do not fit its schema: %v: %s", fields[0].Loc, fields[0].Msg)
}

// errTimeout is the cause of a context that ended by Config.Timeout, as opposed to
// one that the caller canceled.
var errTimeout = errors.New("invoke: out of time")

// explain says why a context ended, in words for the trace.
func explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		return &domain.Error{Kind: domain.Unavailable, Message: "The invocation took too long and was given up.", RetryAfter: time.Second, Err: err}
	}
	if domain.KindOf(err) == domain.Internal {
		// The kind stays Internal: the server tells by the context that the client left.
		return domain.Wrap(domain.Internal, errors.Join(context.Canceled, err), "The caller left before the invocation was done.")
	}
	return err
}

func describe(u catalog.URI) string {
	if u.Key == "" {
		return "a request that names no handler: send references or data.revision"
	}
	return u.Key + ":" + u.Version
}

// Inspect tells what would be run: the revision's data, complete with the
// schemas of its handler, and the references to it.
func (i *Invoke) Inspect(ctx context.Context, req Request) (entity.Document, entity.Entities, error) {
	call := &handler.Call{Caller: domain.PrincipalFrom(ctx), URI: req.Handler, Parameters: req.Data.Parameters, References: req.References}
	if call.Caller.Project.IsZero() {
		return nil, nil, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	if err := i.resolve(ctx, &req, call); err != nil {
		return nil, nil, err
	}
	if _, ok := i.handler(call.URI); !ok {
		return nil, nil, handler.Fail(domain.NotFound, handler.UnknownHandler, "Nothing here runs %s.", describe(call.URI))
	}
	if call.URI.Provider == "" {
		call.URI = i.catalog.Handler(call.URI)
	}
	data := entity.Document{"uri": call.URI.String()}
	if call.Revision.URI != "" {
		data["uri"] = call.Revision.URI
	}
	if len(call.Parameters) > 0 {
		data["parameters"] = call.Parameters
	}
	r := call.Revision
	for name, value := range map[string]string{"url": r.URL, "runtime": r.Runtime, "script": r.Script} {
		if value != "" {
			data[name] = value
		}
	}
	if r.Headers != nil {
		data["headers"] = r.Headers
	}
	if r.Schemas != nil {
		data["schemas"] = r.Schemas
	}
	return catalog.WithURL(i.catalog.Complete(data, i.cfg.ServicesURL), i.cfg.ServicesURL), call.References, nil
}
