// Package evaluate manages evaluation runs: it creates them from revisions
// (simple.go, source.go), decides which results are to be computed and queues them
// (simple.go), changes runs by step, scenario and repeat (slice.go), stops them and
// computes their status (ending.go), and keeps the queues of annotators (queue.go).
// What is to be computed is stored as queued results, so that any process can
// compute it and any client can follow it: write/evaluate/runner executes runs.
// Records are stored by write/registry/evaluations; rules are domain/evaluation.
// Source: interface.md §1, contract §5.8.
package evaluate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	"colonnade/write/invoke"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/evaluations"
)

// Config bounds the work of one run, and of the runs of this process.
type Config struct {
	// MaxTestcases and MaxEvaluators bound a batch, and so the results that it writes.
	MaxTestcases  int
	MaxEvaluators int
	// MaxConcurrency is how many invocations of a run may be in progress at a time.
	MaxConcurrency int
	// Timeout bounds a batch; results that exist by then stay.
	Timeout time.Duration
	// MaxScenarios bounds a run in the background, MaxResults the results that it
	// writes: scenarios times steps times repeats.
	MaxScenarios int
	MaxResults   int
	// MaxRuns is how many runs this process executes at a time: of one project at most
	// three quarters, all but one where there are fewer than four.
	MaxRuns int
	// Lease is how long a run stays with a process that does not extend its lease:
	// after a crash another process continues the run that much later.
	Lease time.Duration
	// PollInterval is how often Postgres is queried for runs that another process
	// started, and for cancellations of the runs of this process.
	PollInterval time.Duration
	// TraceTimeout is how long an evaluator waits until the trace that it evaluates is visible.
	TraceTimeout time.Duration
}

// DefaultConfig returns bounds for evaluations of some thousand testcases.
func DefaultConfig() Config {
	return Config{
		MaxTestcases: 1000, MaxEvaluators: 20, MaxConcurrency: 16, Timeout: 30 * time.Minute,
		MaxScenarios: 10_000, MaxResults: 250_000, MaxRuns: 4, Lease: 15 * time.Second, PollInterval: time.Second, TraceTimeout: 30 * time.Second,
	}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.MaxTestcases < 1 || c.MaxEvaluators < 1 || c.MaxConcurrency < 1 || c.MaxScenarios < 1 || c.MaxResults < 1 || c.MaxRuns < 1 {
		errs = append(errs, errors.New("max_testcases, max_evaluators, max_concurrency, max_scenarios, max_results, max_runs: must be positive"))
	}
	if c.Timeout <= 0 || c.TraceTimeout <= 0 || c.PollInterval <= 0 || c.Lease < 3*c.PollInterval {
		// A lease is extended at each poll and given up one poll before its end: with a lease of two polls both fall together.
		errs = append(errs, errors.New("timeout, trace_timeout, poll_interval: must be positive, and lease at least three times poll_interval"))
	}
	return errors.Join(errs...)
}

// Deps are what evaluations need from outside.
type Deps struct {
	// Invoke runs revisions.
	Invoke *invoke.Invoke
	// Registry finds revisions and testcases, Runs keeps what evaluations leave.
	Registry *entities.Registry
	Runs     *evaluations.Runs
	// Traces are those that a saved query finds now, at most so many; it is part of
	// the read side, and cmd wires it.
	Traces func(ctx context.Context, project domain.ProjectID, query uuid.UUID, most int) ([]trace.TraceID, error)
}

// Evaluate runs evaluations. It is safe for concurrent use.
type Evaluate struct {
	cfg  Config
	deps Deps
	// turns bounds how many runs are changed exclusively at a time: each holds a connection and needs another one.
	turns chan struct{}
	*signals
}

// New makes the room; nothing runs before the first batch, or before Run.
func New(cfg Config, deps Deps) (*Evaluate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	return &Evaluate{cfg: cfg, deps: deps, turns: make(chan struct{}, maxTurns), signals: &signals{wake: make(chan struct{}, 1), under: map[uuid.UUID]context.CancelCauseFunc{}}}, nil
}

// maxTurns leaves most connections of a pool to others.
const maxTurns = 2

// Exclusive does something about a run while nobody else does.
func (v *Evaluate) Exclusive(ctx context.Context, project domain.ProjectID, run uuid.UUID, do func() error) error {
	select {
	case v.turns <- struct{}{}:
		defer func() { <-v.turns }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return v.deps.Runs.Exclusive(ctx, project, run, do)
}

// changed is what do makes of a run while nobody else does anything about it.
func (v *Evaluate) changed(ctx context.Context, project domain.ProjectID, id uuid.UUID, do func() (*evaluation.Run, error)) (run *evaluation.Run, err error) {
	err = v.Exclusive(ctx, project, id, func() (err error) {
		run, err = do()
		return err
	})
	return run, err
}
