// Package runner executes evaluations. Run takes queued runs of any project under a
// lease (runner.go), computes their queued results scenario by scenario (run.go,
// scenario.go) and writes each result when it exists; another process continues
// after a crash. RunBatch executes an evaluation for a caller who waits and stores
// nothing but traces (batch.go). Both invoke through invoker.go. Which results are
// queued, and what a run's status is, is write/evaluate.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/slot"
	"colonnade/write/evaluate"
	"colonnade/write/ingest"
	"colonnade/write/invoke"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/evaluations"
)

// Deps are the components that a Runner calls.
type Deps struct {
	// Evaluate manages the runs that are executed.
	Evaluate *evaluate.Evaluate
	// Invoke runs revisions.
	Invoke *invoke.Invoke
	// Entities finds testcases, Runs stores results.
	Entities *entities.Registry
	Runs     *evaluations.Runs
	// Stored reads traces that are evaluated.
	Stored     *ingest.Stored
	Log        *slog.Logger
	Now        func() time.Time
	Registerer prometheus.Registerer
}

// Runner executes evaluations. It is safe for concurrent use.
type Runner struct {
	cfg      evaluate.Config
	deps     Deps
	evaluate *evaluate.Evaluate
	metrics  *metrics
	slots    *slot.Pool
}

// New returns a runner, which executes nothing before RunBatch or Run.
func New(cfg evaluate.Config, deps Deps) (*Runner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With(slog.String("component", "evaluate"))
	slots := slot.New(slot.Config{Count: cfg.MaxRuns, WaitTimeout: cfg.PollInterval}, "evaluation runs", deps.Now)
	return &Runner{cfg: cfg, deps: deps, evaluate: deps.Evaluate, metrics: m, slots: slots}, nil
}

