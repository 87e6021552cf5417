package runner

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/jsonvalue"
	"colonnade/write/evaluate"
	"colonnade/write/invoke/handler"
)

// scenarioExecutor executes one scenario.
type scenarioExecutor struct {
	*runExecutor
	id        uuid.UUID
	input     evaluation.Result
	inputStep evaluation.Step

	mu      sync.Mutex // guards what is below
	status  map[evaluation.Cell]evaluation.Status
	answers map[evaluation.Cell]*answer
	stored  map[evaluation.Cell]evaluation.Result
}

// mark gives the scenario a status.
func (s *scenarioExecutor) mark(ctx context.Context, status evaluation.Status) error {
	d := evaluation.ScenarioDraft{PartDraft: evaluation.PartDraft{RunID: s.run.ID}}
	d.ID, d.Status = s.id, status
	_, err := s.deps.Runs.EditScenarios(ctx, s.caller, []evaluation.ScenarioDraft{d})
	return err
}

// each computes cells at once, as far as the run's places allow, and writes
// down what came of each.
func (s *scenarioExecutor) each(ctx context.Context, cells []evaluation.Cell, compute func(context.Context, evaluation.Cell) (Outcome, evaluation.Status, error)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range cells {
		group.Go(func() error {
			if err := s.set(ctx, c, Outcome{}, evaluation.Running); err != nil {
				return err
			}
			o, status, err := s.tries(ctx, c, compute)
			if err != nil {
				return err
			}
			if err := context.Cause(ctx); err != nil && o.Err != nil {
				return err // it was interrupted, which is no outcome
			}
			s.metrics.cells.WithLabelValues(string(status)).Inc()
			s.keep(c, o, status)
			if errors.Is(context.Cause(ctx), errLost) {
				return errLost // what stands there may be somebody else's by now
			}
			writing, done := outliving(ctx)
			defer done()
			return s.set(writing, c, o, status)
		})
	}
	return group.Wait()
}

