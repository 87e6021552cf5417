package runner

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/evaluate"
	"colonnade/write/invoke/handler"
	"colonnade/write/registry/evaluations"
)

// runExecutor executes one run.
type runExecutor struct {
	*Runner
	*invoker
	run    *evaluation.Run
	caller domain.Principal
	// found are the revisions that steps run, by key, or why they cannot.
	found map[string]foundRevision
	// testcases are the rows of the run's testsets, and those that were given one by one.
	testcases map[uuid.UUID]map[string]any

	mu    sync.Mutex // guards token
	token domain.Token
}

type foundRevision struct {
	refs entity.Entities
	err  error
}

// execute computes the cells of a run that are queued, and gives the status that
// it ends with. An error is what keeps it from going on: the end of ctx, or the store.
func (r *Runner) execute(ctx context.Context, c *evaluations.Claimed, caller domain.Principal) (evaluation.Status, error) {
	results, err := r.deps.Runs.Results(ctx, caller.Project, c.ID)
	if err != nil {
		return "", err
	}
	concurrency := 0
	if c.Data.Concurrency != nil && c.Data.Concurrency.BatchSize != nil {
		concurrency = *c.Data.Concurrency.BatchSize
	}
	tags, _ := handler.Canonical(map[string]any(c.Tags)).(map[string]any)
	w := &runExecutor{Runner: r, invoker: r.invoker(c.ID, concurrency, tags, nil), run: &c.Run, caller: caller, found: map[string]foundRevision{}}
	if err := w.prepare(ctx, results); err != nil {
		return "", err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(cap(w.places))
	for rows := range evaluate.ByScenario(results) {
		if within.Err() != nil {
			break
		}
		if slices.ContainsFunc(rows, func(r evaluation.Result) bool { return evaluate.Waits(r.Status) }) {
			group.Go(func() error { return w.scenario(within, rows) })
		}
	}
	if err := group.Wait(); err != nil {
		return "", err
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	w.measure(ctx)
	return w.status(ctx)
}

// prepare finds every revision once, and the testcases.
func (w *runExecutor) prepare(ctx context.Context, results []evaluation.Result) error {
	w.testcases = map[uuid.UUID]map[string]any{}
	for _, s := range w.run.Data.Steps {
		if s.Type != evaluation.Input {
			refs, err := w.evaluate.Revision(ctx, s)
			if err != nil && ctx.Err() != nil {
				return err
			}
			w.found[s.Key] = foundRevision{refs, err}
			continue
		}
		ref, ok := s.References["testset_revision"]
		if !ok {
			continue
		}
		rows, err := w.evaluate.Testcases(ctx, w.caller, ref)
		if err != nil && domain.KindOf(err) != domain.Rejected {
			return err
		}
		for _, t := range rows {
			w.testcases[t.ID] = canonical(t.Data)
		}
	}
	var others []uuid.UUID
	for i := range results {
		if id := results[i].TestcaseID; id != nil && w.testcases[*id] == nil {
			others = append(others, *id)
		}
	}
	for chunk := range slices.Chunk(others, evaluate.MaxChunk) {
		rows, err := w.deps.Entities.TestcasesByID(ctx, w.caller, chunk)
		if err != nil {
			return err
		}
		for _, t := range rows {
			w.testcases[t.ID] = canonical(t.Data)
		}
	}
	return nil
}

func canonical(d entity.Document) map[string]any {
	out, _ := handler.Canonical(map[string]any(d)).(map[string]any)
	return out
}

// scenario computes what evaluate.Waits of one scenario: applications first, then those who judge them.
func (w *runExecutor) scenario(ctx context.Context, rows []evaluation.Result) error {
	s := &scenarioExecutor{runExecutor: w, id: rows[0].ScenarioID, status: map[evaluation.Cell]evaluation.Status{}, answers: map[evaluation.Cell]*answer{}, stored: map[evaluation.Cell]evaluation.Result{}}
	if err := s.mark(ctx, evaluation.Running); err != nil {
		return err
	}
	var invocations, annotations []evaluation.Cell
	for _, r := range rows {
		step := w.run.Data.Step(r.StepKey)
		if step == nil {
			continue
		}
		s.status[r.Cell()] = r.Status
		s.stored[r.Cell()] = r
		switch {
		case step.Type == evaluation.Input:
			s.input, s.inputStep = r, *step
		case !evaluate.Waits(r.Status):
		case step.Type == evaluation.Invocation:
			invocations = append(invocations, r.Cell())
		default:
			annotations = append(annotations, r.Cell())
		}
	}
	for _, phase := range []struct {
		cells   []evaluation.Cell
		compute func(context.Context, evaluation.Cell) (Outcome, evaluation.Status, error)
	}{{invocations, s.invoke}, {annotations, s.annotate}} {
		if err := s.each(ctx, phase.cells, phase.compute); err != nil {
			return err
		}
	}
	parts := make([]evaluation.Status, 0, len(s.status))
	for status := range maps.Values(s.status) {
		parts = append(parts, status)
	}
	return s.mark(ctx, evaluation.StatusOf(parts))
}

// status is that of the run, out of its scenarios.
func (w *runExecutor) status(ctx context.Context) (evaluation.Status, error) {
	var all []evaluation.Status
	err := w.evaluate.EachScenario(ctx, w.caller.Project, w.run.ID, func(s *evaluation.Scenario) error {
		all = append(all, s.Status)
		return nil
	})
	// A running one is not ours: it has nothing that evaluate.Waits.
	all = slices.DeleteFunc(all, evaluate.Waits)
	return evaluation.StatusOf(all), err
}

// measure evaluate.Waits until the traces of the run are visible and computes metrics of
// them, also of scenarios that a runner before this one left behind. They are
// computed again by whoever asks, so that nothing depends on it.
func (w *runExecutor) measure(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, w.cfg.TraceTimeout)
	defer cancel()
	err := w.visible(limited)
	for first, wait := true, firstLook; err == nil; first, wait = false, min(2*wait, lastLook) {
		var changed []uuid.UUID
		if changed, err = w.deps.Runs.Changed(ctx, w.caller.Project, w.run); err != nil || len(changed) == 0 && !first {
			break
		}
		if err = w.evaluate.RefreshMetrics(ctx, w.caller, w.run, changed); err != nil {
			break
		}
		// Where a trace stands in the log is not known of those that the log took too long
		// for, nor of another runner's: it is there when it can be measured.
		if len(changed) > 0 && !pause(limited, wait) {
			err = domain.E(domain.Unavailable, "The traces of %d scenarios are not visible yet; refresh their metrics later.", len(changed))
		}
	}
	if err != nil && ctx.Err() == nil {
		w.deps.Log.WarnContext(ctx, "computation of the metrics of an evaluation run failed, the run has none", slog.String("run_id", w.run.ID.String()), slog.Any("error", err))
	}
}

// visible evaluate.Waits until what the run wrote is visible. Nobody holds the line here: it
// evaluate.Waits for as long as for a trace, or a sink that is a few seconds behind would
// leave a run that is done without metrics.
func (w *runExecutor) visible(limited context.Context) error {
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		err := w.deps.Stored.Await(limited, w.token)
		if domain.KindOf(err) != domain.Unavailable || !pause(limited, wait) {
			return err
		}
	}
}

