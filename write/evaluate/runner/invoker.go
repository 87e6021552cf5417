package runner

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
	"colonnade/write/invoke"
	"colonnade/write/invoke/handler"
)

// hand invokes on behalf of one run: so many at a time, each trace marked as the run's.
type invoker struct {
	invoke     *invoke.Invoke
	places     chan struct{} // one token for each invocation under way
	tags, meta map[string]any
}

// defaultConcurrency is what a run gets that does not ask.
const defaultConcurrency = 4

func (r *Runner) invoker(run uuid.UUID, concurrency int, tags, meta map[string]any) *invoker {
	if concurrency <= 0 {
		concurrency = defaultConcurrency
	}
	h := &invoker{invoke: r.deps.Invoke, places: make(chan struct{}, min(r.cfg.MaxConcurrency, concurrency)), tags: tags, meta: map[string]any{}}
	maps.Copy(h.meta, meta)
	h.meta["evaluation"] = map[string]any{"run_id": run.String()}
	return h
}

// answer is what an evaluator evaluates: the outputs of an application, or those of
// a stored trace. Without a trace it is a testcase by itself.
type answer struct {
	TraceID  trace.TraceID
	SpanID   trace.SpanID
	Inputs   map[string]any
	Outputs  any
	Testcase map[string]any
}

// runApplication invokes an application over a testcase. of are the other references of the trace.
func (i *invoker) runApplication(ctx context.Context, application, of entity.Entities, testcase map[string]any) (Outcome, error) {
	return i.run(ctx, "", invoke.Request{
		Data: invoke.Data{Inputs: testcase, Testcase: testcase}, References: join(of, application),
	})
}

// runEvaluator invokes an evaluator over an answer, whose trace the annotation links to.
func (i *invoker) runEvaluator(ctx context.Context, evaluator, of entity.Entities, a answer) (Outcome, error) {
	req := invoke.Request{
		Data:       invoke.Data{Inputs: a.Inputs, Testcase: a.Testcase, Outputs: a.Outputs},
		References: join(of, evaluator),
	}
	if !a.TraceID.IsZero() {
		req.Data.Trace = invoke.JudgedTrace(a.TraceID, a.SpanID, map[string]any{"inputs": a.Inputs, "outputs": a.Outputs})
		req.Links = map[string]trace.Link{invoke.JudgedLink: {TraceID: a.TraceID, SpanID: a.SpanID}}
	}
	return i.run(ctx, evaluator["evaluator"].Slug, req)
}

func join(all ...entity.Entities) entity.Entities {
	out := entity.Entities{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

// The pauses of a run that meets the limit of its project.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

// run invokes once. The error is the end of the run; what the invocation itself
// met is the outcome's.
func (i *invoker) run(ctx context.Context, evaluator string, req invoke.Request) (Outcome, error) {
	req.Flags = map[string]any{"is_evaluation": true}
	req.Tags, req.Meta = i.tags, i.meta
	select {
	case i.places <- struct{}{}:
		defer func() { <-i.places }()
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
	var reply invoke.Reply
	var err error
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		if err := context.Cause(ctx); err != nil {
			return Outcome{}, err
		}
		if reply, err = i.invoke.Run(ctx, req); domain.KindOf(err) != domain.TooMany || !reply.TraceID.IsZero() {
			break
		}
		// The project's other invocations are let through first.
		pause(ctx, wait)
	}
	o := Outcome{Evaluator: evaluator, TraceID: reply.TraceID, SpanID: reply.SpanID, Err: err, Outputs: reply.Outputs, Token: reply.Token}
	if reply.Lost != nil && err == nil {
		o.Err = domain.Wrap(domain.Unavailable, reply.Lost, "It ran, and its trace could not be recorded.")
	}
	if evaluator != "" {
		o.Score, o.Success = handler.Verdict(reply.Outputs)
	}
	return o, nil
}

// errTimeout is the cause of a context that ended by Config.Timeout, as opposed to
// one that the caller canceled.
var errTimeout = errors.New("evaluate: out of time")

// explain says why a run ended before it was done.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		return &domain.Error{Kind: domain.Unavailable, Message: "The evaluation took too long and was given up.", RetryAfter: time.Second, Err: err}
	case domain.KindOf(err) == domain.Internal:
		// The kind stays Internal: the server tells by the context that the client left.
		return domain.Wrap(domain.Internal, errors.Join(context.Canceled, err), "The caller left before the evaluation was done.")
	default:
		return err
	}
}
