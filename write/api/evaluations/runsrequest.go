package evaluations

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
	"colonnade/domain/trace"
)

// recordBody is what bodies may say of runs and of all their parts. Members
// that only the service sets are taken, so that what was read can be sent back.
type recordBody struct {
	Tags   entity.Document   `json:"tags"`
	Meta   entity.Document   `json:"meta"`
	Status evaluation.Status `json:"status"`

	Version     json.RawMessage `json:"version"`
	CreatedAt   json.RawMessage `json:"created_at"`
	UpdatedAt   json.RawMessage `json:"updated_at"`
	DeletedAt   json.RawMessage `json:"deleted_at"`
	CreatedByID json.RawMessage `json:"created_by_id"`
	UpdatedByID json.RawMessage `json:"updated_by_id"`
	DeletedByID json.RawMessage `json:"deleted_by_id"`
}

func (b recordBody) draft(id uuid.UUID) evaluation.RecordDraft {
	return evaluation.RecordDraft{ID: id, Tags: b.Tags, Meta: b.Meta, Status: b.Status}
}

// ofEach makes a draft of each body.
func ofEach[B, D any](bodies []B, draft func(i int, b B) (D, error)) ([]D, error) {
	out := make([]D, len(bodies))
	for i, b := range bodies {
		d, err := draft(i, b)
		if err != nil {
			return nil, err
		}
		out[i] = d
	}
	return out, nil
}

// runBody is a run; jit beside it is what older clients send and means nothing here.
type runBody struct {
	recordBody
	Name        *string                  `json:"name"`
	Description *string                  `json:"description"`
	Flags       evaluation.GivenRunFlags `json:"flags"`
	Data        *evaluation.Data         `json:"data"`
}

func (b runBody) draft(id uuid.UUID, loc ...any) (evaluation.RunDraft, error) {
	d := evaluation.RunDraft{RecordDraft: b.recordBody.draft(id), Name: b.Name, Description: b.Description, Flags: b.Flags.Flags(), Data: b.Data}
	if b.Data == nil {
		return d, nil
	}
	return d, b.Data.Check(append(loc, "data")...)
}

type (
	runCreationBody struct {
		runBody
		ID json.RawMessage `json:"id"`
	}
	runsCreation struct {
		Runs []runCreationBody `json:"runs" request:"required"`
		Jit  json.RawMessage   `json:"jit"`
	}
	runEditionBody struct {
		runBody
		ID uuid.UUID `json:"id" request:"required"`
	}
	runEdition struct {
		Run runEditionBody  `json:"run" request:"required"`
		Jit json.RawMessage `json:"jit"`
	}
	runsEdition struct {
		Runs []runEditionBody `json:"runs" request:"required"`
		Jit  json.RawMessage  `json:"jit"`
	}
	runIDs struct {
		IDs []uuid.UUID `json:"run_ids" request:"required"`
	}
)

func (b runsCreation) drafts() ([]evaluation.RunDraft, error) {
	return ofEach(b.Runs, func(i int, r runCreationBody) (evaluation.RunDraft, error) {
		return r.draft(uuid.Nil, "body", "runs", i)
	})
}

func (b runsEdition) drafts() ([]evaluation.RunDraft, error) {
	return ofEach(b.Runs, func(i int, r runEditionBody) (evaluation.RunDraft, error) { return r.draft(r.ID, "body", "runs", i) })
}

func (b runEdition) draft() (evaluation.RunDraft, error) { return b.Run.draft(b.Run.ID, "body", "run") }

// partBody is what scenarios, results and metrics have in common.
type partBody struct {
	recordBody
	Flags entity.Document `json:"flags"`
}

// whenBody is the time that a part is about, given when it is made.
type whenBody struct {
	ID        json.RawMessage `json:"id"`
	RunID     uuid.UUID       `json:"run_id" request:"required"`
	Interval  *int32          `json:"interval"`
	Timestamp *time.Time      `json:"timestamp"`
}