// pause tells whether the context lasted so long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// The pauses between two looks for a trace.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// look reads what a stored trace holds, after waiting until it is visible. A
// zero span means the trace's root.
func (w *runExecutor) look(ctx context.Context, id trace.TraceID, span trace.SpanID) (*answer, error) {
	limited, cancel := context.WithTimeout(ctx, w.cfg.TraceTimeout)
	defer cancel()
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		outline, err := w.deps.Stored.Outline(ctx, w.caller.Project, id)
		if err != nil {
			return nil, err
		}
		at := span
		if root := outline.Root(); at.IsZero() && root != nil {
			at = root.SpanID
		}
		found, err := w.deps.Stored.Span(ctx, w.caller.Project, outline, at)
		if err == nil {
			ag, _ := found.Attributes[semconv.Root].(map[string]any)
			data, _ := ag[semconv.Data].(map[string]any)
			inputs, _ := data[semconv.Inputs].(map[string]any)
			return &answer{TraceID: id, SpanID: at, Inputs: inputs, Outputs: data[semconv.Outputs]}, nil
		}
		if domain.KindOf(err) != domain.NotFound {
			return nil, err
		}
		if !pause(limited, wait) {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			return nil, domain.E(domain.NotFound, "The trace %s is not stored.", id)
		}
	}
}