// Run takes runs that wait, of every project, and carries them out until ctx
// ends; then it gives back what it has not finished, for whoever comes next.
func (r *Runner) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	freed := make(chan struct{}, 1) // a slot was given back since the last look
	tick := time.NewTicker(r.cfg.PollInterval)
	defer tick.Stop()
	for {
		started, err := r.startOne(ctx, &all, freed)
		if started {
			continue
		}
		if err != nil && ctx.Err() == nil {
			r.deps.Log.WarnContext(ctx, "query for evaluation runs failed, none is started until it succeeds", slog.Any("error", err))
		}
		select {
		case <-freed:
		case <-r.evaluate.Woken():
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func stopped(ctx context.Context) bool { return ctx.Err() != nil }

// startOne takes a run and executes it in the background, if a slot is free and a run
// waits that may have it.
func (r *Runner) startOne(ctx context.Context, all *sync.WaitGroup, freed chan<- struct{}) (started bool, err error) {
	held, more := r.slots.Held()
	if r.slots.Stats().InUse == r.cfg.MaxRuns || stopped(ctx) {
		return false, nil
	}
	runner := uuid.New()
	claimed, err := r.deps.Runs.Claim(ctx, runner, r.cfg.Lease, evaluations.Busy{Runs: held, OthersOnly: !more})
	if claimed == nil {
		return false, err
	}
	release, ok := r.slots.TryAcquire(claimed.Project)
	if !ok { // impossible: only this goroutine takes slots
		return false, errors.New("runner: no slot for the run that was taken")
	}
	all.Go(func() {
		defer func() {
			release()
			select {
			case freed <- struct{}{}:
			default: // the last one was not seen yet
			}
		}()
		r.carry(ctx, claimed, runner)
	})
	return true, nil
}

// Slots returns the pool from which runs take their slots.
func (r *Runner) Slots() *slot.Pool { return r.slots }

// errLost is the cause of a context whose run another process has taken.
var errLost = errors.New("runner: another process has taken the run")

// farewell bounds what is written after the end of a run's context.
const farewell = 10 * time.Second

// carry works on one run and gives it back.
func (r *Runner) carry(parent context.Context, c *evaluations.Claimed, runner uuid.UUID) {
	caller := domain.Principal{Project: c.Project, User: c.CreatedByID}
	if c.UpdatedByID != nil {
		caller.User = *c.UpdatedByID // who started it last
	}
	ctx, cancel := context.WithCancelCause(domain.WithPrincipal(parent, caller))
	defer cancel(nil)
	defer r.evaluate.Track(c.ID, cancel)()
	r.metrics.under.Inc()
	defer r.metrics.under.Dec()
	var holding sync.WaitGroup
	holding.Go(func() { r.hold(ctx, c, runner, cancel) })

	status, err := r.guarded(ctx, c, caller)
	cause := context.Cause(ctx)
	if err != nil && ctx.Err() == nil {
		r.deps.Log.ErrorContext(ctx, "execution of an evaluation run failed", slog.String("run_id", c.ID.String()), slog.Any("error", err))
		pause(ctx, r.cfg.PollInterval) // the store, most likely; it is tried again
	}
	cancel(nil)
	holding.Wait()

	ending, done := context.WithTimeout(context.WithoutCancel(parent), farewell)
	defer done()
	outcome := string(status)
	switch {
	case err == nil:
	case errors.Is(cause, evaluate.ErrStopped), errors.Is(cause, errLost):
		status, outcome = "", "given_up"
		r.swept(ending, caller, c.ID)
	default:
		status, outcome = "", "given_back"
	}
	r.metrics.runs.WithLabelValues(outcome).Inc()
	if _, err := r.deps.Runs.Release(ending, c.Project, c.ID, runner, status); err != nil {
		r.deps.Log.WarnContext(ending, "release of an evaluation run failed, another process continues it when its lease ends", slog.String("run_id", c.ID.String()), slog.Any("error", err))
	} else if status == evaluation.Pending {
		// Annotators may have set every result while the run was leased, when Resume
		// does nothing.
		if err := r.evaluate.Resume(ending, caller, c.ID); err != nil {
			r.deps.Log.WarnContext(ending, "waking of an evaluation run failed, it evaluate.Waits although its annotations may exist", slog.String("run_id", c.ID.String()), slog.Any("error", err))
		}
	}
	r.evaluate.Wake() // it may wait again
}

// swept marks what a stopped run leaves undone, unless it was started again.
func (r *Runner) swept(ctx context.Context, caller domain.Principal, id uuid.UUID) {
	err := r.evaluate.Exclusive(ctx, caller.Project, id, func() error {
		run, err := r.deps.Runs.Run(ctx, caller.Project, id)
		if err != nil || run == nil || run.Status != evaluation.Cancelled || run.Closed() {
			return err
		}
		return r.evaluate.CancelPending(ctx, caller, id)
	})
	if err != nil {
		r.deps.Log.WarnContext(ctx, "cancellation of the pending results of a stopped run failed", slog.String("run_id", id.String()), slog.Any("error", err))
	}
}

// hold keeps the lease, and gives the run up when it is another's, or stopped. So it
// does when the store does not say for as long as a lease: somebody else may have
// taken the run then, and what both compute would be there twice.
func (r *Runner) hold(ctx context.Context, c *evaluations.Claimed, runner uuid.UUID, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(r.cfg.PollInterval)
	defer tick.Stop()
	certain := r.cfg.Lease - r.cfg.PollInterval // the store's answer was under way for a while
	over := time.AfterFunc(certain, func() { cancel(errLost) })
	defer over.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		held, err := r.deps.Runs.Renew(ctx, c.Project, c.ID, runner, r.cfg.Lease)
		switch {
		case err != nil: // the next tick asks again
		case !held:
			cancel(errLost)
			return
		default:
			over.Reset(certain)
		}
	}
}

// guarded works on a run; what cannot be worked on fails, and says why.
func (r *Runner) guarded(ctx context.Context, c *evaluations.Claimed, caller domain.Principal) (status evaluation.Status, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			r.deps.Log.LogAttrs(ctx, slog.LevelError, "evaluation run panicked", slog.Any("reason", reason), slog.String("stack", string(debug.Stack())))
			status, err = r.failed(ctx, c, caller, "The service met a fault of its own.")
		}
	}()
	if c.Data == nil {
		return r.failed(ctx, c, caller, "The evaluation has no steps.")
	}
	return r.execute(ctx, c, caller)
}

// failed writes down why a run cannot be carried out.
func (r *Runner) failed(ctx context.Context, c *evaluations.Claimed, caller domain.Principal, reason string) (evaluation.Status, error) {
	draft := evaluation.RunDraft{}
	draft.ID, draft.Meta = c.ID, entity.Document{}
	maps.Copy(draft.Meta, c.Meta)
	draft.Meta["failure"] = map[string]any{"message": reason}
	if _, err := r.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{draft}); err != nil {
		return "", fmt.Errorf("evaluate: writing why a run failed: %w", err)
	}
	return evaluation.Failure, nil
}
