package evaluations

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
	"colonnade/domain/trace"
	"colonnade/read/api"
	"colonnade/read/entities/runs"
)

// commonFilter is what all things of evaluations are chosen by. Of a member
// and its plural, either restricts: what one of them names is found.
type commonFilter struct {
	ID       *uuid.UUID          `json:"id"`
	IDs      []uuid.UUID         `json:"ids"`
	Status   *evaluation.Status  `json:"status"`
	Statuses []evaluation.Status `json:"statuses"`
	Tags     entity.Document     `json:"tags"`
	// Meta is an object, or a list of which one must be contained.
	Meta oneOrMany `json:"meta"`
}

func (f commonFilter) common(w *api.Windowing) (runs.Common, error) {
	window, err := w.Page()
	return runs.Common{IDs: joined(f.ID, f.IDs), Statuses: joined(f.Status, f.Statuses), Tags: f.Tags, Metas: f.Meta, Window: window}, err
}

// joined is a list with one more; nil when neither is there.
func joined[T any](one *T, many []T) []T {
	if one != nil {
		return append(many, *one)
	}
	return many
}

// oneOrMany are documents of which one must fit.
type oneOrMany []entity.Document

// UnmarshalJSON reads an object or a list of objects.
func (d *oneOrMany) UnmarshalJSON(text []byte) error {
	var one entity.Document
	if one.UnmarshalJSON(text) == nil {
		*d = oneOrMany{one}
		return nil
	}
	many := []entity.Document{}
	if err := json.Unmarshal(text, &many); err != nil {
		return errors.New("Input should be an object or a list of objects") //nolint:staticcheck // a sentence of the wire
	}
	*d = many
	return nil
}

// listOrFlag is a list of values, or whether there is a value at all.
type listOrFlag[T any] struct {
	list []T
	is   *bool
}

// UnmarshalJSON reads a boolean or a list.
func (l *listOrFlag[T]) UnmarshalJSON(text []byte) error {
	var is bool
	if json.Unmarshal(text, &is) == nil {
		l.is = &is
		return nil
	}
	err := request.Decode(text, &l.list)
	if e, ok := errors.AsType[*domain.Error](err); ok {
		for i := range e.Fields { // the place of the list is its member's to say
			e.Fields[i].Loc = e.Fields[i].Loc[1:]
		}
	}
	return err
}

// partFilter is what parts of runs are chosen by.
type partFilter struct {
	commonFilter
	Flags      entity.Document       `json:"flags"`
	RunID      *uuid.UUID            `json:"run_id"`
	RunIDs     []uuid.UUID           `json:"run_ids"`
	Interval   *int32                `json:"interval"`
	Intervals  []int32               `json:"intervals"`
	Timestamp  *time.Time            `json:"timestamp"`
	Timestamps listOrFlag[time.Time] `json:"timestamps"`
}

func (f partFilter) query(w *api.Windowing) (runs.PartQuery, error) {
	common, err := f.common(w)
	q := runs.PartQuery{
		Common: common, Flags: api.WithoutNulls(f.Flags), RunIDs: joined(f.RunID, f.RunIDs),
		Intervals: joined(f.Interval, f.Intervals), Timestamps: joined(f.Timestamp, f.Timestamps.list),
	}
	return q, err
}

