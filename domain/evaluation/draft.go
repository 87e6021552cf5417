package evaluation

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/trace"
)

// A draft is what a caller gives. Making a part takes all of it; editing one
// changes what is given and leaves what is nil, zero or empty.

// RecordDraft is what every draft may hold.
type RecordDraft struct {
	// ID names what is edited. What is made gets an id of its own where this is zero.
	ID         uuid.UUID
	Tags, Meta entity.Document
	// Status is Pending of what is made without one.
	Status Status
}

// Named is the id of what is edited.
func (d RecordDraft) Named() uuid.UUID { return d.ID }

// RunDraft is a run as a caller gives it.
type RunDraft struct {
	RecordDraft
	Name, Description *string
	Flags             Flags
	Data              *Data
	// OwnQueue means that the caller creates the queue of the run, so that it gets no default one.
	OwnQueue bool
}

// PartDraft is what scenarios, results and metrics share. RunID and When place a
// part when it is made and are not edited.
type PartDraft struct {
	RecordDraft
	When
	Flags entity.Document
	RunID uuid.UUID
}

// ScenarioDraft is a scenario as a caller gives it.
type ScenarioDraft struct{ PartDraft }

// ResultDraft is a result as a caller gives it. ScenarioID, StepKey and
// RepeatIdx place it and are not edited.
type ResultDraft struct {
	PartDraft
	ScenarioID uuid.UUID
	StepKey    string
	RepeatIdx  int

	HashID     *uuid.UUID
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	TestcaseID *uuid.UUID
	Error      entity.Document
}

// MetricsDraft are metrics as a caller gives them.
type MetricsDraft struct {
	PartDraft
	ScenarioID *uuid.UUID
	Data       entity.Document
}

// QueueDraft is a queue as a caller gives it. RunID is not edited.
type QueueDraft struct {
	RecordDraft
	Name, Description *string
	Flags             Flags
	RunID             uuid.UUID
	Data              *QueueData
	// WithRun means that the run was made for the queue and goes with it.
	WithRun bool
}

// CheckDefault refuses what a default queue cannot be: it holds all scenarios of its run, for
// everybody, and stays the default one. now are the flags before an edit; nil for a new queue.
func (d QueueDraft) CheckDefault(now Flags) error {
	given, isGiven := d.Flags[IsDefault]
	switch {
	case now[IsDefault] && isGiven && !given:
		return domain.E(domain.Conflict, "A default queue stays the default one; create another queue beside it.")
	case !now[IsDefault] && !given || d.Data == nil:
		return nil
	}
	var wrong problems
	for _, member := range d.Data.restrictions() {
		wrong.add("value_error", "A default queue has no "+member+": it holds all scenarios of its run, for everybody", nil, []any{"body", "queue", "data"}, member)
	}
	return wrong.err()
}

// Refresh asks for metrics to be computed again from the traces that results
// name: of runs as a whole, of scenarios of one run, or of stretches of its time.
type Refresh struct {
	RunIDs      []uuid.UUID
	ScenarioIDs []uuid.UUID
	// Interval is that of the timestamps, in minutes.
	Interval   *int
	Timestamps []time.Time
}

// New makes the record of something new. A status that was not given is Pending.
func (d RecordDraft) New(id, user uuid.UUID, now time.Time) (Record, Status) {
	if d.ID != uuid.Nil {
		id = d.ID
	}
	status := d.Status
	if status == "" {
		status = Pending
	}
	return Record{ID: id, Tags: d.Tags, Meta: d.Meta, CreatedAt: now, CreatedByID: user, Version: Version}, status
}

// ClosedConflict is the refusal to change a closed run, or a part of it: part
// is the member under which the reply names it, empty for the run itself.
// Source: contract §5.8.
func ClosedConflict(run uuid.UUID, part string, id uuid.UUID) error {
	const message = "Cannot modify a closed evaluation."
	detail := map[string]any{"message": message, "run_id": run}
	if part != "" && id != uuid.Nil {
		detail[part] = id
	}
	return &domain.Error{Kind: domain.Conflict, Message: message, Detail: detail}
}

// CheckShape refuses metrics that are both of a scenario and of a time, or of
// an interval without its start.
func (d MetricsDraft) CheckShape() error {
	if d.ScenarioID != nil && d.Timestamp != nil || d.Interval != nil && d.Timestamp == nil && d.ScenarioID == nil {
		return domain.E(domain.Invalid, "Metrics are of a run as a whole, of one scenario_id, or of one timestamp with its interval.")
	}
	return nil
}
