package invoke

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
)

// Evaluations bounds what one run may ask for.
type Evaluations struct {
	// MaxTestcases and MaxEvaluators bound a run, and together what it leaves behind.
	MaxTestcases  int
	MaxEvaluators int
	// MaxConcurrency is how many invocations of a run may be under way at a time.
	MaxConcurrency int
	// Timeout ends a run; what is done by then stays.
	Timeout time.Duration
}

func defaultEvaluations() Evaluations {
	return Evaluations{MaxTestcases: 1000, MaxEvaluators: 20, MaxConcurrency: 16, Timeout: 30 * time.Minute}
}

func (e Evaluations) validate() error {
	if e.MaxTestcases < 1 || e.MaxEvaluators < 1 || e.MaxConcurrency < 1 || e.Timeout <= 0 {
		return errors.New("max_testcases, max_evaluators, max_concurrency, timeout: must be positive")
	}
	return nil
}

// defaultConcurrency is what a run gets that does not ask.
const defaultConcurrency = 4

// Evaluation asks for a run: each testcase goes through the subject, and each
// answer through every evaluator. Source: interface.md §1, "Evaluations tie
// these together".
type Evaluation struct {
	// Subject is the application, Evaluators are those who judge.
	Subject    entity.Retrieval
	Evaluators []entity.Retrieval
	Testcases  []Testcase
	// Concurrency is how many invocations are under way at a time; 0 is the default.
	Concurrency int
	// Tags and Meta are recorded with every trace of the run.
	Tags, Meta map[string]any
	// Begun is told what will run before anything does, Progress each outcome as
	// it comes; both one call at a time, nil means not. An error ends the run.
	Begun    func(EvaluationReply) error
	Progress func(Scenario, Outcome) error
}

// Testcase is one row: what goes in, and what is known to be right.
type Testcase struct {
	// ID names the testcase in references; a new one is made where it is uuid.Nil.
	ID   uuid.UUID
	Data map[string]any
}

// EvaluationReply is what a run left behind.
type EvaluationReply struct {
	// ID is the run's; every trace of it has it under ag.meta.evaluation.run_id.
	ID uuid.UUID
	// Subject and Evaluators are references to what ran, as the traces have them.
	Subject    entity.Entities
	Evaluators []entity.Entities
	Scenarios  []Scenario
	// Token makes a read wait for all traces of the run.
	Token domain.Token
}

// Scenario is a testcase with its traces.
type Scenario struct {
	// Index is the testcase's place in the request.
	Index      int
	TestcaseID uuid.UUID
	Invocation Outcome
	// Annotations are in the order of the evaluators; none where there was no answer to judge.
	Annotations []Outcome
}

// Outcome is one invocation of a run.
type Outcome struct {
	// Evaluator is the judge's slug; empty for the subject.
	Evaluator string
	// TraceID and SpanID name the trace's root; zero where the run ended before.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Err is why there are no outputs; nil where there are.
	Err error
	// Outputs are handed to Progress only: a run of a thousand answers is not kept in memory.
	Outputs any
	// Score and Success are what a verdict says; nil where it does not.
	Score   *float64
	Success *bool
}

// Evaluate runs an evaluation. One invocation that fails is an outcome, not an
// error; errors are what keeps the run from beginning, and the end of ctx.
func (i *Invoke) Evaluate(ctx context.Context, e Evaluation) (EvaluationReply, error) {
	if err := i.admit(e); err != nil {
		return EvaluationReply{}, err
	}
	run, err := i.prepare(ctx, e)
	if err != nil {
		return EvaluationReply{}, err
	}
	if e.Begun != nil {
		if err := e.Begun(run.reply); err != nil {
			return run.reply, err
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, i.cfg.Evaluations.Timeout, errTimeout)
	defer cancel()
	group, ctx := errgroup.WithContext(limited)
	group.SetLimit(cap(run.places))
	for n := range e.Testcases {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return run.scenario(ctx, n) })
	}
	if err = group.Wait(); err == nil {
		err = context.Cause(limited) // it may have ended before all had begun
	}
	return run.reply, explain(limited, err)
}

func orElse(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// admit holds a run against the limits before anything is looked up.
func (i *Invoke) admit(e Evaluation) error {
	limits := i.cfg.Evaluations
	switch {
	case len(e.Testcases) == 0:
		return domain.E(domain.Rejected, "An evaluation needs at least one testcase.")
	case len(e.Evaluators) == 0:
		return domain.E(domain.Rejected, "An evaluation needs at least one evaluator.")
	case len(e.Testcases) > limits.MaxTestcases:
		return domain.E(domain.Rejected, "An evaluation takes at most %d testcases, not %d; run it in parts.", limits.MaxTestcases, len(e.Testcases))
	case len(e.Evaluators) > limits.MaxEvaluators:
		return domain.E(domain.Rejected, "An evaluation takes at most %d evaluators, not %d.", limits.MaxEvaluators, len(e.Evaluators))
	case e.Concurrency > limits.MaxConcurrency:
		return domain.E(domain.Rejected, "An evaluation runs at most %d invocations at a time, not %d.", limits.MaxConcurrency, e.Concurrency)
	default:
		return nil
	}
}

// evaluating is a run under way.
type evaluating struct {
	invoke *Invoke
	e      Evaluation
	meta   map[string]any
	places chan struct{} // one token for each invocation under way

	mu    sync.Mutex // guards reply, and makes calls of Progress follow each other
	reply EvaluationReply
}

// prepare finds every revision once: what is missing shows before anything
// runs, and all testcases meet the same revisions, whatever is committed meanwhile.
func (i *Invoke) prepare(ctx context.Context, e Evaluation) (*evaluating, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("invoke: making an id: %w", err)
	}
	places := min(i.cfg.Evaluations.MaxConcurrency, orElse(e.Concurrency, defaultConcurrency))
	run := &evaluating{invoke: i, e: e, places: make(chan struct{}, places), reply: EvaluationReply{ID: id, Scenarios: make([]Scenario, len(e.Testcases))}}
	run.meta = map[string]any{}
	maps.Copy(run.meta, e.Meta)
	run.meta["evaluation"] = map[string]any{"run_id": id.String()}
	if run.reply.Subject, err = i.find(ctx, e.Subject); err != nil {
		return nil, err
	}
	for _, q := range e.Evaluators {
		found, err := i.find(ctx, q)
		if err != nil {
			return nil, err
		}
		run.reply.Evaluators = append(run.reply.Evaluators, found)
	}
	for n, t := range e.Testcases {
		s := &run.reply.Scenarios[n]
		if s.Index, s.TestcaseID = n, t.ID; t.ID == uuid.Nil {
			if s.TestcaseID, err = uuid.NewV7(); err != nil {
				return nil, fmt.Errorf("invoke: making an id: %w", err)
			}
		}
	}
	return run, nil
}