type (
	runFilter struct {
		commonFilter
		Name        string                        `json:"name"`
		Description string                        `json:"description"`
		Flags       evaluation.GivenRunFlags      `json:"flags"`
		References  []map[string]domain.Reference `json:"references"`
	}
	runsQuery struct {
		Run       runFilter       `json:"run"`
		Windowing *api.Windowing  `json:"windowing"`
		Jit       json.RawMessage `json:"jit"`
	}
	scenariosQuery struct {
		Scenario  partFilter     `json:"scenario"`
		Windowing *api.Windowing `json:"windowing"`
	}
	resultFilter struct {
		partFilter
		ScenarioID  *uuid.UUID      `json:"scenario_id"`
		ScenarioIDs []uuid.UUID     `json:"scenario_ids"`
		StepKey     *string         `json:"step_key"`
		StepKeys    []string        `json:"step_keys"`
		RepeatIdx   *int32          `json:"repeat_idx"`
		RepeatIdxs  []int32         `json:"repeat_idxs"`
		TraceID     *trace.TraceID  `json:"trace_id"`
		TraceIDs    []trace.TraceID `json:"trace_ids"`
		TestcaseID  *uuid.UUID      `json:"testcase_id"`
		TestcaseIDs []uuid.UUID     `json:"testcase_ids"`
	}
	resultsQuery struct {
		Result    resultFilter   `json:"result"`
		Windowing *api.Windowing `json:"windowing"`
	}
	metricsFilter struct {
		partFilter
		ScenarioID  *uuid.UUID            `json:"scenario_id"`
		ScenarioIDs listOrFlag[uuid.UUID] `json:"scenario_ids"`
	}
	// metricsQuery may have its filter under metric as well: older clients do.
	metricsQuery struct {
		Metrics   *metricsFilter `json:"metrics"`
		Metric    *metricsFilter `json:"metric"`
		Windowing *api.Windowing `json:"windowing"`
	}
	queueFilter struct {
		commonFilter
		Name        string                     `json:"name"`
		Description string                     `json:"description"`
		Flags       evaluation.GivenQueueFlags `json:"flags"`
		RunID       *uuid.UUID                 `json:"run_id"`
		RunIDs      []uuid.UUID                `json:"run_ids"`
		UserID      *uuid.UUID                 `json:"user_id"`
		UserIDs     []uuid.UUID                `json:"user_ids"`
		// IncludeArchived shows default queues of runs that ask nobody any more as well.
		IncludeArchived bool `json:"include_archived"`
	}
	queuesQuery struct {
		Queue     queueFilter    `json:"queue"`
		Windowing *api.Windowing `json:"windowing"`
	}
	queueScenariosQuery struct {
		Queue struct {
			ID      *uuid.UUID  `json:"id"`
			UserID  *uuid.UUID  `json:"user_id"`
			UserIDs []uuid.UUID `json:"user_ids"`
		} `json:"queue"`
		Scenario  partFilter     `json:"scenario"`
		Windowing *api.Windowing `json:"windowing"`
	}
)

func (b runsQuery) query() (runs.RunQuery, error) {
	f := b.Run
	common, err := f.common(b.Windowing)
	for i, refs := range f.References {
		for name, ref := range refs {
			if ref.IsZero() {
				return runs.RunQuery{}, request.Invalid("missing", "A reference needs an id, a slug or a version", nil, "body", "run", "references", i, name)
			}
		}
	}
	return runs.RunQuery{Common: common, Name: f.Name, Description: f.Description, Flags: f.Flags.Flags(), References: f.References}, err
}

func (b resultsQuery) query() (runs.ResultQuery, error) {
	f := b.Result
	part, err := f.query(b.Windowing)
	return runs.ResultQuery{
		PartQuery: part, ScenarioIDs: joined(f.ScenarioID, f.ScenarioIDs), StepKeys: joined(f.StepKey, f.StepKeys), RepeatIdxs: joined(f.RepeatIdx, f.RepeatIdxs),
		TraceIDs: joined(f.TraceID, f.TraceIDs), TestcaseIDs: joined(f.TestcaseID, f.TestcaseIDs),
	}, err
}

func (b metricsQuery) query() (runs.MetricsQuery, error) {
	f := b.Metrics
	switch {
	case f == nil:
		f = b.Metric
	case b.Metric != nil:
		return runs.MetricsQuery{}, domain.E(domain.Rejected, "Give metrics or metric, not both.")
	}
	if f == nil {
		f = &metricsFilter{}
	}
	part, err := f.query(b.Windowing)
	return runs.MetricsQuery{
		PartQuery: part, ScenarioIDs: joined(f.ScenarioID, f.ScenarioIDs.list), OfScenarios: f.ScenarioIDs.is, OfTimestamps: f.Timestamps.is,
	}, err
}

func (b queuesQuery) query() (runs.QueueQuery, error) {
	f := b.Queue
	common, err := f.common(b.Windowing)
	return runs.QueueQuery{
		Common: common, Name: f.Name, Description: f.Description, Flags: f.Flags.Flags(), RunIDs: joined(f.RunID, f.RunIDs), UserIDs: joined(f.UserID, f.UserIDs), Archived: f.IncludeArchived,
	}, err
}
