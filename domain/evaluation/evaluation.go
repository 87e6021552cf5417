// Package evaluation holds the nouns and rules of evaluations: a run says what
// is done over what, in steps; a scenario is one row of it; a result is what a
// step gave for a scenario and repeat, and names the trace it left; metrics
// sum results up; a queue deals scenarios out to people. Here: their wire
// form, which runs may be changed and how their status goes on, what makes
// steps sound, whose turn a scenario is.
//
// Not here: SQL (write/registry/evaluations and read/entities/runs, the callers),
// bodies (the api packages), who runs anything (write/evaluate). Source: contract §5.8.
package evaluation

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain/entity"
	"colonnade/domain/trace"
)

// Version is that of the form in which runs and their parts are written down.
// Clients send and expect it; there is one. Source: contract §6.
const Version = "2025-07-14"

// Record is what a run and each of its parts have.
type Record struct {
	ID   uuid.UUID       `json:"id"`
	Tags entity.Document `json:"tags,omitzero"`
	Meta entity.Document `json:"meta,omitzero"`

	CreatedAt time.Time `json:"created_at"`
	// UpdatedAt is nil until the first change.
	UpdatedAt   *time.Time `json:"updated_at,omitempty"`
	CreatedByID uuid.UUID  `json:"created_by_id"`
	UpdatedByID *uuid.UUID `json:"updated_by_id,omitempty"`

	// Version is always the constant Version.
	Version string `json:"version"`
}

// Run is an evaluation: steps over inputs, and how far they got.
type Run struct {
	Record
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	Flags       Flags   `json:"flags"`
	Status      Status  `json:"status"`
	// Data is nil for a run without steps.
	Data *Data `json:"data,omitempty"`
}

// Closed reports whether the run and its parts may not be changed.
func (r *Run) Closed() bool { return r.Flags[IsClosed] }

// When is the stretch of time that a part is about, in a run that goes on over
// fresh traces; the zero When in all others.
type When struct {
	// Interval is in minutes, Timestamp its start.
	Interval  *int       `json:"interval,omitempty"`
	Timestamp *time.Time `json:"timestamp,omitempty"`
}

// Scenario is one row of a run: a test case, or a trace.
type Scenario struct {
	Record
	When
	Flags  entity.Document `json:"flags,omitzero"`
	Status Status          `json:"status"`
	RunID  uuid.UUID       `json:"run_id"`
	// Links lead to the traces that the scenario's results name, in the order
	// of steps by key and repeats; only reads fill them in. Source: interface.md §1.
	Links []Link `json:"links,omitempty"`
}

// Link leads from a scenario to a trace of one of its results.
type Link struct {
	TraceID trace.TraceID `json:"trace_id"`
	// SpanID is zero where the result does not name one.
	SpanID     trace.SpanID   `json:"span_id,omitzero"`
	Attributes LinkAttributes `json:"attributes"`
}

// LinkAttributes say which result a link is of.
type LinkAttributes struct {
	// Key is the step's.
	Key       string `json:"key"`
	RepeatIdx int    `json:"repeat_idx"`
}

// Result is what one step gave for one scenario and repeat. There is one for
// each: setting it again replaces it.
type Result struct {
	Record
	When
	Flags  entity.Document `json:"flags,omitzero"`
	Status Status          `json:"status"`

	RunID      uuid.UUID `json:"run_id"`
	ScenarioID uuid.UUID `json:"scenario_id"`
	StepKey    string    `json:"step_key"`
	RepeatIdx  int       `json:"repeat_idx"`

	// HashID names what was computed from what, so that a run may take it over from another one.
	HashID *uuid.UUID `json:"hash_id,omitempty"`
	// TraceID is the trace of the step's invocation or annotation, SpanID the
	// span in it that others link to; zero where there is none (yet).
	TraceID    trace.TraceID `json:"trace_id,omitzero"`
	SpanID     trace.SpanID  `json:"span_id,omitzero"`
	TestcaseID *uuid.UUID    `json:"testcase_id,omitempty"`
	// Error says why there is no trace, in whatever form; nil without one.
	Error entity.Document `json:"error,omitzero"`
}

// Metrics sum up results: {<step key>: {<path>: metric as of analytics}}.
// Source: contract §3.6, §5.8.
type Metrics struct {
	Record
	When
	Flags      entity.Document `json:"flags,omitzero"`
	Status     Status          `json:"status"`
	RunID      uuid.UUID       `json:"run_id"`
	ScenarioID *uuid.UUID      `json:"scenario_id,omitempty"`
	Data       entity.Document `json:"data,omitzero"`
}

// Queue deals the scenarios of a run out to people.
type Queue struct {
	Record
	Name        *string    `json:"name,omitempty"`
	Description *string    `json:"description,omitempty"`
	Flags       Flags      `json:"flags"`
	Status      Status     `json:"status"`
	RunID       uuid.UUID  `json:"run_id"`
	Data        *QueueData `json:"data,omitempty"`
	// DeletedAt is nil until the queue is archived.
	DeletedAt *time.Time `json:"deleted_at,omitempty"`
}
