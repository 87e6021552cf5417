// Package evaluate runs evaluations: applications over testcases or stored
// traces, and evaluators over what they said. Here: the batch that its caller
// waits for (batch.go), and how one cell of a run is invoked (hand.go).
//
// Not here: how a revision is run and its trace made (write/invoke), bodies
// (write/api, the caller). Source: interface.md §1, contract §5.8.
package evaluate

import (
	"errors"
	"fmt"
	"time"

	"colonnade/write/invoke"
)

// Config bounds what one run may ask for.
type Config struct {
	// MaxTestcases and MaxEvaluators bound a batch, and together what it leaves behind.
	MaxTestcases  int
	MaxEvaluators int
	// MaxConcurrency is how many invocations of a run may be under way at a time.
	MaxConcurrency int
	// Timeout ends a batch; what is done by then stays.
	Timeout time.Duration
}

// DefaultConfig suits evaluations of some hundred testcases.
func DefaultConfig() Config {
	return Config{MaxTestcases: 1000, MaxEvaluators: 20, MaxConcurrency: 16, Timeout: 30 * time.Minute}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	if c.MaxTestcases < 1 || c.MaxEvaluators < 1 || c.MaxConcurrency < 1 || c.Timeout <= 0 {
		return errors.New("max_testcases, max_evaluators, max_concurrency, timeout: must be positive")
	}
	return nil
}

// Deps are what evaluations need from outside.
type Deps struct {
	// Invoke runs revisions.
	Invoke *invoke.Invoke
}

// Evaluate runs evaluations. It is safe for concurrent use.
type Evaluate struct {
	cfg  Config
	deps Deps
}

// New makes the room; nothing runs before the first call.
func New(cfg Config, deps Deps) (*Evaluate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	return &Evaluate{cfg: cfg, deps: deps}, nil
}