// placedBody is an edited part: where it stands is taken and stays.
type placedBody struct {
	ID        uuid.UUID       `json:"id" request:"required"`
	RunID     json.RawMessage `json:"run_id"`
	Interval  json.RawMessage `json:"interval"`
	Timestamp json.RawMessage `json:"timestamp"`
}

// upsertBody places a part that a PUT or PATCH of many names: by its id, or by its run and what
// else makes it one, as when it is made. Source: contract §5.8.
type upsertBody struct {
	ID        uuid.UUID  `json:"id"`
	RunID     uuid.UUID  `json:"run_id"`
	Interval  *int32     `json:"interval"`
	Timestamp *time.Time `json:"timestamp"`
}

// upserted returns the draft of a part; its location stays as it is if an id names the part.
func (b partBody) upserted(w upsertBody, loc ...any) (evaluation.PartDraft, error) {
	if w.ID != uuid.Nil {
		return b.part(w.ID), nil
	}
	if w.RunID == uuid.Nil {
		return evaluation.PartDraft{}, request.Invalid("missing", "Field required", nil, append(loc, "run_id")...)
	}
	return b.at(whenBody{RunID: w.RunID, Interval: w.Interval, Timestamp: w.Timestamp}, loc...)
}

// whole is a number that the store's column holds.
func whole(n *int32) *int {
	if n == nil {
		return nil
	}
	out := int(*n)
	return &out
}

func (b partBody) part(id uuid.UUID) evaluation.PartDraft {
	return evaluation.PartDraft{RecordDraft: b.draft(id), Flags: b.Flags}
}

func (b partBody) at(w whenBody, loc ...any) (evaluation.PartDraft, error) {
	d := b.part(uuid.Nil)
	d.RunID, d.Interval = w.RunID, whole(w.Interval)
	if w.Timestamp != nil {
		t := w.Timestamp.UTC().Truncate(time.Microsecond)
		d.Timestamp = &t
	}
	if w.Interval != nil && *w.Interval < 1 {
		return d, request.Invalid("greater_than_equal", "Input should be greater than or equal to 1", *w.Interval, append(loc, "interval")...)
	}
	return d, nil
}

type (
	scenarioCreationBody struct {
		partBody
		whenBody
	}
	scenariosCreation struct {
		Scenarios []scenarioCreationBody `json:"scenarios" request:"required"`
	}
	scenarioEditionBody struct {
		partBody
		placedBody
		Links json.RawMessage `json:"links"`
	}
	scenarioEdition struct {
		Scenario scenarioEditionBody `json:"scenario" request:"required"`
	}
	scenariosEdition struct {
		Scenarios []scenarioEditionBody `json:"scenarios" request:"required"`
	}
	scenarioIDs struct {
		IDs []uuid.UUID `json:"scenario_ids" request:"required"`
	}
)

func (b scenariosCreation) drafts() ([]evaluation.ScenarioDraft, error) {
	return ofEach(b.Scenarios, func(i int, s scenarioCreationBody) (evaluation.ScenarioDraft, error) {
		part, err := s.at(s.whenBody, "body", "scenarios", i)
		return evaluation.ScenarioDraft{PartDraft: part}, err
	})
}

func (b scenarioEditionBody) edition() (evaluation.ScenarioDraft, error) {
	return evaluation.ScenarioDraft{PartDraft: b.part(b.ID)}, nil
}

func (b scenariosEdition) drafts() ([]evaluation.ScenarioDraft, error) {
	return ofEach(b.Scenarios, func(_ int, s scenarioEditionBody) (evaluation.ScenarioDraft, error) { return s.edition() })
}

func (b scenarioEdition) draft() (evaluation.ScenarioDraft, error) { return b.Scenario.edition() }

// foundBody is what a result found.
type foundBody struct {
	HashID     *uuid.UUID      `json:"hash_id"`
	TraceID    *trace.TraceID  `json:"trace_id"`
	SpanID     *trace.SpanID   `json:"span_id"`
	TestcaseID *uuid.UUID      `json:"testcase_id"`
	Error      entity.Document `json:"error"`
}