// find gives references to a revision that can be run.
func (i *Invoke) find(ctx context.Context, q entity.Retrieval) (entity.Entities, error) {
	found, err := i.deps.Registry.Retrieve(ctx, domain.PrincipalFrom(ctx), q)
	if err != nil {
		return nil, err
	}
	r := found.Revision
	if r == nil {
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

// scenario runs one testcase: the subject first, then its judges at once.
func (r *evaluating) scenario(ctx context.Context, n int) error {
	data := r.e.Testcases[n].Data
	testcase := r.reply.Scenarios[n].TestcaseID
	invoked, err := r.run(ctx, "", Request{
		Data:       Data{Inputs: data, Testcase: data},
		References: r.references(r.reply.Subject, testcase),
	})
	if err != nil {
		return err
	}
	if err := r.note(n, invoked, func(s *Scenario) { s.Invocation = invoked.kept() }); err != nil || invoked.Err != nil {
		return err
	}
	annotations := make([]Outcome, len(r.reply.Evaluators))
	group, ctx := errgroup.WithContext(ctx)
	for k, evaluator := range r.reply.Evaluators {
		group.Go(func() error {
			references := r.references(r.reply.Subject, testcase)
			maps.Copy(references, evaluator)
			judged, err := r.run(ctx, evaluator["evaluator"].Slug, Request{
				Data: Data{
					Inputs: data, Testcase: data, Outputs: invoked.Outputs,
					Trace: judgedTrace(invoked.TraceID, invoked.SpanID, map[string]any{"inputs": data, "outputs": invoked.Outputs}),
				},
				References: references,
				Links:      map[string]trace.Link{"invocation": {TraceID: invoked.TraceID, SpanID: invoked.SpanID}},
			})
			if err != nil {
				return err
			}
			return r.note(n, judged, func(*Scenario) { annotations[k] = judged.kept() })
		})
	}
	err = group.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply.Scenarios[n].Annotations = annotations
	return err
}

func (r *evaluating) references(of entity.Entities, testcase uuid.UUID) entity.Entities {
	out := entity.Entities{"testcase": {ID: testcase}}
	maps.Copy(out, of)
	return out
}

// note keeps an outcome and tells of it.
func (r *evaluating) note(n int, o Outcome, keep func(*Scenario)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.reply.Scenarios[n]
	keep(s)
	if r.e.Progress == nil {
		return nil
	}
	return r.e.Progress(*s, o)
}

// kept is the outcome without what only progress tells.
func (o Outcome) kept() Outcome {
	o.Outputs = nil
	return o
}

// The pauses of a run that meets the limit of its project.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

// run invokes once. The error is the end of the run; what the invocation itself
// met is the outcome's.
func (r *evaluating) run(ctx context.Context, evaluator string, req Request) (Outcome, error) {
	req.Flags = map[string]any{"is_evaluation": true}
	req.Tags, req.Meta = r.e.Tags, r.meta
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
	var reply Reply
	var err error
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		if err := context.Cause(ctx); err != nil {
			return Outcome{}, err
		}
		if reply, err = r.invoke.Run(ctx, req); domain.KindOf(err) != domain.TooMany || !reply.TraceID.IsZero() {
			break
		}
		// The project's other invocations are let through first.
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	o := Outcome{Evaluator: evaluator, TraceID: reply.TraceID, SpanID: reply.SpanID, Err: err, Outputs: reply.Outputs}
	if reply.Lost != nil && err == nil {
		o.Err = domain.Wrap(domain.Unavailable, reply.Lost, "It ran, and its trace could not be recorded.")
	}
	if evaluator != "" {
		o.Score, o.Success = verdictIn(reply.Outputs)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range reply.Token {
		r.reply.Token = r.reply.Token.Add(p)
	}
	return o, nil
}

// verdictIn reads a verdict in its usual form.
func verdictIn(outputs any) (score *float64, success *bool) {
	verdict, _ := outputs.(map[string]any)
	if n, ok := numberOf(verdict["score"]); ok {
		score = &n
	}
	if yes, ok := verdict["success"].(bool); ok {
		success = &yes
	}
	return score, success
}

// judgedTrace is a trace as evaluators see it: the ids of the judged span and
// its data, where a stored span has them.
func judgedTrace(id trace.TraceID, span trace.SpanID, data map[string]any) map[string]any {
	return map[string]any{
		"trace_id": id.String(), "span_id": span.String(),
		"attributes": map[string]any{"ag": map[string]any{"data": data}},
	}
}
