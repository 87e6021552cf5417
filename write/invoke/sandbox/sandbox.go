// Package sandbox runs what must be stoppable: code of revisions, and
// templates that loop. Each run has a process of its own, a child of the same
// executable that the kernel limits in processor time, memory and open files
// and that is killed when its time is up, so that nothing which the code does
// to its process reaches ours. JavaScript runs in an engine that has neither
// files, nor network, nor timers; Python runs only when the deployment
// configures an interpreter.
//
// Not here: what a result means, and whose code it is (write/invoke, the
// caller). A main, and a TestMain of tests that need children, calls Child
// before anything else.
package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/slot"
	"colonnade/write/invoke/template"
)

// Deps are what the room needs from outside.
type Deps struct {
	// Executable is the program whose main calls Child; empty means this one.
	Executable string
	Now        func() time.Time
	Registerer prometheus.Registerer
}

// Sandbox runs code. It is safe for concurrent use, inert until the first run,
// and a resource: Close kills what runs.
type Sandbox struct {
	cfg     Config
	exe     string
	now     func() time.Time
	metrics *metrics
	slots   *slot.Pool

	mu     sync.Mutex
	spare  *child // started ahead, so that a run does not wait for a process to start
	closed bool
	alive  sync.WaitGroup
	kill   context.CancelFunc
	life   context.Context // the children's: it ends with Close, not with a request
}

// New makes an inert room.
func New(cfg Config, deps Deps) (*Sandbox, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	exe := deps.Executable
	if exe == "" {
		exe = self
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{cfg: cfg, exe: exe, now: deps.Now, metrics: m, slots: slot.New(slot.Config{Count: cfg.Concurrency, WaitTimeout: cfg.Timeout}, "runs of code", deps.Now)}
	s.life, s.kill = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all children and waits for them.
func (s *Sandbox) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.kill()
	s.alive.Wait()
}

// DefaultRuntime is what code is taken for that does not say: Python where the
// deployment runs it, as the reference has it, else JavaScript.
func (s *Sandbox) DefaultRuntime() string {
	if len(s.cfg.Python) > 0 {
		return kindPython
	}
	return kindJavaScript
}

// Call names a function that the code may define, with its arguments.
type Call struct {
	Function string `json:"function"`
	Args     []any  `json:"args"`
}

// Code is a program and how to call it: the first of Calls whose function it
// defines is called, and its result, a value of JSON, is the answer.
type Code struct {
	// Runtime is "javascript" or "python".
	Runtime string
	Source  string
	Calls   []Call
}

// Result is what code answered.
type Result struct {
	// Function is the one that was called.
	Function string
	// Value is canonical JSON.
	Value any
}

// Run runs code to its end. What the code does wrong, and a limit that it
// passes, is domain.Rejected with a sentence for its author; a sandbox without
// a free slot is domain.TooMany.
func (s *Sandbox) Run(ctx context.Context, code Code) (Result, error) {
	job := job{Source: code.Source, Calls: code.Calls}
	switch code.Runtime {
	case "javascript":
		job.Kind = kindJavaScript
	case "python":
		if len(s.cfg.Python) == 0 {
			return Result{}, domain.E(domain.Rejected, "this deployment does not run Python: no interpreter is configured")
		}
		job.Kind = kindPython
	default:
		return Result{}, domain.E(domain.Rejected, "this deployment does not run %q: the runtimes are javascript and, where an interpreter is configured, python", code.Runtime)
	}
	answer, err := s.do(ctx, job)
	if err != nil {
		return Result{}, err
	}
	value, err := jsonvalue.Parse(answer.Value)
	if err != nil {
		return Result{}, domain.Wrap(domain.Rejected, err, "the code's result is no JSON: %s", err)
	}
	return Result{Function: answer.Function, Value: value}, nil
}

// Render fills templates, in this process where they are linear and in a child
// where they can loop. Errors are those of template.Render, and those of Run
// for a template that does not end.
func (s *Sandbox) Render(ctx context.Context, format template.Format, texts []string, vars map[string]any) ([]string, error) {
	linear := true
	for _, text := range texts {
		linear = linear && template.Linear(format, text)
	}
	if !linear {
		answer, err := s.do(ctx, job{Kind: kindRender, Format: format, Texts: texts, Vars: vars})
		if err != nil {
			return nil, err
		}
		return answer.Texts, nil
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = template.Render(format, text, vars, s.cfg.limits()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// do runs a job in a child.
func (s *Sandbox) do(ctx context.Context, j job) (answer, error) {
	if !limited {
		return answer{}, domain.E(domain.Rejected, "this deployment runs no code: its platform cannot limit the memory of a process")
	}
	j.CPU, j.MemoryBytes = s.cfg.CPU, s.cfg.MemoryBytes
	j.Limits = s.cfg.limits()
	input, err := json.Marshal(j)
	if err != nil {
		return answer{}, fmt.Errorf("sandbox: encoding a job: %w", err)
	}
	if len(input) > s.cfg.MaxInputBytes {
		return answer{}, domain.E(domain.TooLarge, "the code and its input are longer than %d bytes", s.cfg.MaxInputBytes)
	}
	asked := s.now()
	release, err := s.slots.Acquire(ctx, domain.PrincipalFrom(ctx).Project, slot.Long)
	if err != nil {
		return answer{}, fmt.Errorf("sandbox: waiting for a slot: %w", err)
	}
	began := s.now()
	s.metrics.waited.Observe(began.Sub(asked).Seconds())
	s.metrics.under.Inc()
	a, err := s.perform(ctx, j.Kind, input)
	release()
	s.metrics.under.Dec()
	s.metrics.seconds.WithLabelValues(j.Kind).Observe(s.now().Sub(began).Seconds())
	outcome := "ok"
	if err != nil {
		outcome = domain.KindOf(err).String()
	}
	s.metrics.runs.WithLabelValues(j.Kind, outcome).Inc()
	return a, err
}

// perform is a job's way through a child.
func (s *Sandbox) perform(ctx context.Context, kind string, input []byte) (answer, error) {
	c, err := s.take(kind)
	if err != nil {
		return answer{}, err
	}
	output, err := c.run(ctx, input, s.cfg)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(output, &a); err != nil {
		return answer{}, domain.Wrap(domain.Rejected, err, "the code ended without a result")
	}
	if a.Error != nil {
		return answer{}, domain.E(a.Error.Kind, "%s", a.Error.Message)
	}
	return a, nil
}

// Slots returns the pool from which runs take their slots.
func (s *Sandbox) Slots() *slot.Pool { return s.slots }

// take gives a child for one job, and starts the next one ahead.
func (s *Sandbox) take(kind string) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, domain.E(domain.Unavailable, "the service is stopping")
	}
	if kind == kindPython {
		return s.start(append([]string{word, kindPython, s.cfg.memoryWord(), s.cfg.cpuWord()}, s.cfg.Python...))
	}
	c := s.spare
	s.spare = nil
	if c == nil || c.over() {
		var err error
		if c, err = s.start([]string{word}); err != nil {
			return nil, err
		}
	}
	next, err := s.start([]string{word})
	if err == nil {
		s.spare = next
	}
	return c, nil
}