func (b foundBody) into(d *evaluation.ResultDraft) {
	d.HashID, d.TestcaseID, d.Error = b.HashID, b.TestcaseID, b.Error
	if b.TraceID != nil {
		d.TraceID = *b.TraceID
	}
	if b.SpanID != nil {
		d.SpanID = *b.SpanID
	}
}

type (
	resultCreationBody struct {
		partBody
		whenBody
		foundBody
		ScenarioID uuid.UUID `json:"scenario_id" request:"required"`
		StepKey    string    `json:"step_key" request:"required"`
		RepeatIdx  *int      `json:"repeat_idx"`
	}
	resultsCreation struct {
		Results []resultCreationBody `json:"results" request:"required"`
	}
	resultEditionBody struct {
		partBody
		placedBody
		foundBody
		ScenarioID json.RawMessage `json:"scenario_id"`
		StepKey    json.RawMessage `json:"step_key"`
		RepeatIdx  json.RawMessage `json:"repeat_idx"`
	}
	resultEdition struct {
		Result resultEditionBody `json:"result" request:"required"`
	}
	resultUpsertBody struct {
		partBody
		upsertBody
		foundBody
		ScenarioID uuid.UUID `json:"scenario_id"`
		StepKey    string    `json:"step_key"`
		RepeatIdx  *int      `json:"repeat_idx"`
	}
	resultsEdition struct {
		Results []resultUpsertBody `json:"results" request:"required"`
	}
	resultIDs struct {
		IDs []uuid.UUID `json:"result_ids" request:"required"`
	}
)

func (b resultsCreation) drafts() ([]evaluation.ResultDraft, error) {
	return ofEach(b.Results, func(i int, r resultCreationBody) (evaluation.ResultDraft, error) {
		part, err := r.at(r.whenBody, "body", "results", i)
		if err != nil {
			return evaluation.ResultDraft{}, err
		}
		return r.placed(part, r.ScenarioID, r.StepKey, r.RepeatIdx, "body", "results", i)
	})
}

// placed returns the draft of a result at its scenario, step and repeat.
func (b foundBody) placed(part evaluation.PartDraft, scenario uuid.UUID, step string, repeat *int, loc ...any) (evaluation.ResultDraft, error) {
	d := evaluation.ResultDraft{PartDraft: part, ScenarioID: scenario, StepKey: step}
	b.into(&d)
	switch {
	case step == "":
		return d, request.Invalid("string_too_short", "String should have at least 1 character", step, append(loc, "step_key")...)
	case repeat == nil:
	case *repeat < 0 || *repeat >= evaluation.MaxRepeats:
		return d, request.Invalid("value_error", "A repeat is 0 to 999", *repeat, append(loc, "repeat_idx")...)
	default:
		d.RepeatIdx = *repeat
	}
	return d, nil
}

func (b resultEditionBody) edition() (evaluation.ResultDraft, error) {
	d := evaluation.ResultDraft{PartDraft: b.part(b.ID)}
	b.into(&d)
	return d, nil
}

func (b resultsEdition) drafts() ([]evaluation.ResultDraft, error) {
	return ofEach(b.Results, func(i int, r resultUpsertBody) (evaluation.ResultDraft, error) {
		part, err := r.upserted(r.upsertBody, "body", "results", i)
		switch {
		case err != nil:
			return evaluation.ResultDraft{}, err
		case r.ID != uuid.Nil:
			d := evaluation.ResultDraft{PartDraft: part}
			r.into(&d)
			return d, nil
		case r.ScenarioID == uuid.Nil:
			return evaluation.ResultDraft{}, request.Invalid("missing", "Field required", nil, "body", "results", i, "scenario_id")
		default:
			return r.placed(part, r.ScenarioID, r.StepKey, r.RepeatIdx, "body", "results", i)
		}
	})
}

func (b resultEdition) draft() (evaluation.ResultDraft, error) { return b.Result.edition() }