// outliving is a context that ends a farewell after its parent: what is done is
// written down, or the next runner would do it again.
func outliving(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(farewell, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// tries computes a cell, and again as often as the run says while it fails.
// Every try leaves a trace; the result names the last one.
func (s *scenarioExecutor) tries(ctx context.Context, c evaluation.Cell, compute func(context.Context, evaluation.Cell) (Outcome, evaluation.Status, error)) (Outcome, evaluation.Status, error) {
	retries, delay := 0, time.Duration(0)
	if with := s.run.Data.Concurrency; with != nil {
		if with.MaxRetries != nil {
			retries = min(*with.MaxRetries, maxRetries)
		}
		if with.RetryDelay != nil {
			delay = time.Duration(min(*with.RetryDelay, maxRetryDelay.Seconds()) * float64(time.Second))
		}
	}
	for {
		o, status, err := compute(ctx, c)
		if err != nil || status != evaluation.Failure || retries == 0 || ctx.Err() != nil {
			return o, status, err
		}
		retries--
		pause(ctx, delay)
	}
}

// The bounds of what a run may ask for when a cell fails.
const (
	maxRetries    = 10
	maxRetryDelay = time.Minute
)

func (s *scenarioExecutor) keep(c evaluation.Cell, o Outcome, status evaluation.Status) {
	s.runExecutor.mu.Lock()
	for _, p := range o.Token {
		s.token = s.token.Add(p)
	}
	s.runExecutor.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status[c] = status
}

// set writes a result down.
func (s *scenarioExecutor) set(ctx context.Context, c evaluation.Cell, o Outcome, status evaluation.Status) error {
	d := evaluate.ResultAt(s.run.ID, c)
	d.Status, d.TraceID, d.SpanID = status, o.TraceID, o.SpanID
	if o.Hash != uuid.Nil {
		d.HashID = &o.Hash
	}
	if o.Err != nil {
		d.Error = entity.Document{"message": handler.Message(o.Err), "type": string(handler.ProblemOf(o.Err))}
	}
	_, err := s.deps.Runs.SetResults(ctx, s.caller, []evaluation.ResultDraft{d})
	return err
}

func ended(o Outcome) (Outcome, evaluation.Status, error) {
	if o.Err != nil {
		return o, evaluation.Failure, nil //nolint:nilerr // a failed cell is an outcome, which carries its error
	}
	return o, evaluation.Success, nil
}

// of are the references to what the scenario is about.
func (s *scenarioExecutor) of() entity.Entities {
	out := entity.Entities{}
	maps.Copy(out, s.inputStep.References)
	if s.input.TestcaseID != nil {
		out["testcase"] = domain.Reference{ID: *s.input.TestcaseID}
	}
	return out
}

// source is what the scenario's input holds; its error is that of the cells
// that depend on it, or the end of ctx.
func (s *scenarioExecutor) source(ctx context.Context) (*answer, error) {
	if id := s.input.TestcaseID; id != nil {
		data, ok := s.testcases[*id]
		if !ok {
			return nil, domain.E(domain.NotFound, "The testcase %s is gone.", id)
		}
		return &answer{Inputs: data, Testcase: data}, nil
	}
	if s.input.TraceID.IsZero() {
		return nil, domain.E(domain.NotFound, "The scenario has no input.")
	}
	return s.look(ctx, s.input.TraceID, s.input.SpanID)
}

// invoke computes a cell of an application.
func (s *scenarioExecutor) invoke(ctx context.Context, c evaluation.Cell) (Outcome, evaluation.Status, error) {
	found := s.found[c.Step]
	from, err := s.source(ctx)
	if err = firstOf(found.err, err); err != nil {
		return ended(Outcome{Err: err})
	}
	hash := hashOf(found.refs["application_revision"].ID, from.Inputs, c.Repeat)
	if was, err := s.cached(ctx, hash); err != nil || was != nil {
		return s.taken(c, was), evaluation.Success, err
	}
	o, err := s.runApplication(ctx, found.refs, s.of(), from.Inputs)
	if err != nil {
		return o, "", err
	}
	o.Hash = hash
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[c] = &answer{TraceID: o.TraceID, SpanID: o.SpanID, Inputs: from.Inputs, Outputs: o.Outputs, Testcase: from.Testcase}
	return ended(o)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// annotate computes a cell of an evaluator. Where there is nothing to judge,
// it does not run.
func (s *scenarioExecutor) annotate(ctx context.Context, c evaluation.Cell) (Outcome, evaluation.Status, error) {
	found := s.found[c.Step]
	if found.err != nil {
		return ended(Outcome{Err: found.err})
	}
	of := s.of()
	judged := s.run.Data.Judged(*s.run.Data.Step(c.Step))
	if judged == nil {
		from, err := s.source(ctx)
		if err != nil {
			return ended(Outcome{Err: err})
		}
		return s.judged(ctx, c, found.refs, of, *from)
	}
	at := evaluation.Cell{Scenario: c.Scenario, Step: judged.Key, Repeat: s.run.Lane(*judged, c.Repeat)}
	s.mu.Lock()
	status := s.status[at]
	s.mu.Unlock()
	if status != evaluation.Success {
		return Outcome{Err: domain.E(domain.Rejected, "There is no answer of %s to judge.", judged.Key)}, evaluation.Cancelled, nil
	}
	known, err := s.answer(ctx, at)
	if err != nil {
		return ended(Outcome{Err: err})
	}
	maps.Copy(of, s.found[judged.Key].refs)
	return s.judged(ctx, c, found.refs, of, *known)
}

// judged has an evaluator say something about an answer.
func (s *scenarioExecutor) judged(ctx context.Context, c evaluation.Cell, evaluator, of entity.Entities, about answer) (Outcome, evaluation.Status, error) {
	what := map[string]any{"trace_id": about.TraceID.String(), "testcase": about.Testcase}
	hash := hashOf(evaluator["evaluator_revision"].ID, what, c.Repeat)
	if was, err := s.cached(ctx, hash); err != nil || was != nil {
		return s.taken(c, was), evaluation.Success, err
	}
	o, err := s.runEvaluator(ctx, evaluator, of, about)
	if err != nil {
		return o, "", err
	}
	o.Hash = hash
	return ended(o)
}

// hashOf names what is computed from what: a revision, what goes in, and which
// of its repeats it is.
func hashOf(revision uuid.UUID, from map[string]any, repeat int) uuid.UUID {
	return uuid.NewSHA1(revision, append(jsonvalue.Append(nil, from), byte(repeat), byte(repeat>>8))) //nolint:gosec // repeats are less than a thousand
}

// mostCached is how many results of a hash are looked at for one whose trace is there.
const mostCached = 5

// cached is a result of the project that was computed from the same; nil where
// there is none whose trace is still there, or the run does not take any over.
func (s *scenarioExecutor) cached(ctx context.Context, hash uuid.UUID) (*evaluation.Result, error) {
	if !s.run.Flags[evaluation.IsCached] {
		return nil, nil //nolint:nilnil // nothing to take over is an answer
	}
	found, err := s.deps.Runs.ResultsOfHash(ctx, s.caller.Project, hash, mostCached)
	for i := range found {
		outline, err := s.deps.Stored.Outline(ctx, s.caller.Project, found[i].TraceID)
		if err != nil {
			return nil, err
		}
		if outline.Root() != nil {
			return &found[i], nil
		}
	}
	return nil, err
}

// taken is the outcome of a cell that is taken over.
func (s *scenarioExecutor) taken(c evaluation.Cell, was *evaluation.Result) Outcome {
	if was == nil {
		return Outcome{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[c] = *was
	o := Outcome{TraceID: was.TraceID, SpanID: was.SpanID}
	if was.HashID != nil {
		o.Hash = *was.HashID
	}
	return o
}

// answer is what an application said in this run: just now, or as its trace has it.
func (s *scenarioExecutor) answer(ctx context.Context, at evaluation.Cell) (*answer, error) {
	s.mu.Lock()
	known, was := s.answers[at], s.stored[at]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if was.TraceID.IsZero() {
		return nil, domain.E(domain.NotFound, "The result of %s names no trace.", at.Step)
	}
	known, err := s.look(ctx, was.TraceID, was.SpanID)
	if err != nil {
		return nil, err
	}
	if id := s.input.TestcaseID; id != nil {
		known.Testcase = s.testcases[*id]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[at] = known
	return known, nil
}
