package runner

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
)

// Batch asks for a run: each testcase goes through the subject, and each
// answer through every evaluator. Source: interface.md §1, "Evaluations tie
// these together".
type Batch struct {
	// Subject is the application, Evaluators are those who judge.
	Subject    entity.Retrieval
	Evaluators []entity.Retrieval
	// Testset names the revision whose testcases are run; without it they are Testcases.
	Testset   entity.Refs
	Testcases []Testcase
	// Concurrency is how many invocations are under way at a time; 0 is the default.
	Concurrency int
	// Tags and Meta are recorded with every trace of the run.
	Tags, Meta map[string]any
	// Begun is called with the revisions and scenarios before anything runs, Progress
	// with each outcome when it exists; never two calls at a time. Nil functions are
	// not called. An error of either ends the run.
	Begun    func(BatchReply) error
	Progress func(Scenario, Outcome) error
}

// Testcase is one row: what goes in, and what is known to be right.
type Testcase struct {
	// ID names the testcase in references; a new one is made where it is uuid.Nil.
	ID   uuid.UUID
	Data map[string]any
}

// BatchReply is what a run left behind.
type BatchReply struct {
	// ID is the run's; every trace of it has it under ag.meta.evaluation.run_id.
	ID uuid.UUID
	// Subject and Evaluators are references to what ran, as the traces have them.
	Subject    entity.Entities
	Evaluators []entity.Entities
	// Testset is what the testcases were found in; nil where they were given.
	Testset   entity.Entities
	Scenarios []Scenario
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
	// Token is where the trace stands in the log.
	Token domain.Token
	// Hash names what was computed from what; zero of a batch.
	Hash uuid.UUID
}

// RunBatch runs an evaluation while its caller evaluate.Waits. One invocation that fails is
// an outcome, not an error; errors are what keeps the run from beginning, and
// the end of ctx. Nothing of it is kept but its traces.
func (r *Runner) RunBatch(ctx context.Context, e Batch) (BatchReply, error) {
	found, err := r.open(ctx, &e)
	if err != nil {
		return BatchReply{}, err
	}
	if err := r.admit(e); err != nil {
		return BatchReply{}, err
	}
	run, err := r.prepare(ctx, e)
	if err != nil {
		return BatchReply{}, err
	}
	run.reply.Testset = found
	if e.Begun != nil {
		if err := e.Begun(run.reply); err != nil {
			return run.reply, err
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.cfg.Timeout, errTimeout)
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

// open puts the rows of a testset that is named into the evaluation, and gives
// the references to it.
func (r *Runner) open(ctx context.Context, e *Batch) (entity.Entities, error) {
	if e.Testset.IsZero() {
		return nil, nil //nolint:nilnil // testcases that were given are of no testset
	}
	if e.Testcases != nil {
		return nil, domain.E(domain.Rejected, "Provide either testcases or a testset, not both.")
	}
	revision, rows, err := r.deps.Entities.Testcases(ctx, domain.PrincipalFrom(ctx), e.Testset)
	if err != nil {
		return nil, err
	}
	if revision == nil {
		return nil, domain.E(domain.NotFound, "There is no such testset revision.")
	}
	e.Testcases = make([]Testcase, len(rows))
	for i, t := range rows {
		e.Testcases[i] = Testcase{ID: t.ID, Data: canonical(t.Data)}
	}
	f := entity.Testsets()
	return entity.Entities{
		f.Member(entity.LevelArtifact): {ID: revision.ArtifactID, Slug: revision.ArtifactSlug},
		f.Member(entity.LevelVariant):  {ID: revision.VariantID, Slug: revision.VariantSlug},
		f.Member(entity.LevelRevision): {ID: revision.ID, Slug: revision.Slug, Version: strconv.Itoa(revision.Version)},
	}, nil
}

// admit holds a run against the limits before anything is looked up.
func (r *Runner) admit(e Batch) error {
	limits := r.cfg
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

// evaluating is a batch under way.
type evaluating struct {
	*invoker
	e Batch

	mu    sync.Mutex // guards reply, and makes calls of Progress follow each other
	reply BatchReply
}

// prepare finds every revision once: what is missing shows before anything
// runs, and all testcases meet the same revisions, whatever is committed meanwhile.
func (r *Runner) prepare(ctx context.Context, e Batch) (*evaluating, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("evaluate: making an id: %w", err)
	}
	run := &evaluating{
		invoker: r.invoker(id, e.Concurrency, e.Tags, e.Meta), e: e,
		reply: BatchReply{ID: id, Scenarios: make([]Scenario, len(e.Testcases))},
	}
	if run.reply.Subject, err = r.deps.Invoke.Find(ctx, e.Subject); err != nil {
		return nil, err
	}
	for _, q := range e.Evaluators {
		found, err := r.deps.Invoke.Find(ctx, q)
		if err != nil {
			return nil, err
		}
		run.reply.Evaluators = append(run.reply.Evaluators, found)
	}
	for n, t := range e.Testcases {
		s := &run.reply.Scenarios[n]
		if s.Index, s.TestcaseID = n, t.ID; t.ID == uuid.Nil {
			if s.TestcaseID, err = uuid.NewV7(); err != nil {
				return nil, fmt.Errorf("evaluate: making an id: %w", err)
			}
		}
	}
	return run, nil
}

// scenario runs one testcase: the subject first, then its judges at once.
func (b *evaluating) scenario(ctx context.Context, n int) error {
	of := join(b.reply.Testset, entity.Entities{"testcase": {ID: b.reply.Scenarios[n].TestcaseID}})
	data := b.e.Testcases[n].Data
	invoked, err := b.runApplication(ctx, b.reply.Subject, of, data)
	if err != nil {
		return err
	}
	if err := b.note(n, invoked, func(s *Scenario) { s.Invocation = invoked.kept() }); err != nil || invoked.Err != nil {
		return err
	}
	maps.Copy(of, b.reply.Subject)
	given := answer{TraceID: invoked.TraceID, SpanID: invoked.SpanID, Inputs: data, Outputs: invoked.Outputs, Testcase: data}
	annotations := make([]Outcome, len(b.reply.Evaluators))
	group, ctx := errgroup.WithContext(ctx)
	for k, evaluator := range b.reply.Evaluators {
		group.Go(func() error {
			judged, err := b.runEvaluator(ctx, evaluator, of, given)
			if err != nil {
				return err
			}
			return b.note(n, judged, func(*Scenario) { annotations[k] = judged.kept() })
		})
	}
	err = group.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reply.Scenarios[n].Annotations = annotations
	return err
}

// note keeps an outcome and tells of it.
func (b *evaluating) note(n int, o Outcome, keep func(*Scenario)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.reply.Scenarios[n]
	keep(s)
	for _, p := range o.Token {
		b.reply.Token = b.reply.Token.Add(p)
	}
	if b.e.Progress == nil {
		return nil
	}
	return b.e.Progress(*s, o)
}

// kept is the outcome without what only progress tells.
func (o Outcome) kept() Outcome {
	o.Outputs = nil
	return o
}
