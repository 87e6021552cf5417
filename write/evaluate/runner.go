package evaluate

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

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/write/registry/evaluations"
)

// Run takes runs that wait, of every project, and carries them out until ctx
// ends; then it gives back what it has not finished, for whoever comes next.
func (v *Evaluate) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, v.cfg.MaxRuns) // one token for each run under way
	tick := time.NewTicker(v.cfg.PollInterval)
	defer tick.Stop()
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		runner := uuid.New()
		claimed, err := v.deps.Runs.Claim(ctx, runner, v.cfg.Lease)
		if claimed != nil {
			all.Go(func() {
				defer func() { <-places }()
				v.carry(ctx, claimed, runner)
			})
			continue
		}
		if err != nil && ctx.Err() == nil {
			v.deps.Log.WarnContext(ctx, "query for evaluation runs failed, none is started until it succeeds", slog.Any("error", err))
		}
		<-places
		select {
		case <-v.wake:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (v *Evaluate) woken() {
	select {
	case v.wake <- struct{}{}:
	default: // it is awake
	}
}

// Why work on a run ends before it is done.
var (
	errStopped = errors.New("evaluate: the run was stopped")
	errLost    = errors.New("evaluate: the run is somebody else's")
)

// interrupt gives up a run that this process works on.
func (v *Evaluate) interrupt(run uuid.UUID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.under[run]; cancel != nil {
		cancel(errStopped)
	}
}

// farewell bounds what is written after the end of a run's context.
const farewell = 10 * time.Second

// carry works on one run and gives it back.
func (v *Evaluate) carry(parent context.Context, c *evaluations.Claimed, runner uuid.UUID) {
	caller := domain.Principal{Project: c.Project, User: c.CreatedByID}
	if c.UpdatedByID != nil {
		caller.User = *c.UpdatedByID // who started it last
	}
	ctx, cancel := context.WithCancelCause(domain.WithPrincipal(parent, caller))
	defer cancel(nil)
	v.mu.Lock()
	v.under[c.ID] = cancel
	v.mu.Unlock()
	v.metrics.under.Inc()
	defer func() {
		v.mu.Lock()
		delete(v.under, c.ID)
		v.mu.Unlock()
		v.metrics.under.Dec()
	}()
	var holding sync.WaitGroup
	holding.Go(func() { v.hold(ctx, c, runner, cancel) })

	status, err := v.guarded(ctx, c, caller)
	cause := context.Cause(ctx)
	if err != nil && ctx.Err() == nil {
		v.deps.Log.ErrorContext(ctx, "execution of an evaluation run failed", slog.String("run_id", c.ID.String()), slog.Any("error", err))
		pause(ctx, v.cfg.PollInterval) // the store, most likely; it is tried again
	}
	cancel(nil)
	holding.Wait()

	ending, done := context.WithTimeout(context.WithoutCancel(parent), farewell)
	defer done()
	outcome := string(status)
	switch {
	case err == nil:
	case errors.Is(cause, errStopped), errors.Is(cause, errLost):
		status, outcome = "", "given_up"
		v.swept(ending, caller, c.ID)
	default:
		status, outcome = "", "given_back"
	}
	v.metrics.runs.WithLabelValues(outcome).Inc()
	if _, err := v.deps.Runs.Release(ending, c.Project, c.ID, runner, status); err != nil {
		v.deps.Log.WarnContext(ending, "release of an evaluation run failed, another process continues it when its lease ends", slog.String("run_id", c.ID.String()), slog.Any("error", err))
	} else if status == evaluation.Pending {
		// People may have said all meanwhile, which nobody looked at while the run was ours.
		if err := v.answered(ending, caller, c.ID); err != nil {
			v.deps.Log.WarnContext(ending, "waking of an evaluation run failed, it waits although its annotations may exist", slog.String("run_id", c.ID.String()), slog.Any("error", err))
		}
	}
	v.woken() // it may wait again
}

// swept marks what a stopped run leaves undone, unless it was started again.
func (v *Evaluate) swept(ctx context.Context, caller domain.Principal, id uuid.UUID) {
	err := v.alone(ctx, caller.Project, id, func() error {
		run, err := v.deps.Runs.Run(ctx, caller.Project, id)
		if err != nil || run == nil || run.Status != evaluation.Cancelled || run.Closed() {
			return err
		}
		return v.sweep(ctx, caller, id)
	})
	if err != nil {
		v.deps.Log.WarnContext(ctx, "cancellation of the pending results of a stopped run failed", slog.String("run_id", id.String()), slog.Any("error", err))
	}
}

// hold keeps the lease, and gives the run up when it is another's, or stopped. So it
// does when the store does not say for as long as a lease: somebody else may have
// taken the run then, and what both compute would be there twice.
func (v *Evaluate) hold(ctx context.Context, c *evaluations.Claimed, runner uuid.UUID, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(v.cfg.PollInterval)
	defer tick.Stop()
	certain := v.cfg.Lease - v.cfg.PollInterval // the store's answer was under way for a while
	over := time.AfterFunc(certain, func() { cancel(errLost) })
	defer over.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		held, err := v.deps.Runs.Renew(ctx, c.Project, c.ID, runner, v.cfg.Lease)
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
func (v *Evaluate) guarded(ctx context.Context, c *evaluations.Claimed, caller domain.Principal) (status evaluation.Status, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			v.deps.Log.LogAttrs(ctx, slog.LevelError, "evaluation run panicked", slog.Any("reason", reason), slog.String("stack", string(debug.Stack())))
			status, err = v.failed(ctx, c, caller, "The service met a fault of its own.")
		}
	}()
	if c.Data == nil {
		return v.failed(ctx, c, caller, "The evaluation has no steps.")
	}
	return v.work(ctx, c, caller)
}

// failed writes down why a run cannot be carried out.
func (v *Evaluate) failed(ctx context.Context, c *evaluations.Claimed, caller domain.Principal, reason string) (evaluation.Status, error) {
	draft := evaluation.RunDraft{}
	draft.ID, draft.Meta = c.ID, entity.Document{}
	maps.Copy(draft.Meta, c.Meta)
	draft.Meta["failure"] = map[string]any{"message": reason}
	if _, err := v.deps.Runs.EditRuns(ctx, caller, []evaluation.RunDraft{draft}); err != nil {
		return "", fmt.Errorf("evaluate: writing why a run failed: %w", err)
	}
	return evaluation.Failure, nil
}
