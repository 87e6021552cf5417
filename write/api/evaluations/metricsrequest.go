package evaluations

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
)

type (
	metricsCreationBody struct {
		partBody
		whenBody
		ScenarioID *uuid.UUID      `json:"scenario_id"`
		Data       entity.Document `json:"data"`
	}
	metricsCreation struct {
		Metrics []metricsCreationBody `json:"metrics" request:"required"`
	}
	metricsEditionBody struct {
		partBody
		upsertBody
		ScenarioID *uuid.UUID      `json:"scenario_id"`
		Data       entity.Document `json:"data"`
	}
	metricsEdition struct {
		Metrics []metricsEditionBody `json:"metrics" request:"required"`
	}
	metricsIDs struct {
		IDs []uuid.UUID `json:"metrics_ids" request:"required"`
	}
)

func (b metricsCreation) drafts() ([]evaluation.MetricsDraft, error) {
	return ofEach(b.Metrics, func(i int, m metricsCreationBody) (evaluation.MetricsDraft, error) {
		part, err := m.at(m.whenBody, "body", "metrics", i)
		return evaluation.MetricsDraft{PartDraft: part, ScenarioID: m.ScenarioID, Data: m.Data}, err
	})
}

func (b metricsEdition) drafts() ([]evaluation.MetricsDraft, error) {
	return ofEach(b.Metrics, func(i int, m metricsEditionBody) (evaluation.MetricsDraft, error) {
		part, err := m.upserted(m.upsertBody, "body", "metrics", i)
		return evaluation.MetricsDraft{PartDraft: part, ScenarioID: m.ScenarioID, Data: m.Data}, err
	})
}

// metricsRefresh says what metrics are computed again of.
type metricsRefresh struct {
	Metrics struct {
		RunID       *uuid.UUID  `json:"run_id"`
		RunIDs      []uuid.UUID `json:"run_ids"`
		ScenarioID  *uuid.UUID  `json:"scenario_id"`
		ScenarioIDs []uuid.UUID `json:"scenario_ids"`
		Interval    *int32      `json:"interval"`
		Timestamp   *time.Time  `json:"timestamp"`
		Timestamps  []time.Time `json:"timestamps"`
	} `json:"metrics" request:"required"`
}

func (b metricsRefresh) refresh() (evaluation.Refresh, error) {
	m := b.Metrics
	q := evaluation.Refresh{RunIDs: m.RunIDs, ScenarioIDs: m.ScenarioIDs, Interval: whole(m.Interval)}
	if m.RunID != nil {
		q.RunIDs = append(q.RunIDs, *m.RunID)
	}
	if m.ScenarioID != nil {
		q.ScenarioIDs = append(q.ScenarioIDs, *m.ScenarioID)
	}
	if m.Timestamp != nil {
		m.Timestamps = append(m.Timestamps, *m.Timestamp)
	}
	for _, t := range m.Timestamps {
		q.Timestamps = append(q.Timestamps, t.UTC().Truncate(time.Microsecond))
	}
	switch {
	case len(q.RunIDs) == 0 && len(q.ScenarioIDs)+len(q.Timestamps) > 0:
		return q, request.Invalid("missing", "Field required", nil, "body", "metrics", "run_id")
	case len(q.ScenarioIDs) > 0 && len(q.Timestamps) > 0:
		return q, request.Invalid("value_error", "Metrics are of scenarios or of timestamps, not of both", nil, "body", "metrics", "timestamps")
	case q.Interval != nil && *q.Interval < 1:
		return q, request.Invalid("greater_than_equal", "Input should be greater than or equal to 1", *q.Interval, "body", "metrics", "interval")
	default:
		return q, nil
	}
}

// queueBody is a queue.
type queueBody struct {
	recordBody
	Name        *string                    `json:"name"`
	Description *string                    `json:"description"`
	Flags       evaluation.GivenQueueFlags `json:"flags"`
	Data        *evaluation.QueueData      `json:"data"`
}

func (b queueBody) draft(id, run uuid.UUID, loc ...any) (evaluation.QueueDraft, error) {
	d := evaluation.QueueDraft{RecordDraft: b.recordBody.draft(id), Name: b.Name, Description: b.Description, Flags: b.Flags.Flags(), RunID: run, Data: b.Data}
	if b.Data == nil {
		return d, nil
	}
	return d, b.Data.Check(append(loc, "data")...)
}

type (
	queueCreationBody struct {
		queueBody
		ID    json.RawMessage `json:"id"`
		RunID uuid.UUID       `json:"run_id" request:"required"`
	}
	queuesCreation struct {
		Queues []queueCreationBody `json:"queues" request:"required"`
	}
	queueEditionBody struct {
		queueBody
		ID    uuid.UUID       `json:"id" request:"required"`
		RunID json.RawMessage `json:"run_id"`
	}
	queueEdition struct {
		Queue queueEditionBody `json:"queue" request:"required"`
	}
	queuesEdition struct {
		Queues []queueEditionBody `json:"queues" request:"required"`
	}
	queueIDs struct {
		IDs []uuid.UUID `json:"queue_ids" request:"required"`
	}
)

func (b queuesCreation) drafts() ([]evaluation.QueueDraft, error) {
	return ofEach(b.Queues, func(i int, q queueCreationBody) (evaluation.QueueDraft, error) {
		return q.draft(uuid.Nil, q.RunID, "body", "queues", i)
	})
}

func (b queuesEdition) drafts() ([]evaluation.QueueDraft, error) {
	return ofEach(b.Queues, func(i int, q queueEditionBody) (evaluation.QueueDraft, error) {
		return q.draft(q.ID, uuid.Nil, "body", "queues", i)
	})
}

func (b queueEdition) draft() (evaluation.QueueDraft, error) {
	return b.Queue.draft(b.Queue.ID, uuid.Nil, "body", "queue")
}
