package evaluations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// StepTraces are the traces that a step left.
type StepTraces struct {
	Traces []trace.TraceID
	// Outputs tells that the outputs are measured as well: those of annotations.
	Outputs bool
	// Schema is the JSON Schema of the outputs; nil without one.
	Schema any
}

// Measure returns the metrics of each lot of traces by their paths, as the
// statistics of the read side compute them from the root spans. A lot without
// stored traces has none.
type Measure func(ctx context.Context, project domain.ProjectID, lots []StepTraces) ([]map[string]any, error)

// Wait waits until traces that were just written can be measured, and gives
// what is still not visible after the bound.
func (r *Runs) Wait(ctx context.Context, token domain.Token) (domain.Token, error) {
	if r.spans.Wait == nil || len(token) == 0 {
		return nil, nil
	}
	return r.spans.Wait(ctx, token)
}

// RefreshMetrics computes metrics again from the traces that results name, and
// sets them. What has no trace (any more) gets none, and those it had go. Runs of other projects, and
// scenarios of other runs, are as good as missing: they are left out.
func (r *Runs) RefreshMetrics(ctx context.Context, caller domain.Principal, q evaluation.Refresh) ([]evaluation.Metrics, error) {
	if r.spans.Measure == nil {
		return nil, domain.E(domain.Unavailable, "Metrics are made of spans, which this process does not read.")
	}
	if n := len(q.RunIDs) + len(q.ScenarioIDs) + len(q.Timestamps); n > MaxMany {
		return nil, domain.E(domain.Rejected, "At most %d metrics can be refreshed at once.", MaxMany)
	}
	var drafts []evaluation.MetricsDraft
	var gone []uuid.UUID
	for _, id := range distinct(q.RunIDs) {
		run, err := r.Run(ctx, caller.Project, id)
		if err != nil {
			return nil, err
		}
		if run == nil {
			continue
		}
		if run.Closed() {
			return nil, evaluation.ClosedConflict(run.ID, "", uuid.Nil)
		}
		of, err := r.measured(ctx, caller.Project, run, q)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, of...)
		old, err := look[evaluation.Metrics](ctx, r, "reading metrics", selectMetrics, uuid.UUID(caller.Project), run.ID, q.ScenarioIDs, q.Timestamps, q.Interval)
		if err != nil {
			return nil, err
		}
		gone = append(gone, unmade(old, of)...)
	}
	for some := range slices.Chunk(gone, MaxMany) {
		if _, err := r.DeleteMetrics(ctx, caller, some); err != nil {
			return nil, err
		}
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	return r.SetMetrics(ctx, caller, drafts)
}

// selectMetrics are those of what a refresh is asked of.
const selectMetrics = `
SELECT ` + schema.MetricsColumns + ` FROM evaluation_metrics e
WHERE e.project_id = $1 AND e.run_id = $2 AND CASE
	WHEN cardinality($3::uuid[]) > 0 THEN e.scenario_id = ANY($3)
	WHEN cardinality($4::timestamptz[]) > 0 THEN e."timestamp" = ANY($4) AND e."interval" IS NOT DISTINCT FROM $5
	ELSE e.scenario_id IS NULL AND e."timestamp" IS NULL END`

// unmade are the metrics of places of which none were made.
func unmade(old []evaluation.Metrics, made []evaluation.MetricsDraft) (gone []uuid.UUID) {
	of := func(scenario *uuid.UUID, timestamp *time.Time) (p place) {
		if scenario != nil {
			p.scenario = *scenario
		}
		if timestamp != nil {
			p.timestamp = timestamp.UTC()
		}
		return p
	}
	has := map[place]bool{}
	for i := range made {
		has[of(made[i].ScenarioID, made[i].Timestamp)] = true
	}
	for i := range old {
		if m := &old[i]; !has[of(m.ScenarioID, m.Timestamp)] {
			gone = append(gone, m.ID)
		}
	}
	return gone
}

// selectChanged are scenarios of which a result is newer than the metrics.
const selectChanged = `
SELECT DISTINCT e.scenario_id FROM evaluation_results e
LEFT JOIN evaluation_metrics m ON m.project_id = e.project_id AND m.run_id = e.run_id AND m.scenario_id = e.scenario_id
WHERE e.project_id = $1 AND e.run_id = $2 AND e.step_key = ANY($3)
	AND CASE WHEN m.id IS NULL THEN e.trace_id IS NOT NULL ELSE coalesce(m.updated_at, m.created_at) < coalesce(e.updated_at, e.created_at) END
ORDER BY e.scenario_id`

// Changed gives the scenarios of a run whose metrics are not those of their
// results, whoever set these.
func (r *Runs) Changed(ctx context.Context, project domain.ProjectID, run *evaluation.Run) (scenarios []uuid.UUID, err error) {
	if run.Data == nil {
		return nil, nil
	}
	var keys []string
	for _, s := range run.Data.Steps {
		if s.Type == evaluation.Invocation || s.Type == evaluation.Annotation {
			keys = append(keys, s.Key)
		}
	}
	err = r.db.Query(ctx, "reading scenarios without metrics", func(rows pgx.Rows, err error) error {
		if err != nil {
			return err
		}
		scenarios, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	}, selectChanged, uuid.UUID(project), run.ID, keys)
	return scenarios, err
}

// measured computes the metrics of one run: the traces of all places and steps
// are measured at once.
func (r *Runs) measured(ctx context.Context, project domain.ProjectID, run *evaluation.Run, q evaluation.Refresh) ([]evaluation.MetricsDraft, error) {
	steps, err := r.steps(ctx, project, run)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	found, err := look[evaluation.Result](ctx, r, "reading results", selectTraces, uuid.UUID(project), run.ID, q.ScenarioIDs, q.Timestamps, q.Interval)
	if err != nil {
		return nil, err
	}
	var cells []cell
	var lots []StepTraces
	at := map[cell]int{}
	seen := map[string]bool{}
	for i := range found {
		step, measured := steps[found[i].StepKey]
		c := cell{placeOf(&found[i], q), found[i].StepKey}
		once := fmt.Sprint(c, found[i].TraceID)
		if !measured || seen[once] {
			continue
		}
		seen[once] = true
		n, known := at[c]
		if !known {
			n = len(lots)
			at[c], cells, lots = n, append(cells, c), append(lots, step)
		}
		lots[n].Traces = append(lots[n].Traces, found[i].TraceID)
	}
	metrics, err := r.spans.Measure(ctx, project, lots)
	if err != nil {
		return nil, err
	}
	return draft(run.ID, q, cells, metrics), nil
}

// place is what metrics are of; the zero place is the run as a whole.
type place struct {
	scenario  uuid.UUID
	timestamp time.Time
}

// cell is a step at a place.
type cell struct {
	place
	step string
}

// placeOf tells which of the metrics asked for a result counts towards.
func placeOf(r *evaluation.Result, q evaluation.Refresh) place {
	switch {
	case len(q.ScenarioIDs) > 0:
		return place{scenario: r.ScenarioID}
	case len(q.Timestamps) > 0 && r.Timestamp != nil:
		return place{timestamp: *r.Timestamp}
	default:
		return place{}
	}
}

// draft puts the metrics of steps together, place by place.
func draft(run uuid.UUID, q evaluation.Refresh, cells []cell, metrics []map[string]any) []evaluation.MetricsDraft {
	var drafts []evaluation.MetricsDraft
	at := map[place]int{}
	for i, c := range cells {
		if len(metrics[i]) == 0 {
			continue
		}
		n, known := at[c.place]
		if !known {
			n = len(drafts)
			at[c.place] = n
			d := evaluation.MetricsDraft{PartDraft: evaluation.PartDraft{RunID: run, RecordDraft: evaluation.RecordDraft{Status: evaluation.Success}}, Data: entity.Document{}}
			if c.scenario != uuid.Nil {
				d.ScenarioID = &c.scenario
			}
			if !c.timestamp.IsZero() {
				d.Timestamp, d.Interval = &c.timestamp, q.Interval
			}
			drafts = append(drafts, d)
		}
		drafts[n].Data[c.step] = metrics[i]
	}
	return drafts
}

// An empty list names nothing in particular.
const selectTraces = `
SELECT ` + schema.ResultColumns + ` FROM evaluation_results e
WHERE e.project_id = $1 AND e.run_id = $2 AND e.trace_id IS NOT NULL
	AND (coalesce(cardinality($3::uuid[]), 0) = 0 OR e.scenario_id = ANY($3)) AND (coalesce(cardinality($4::timestamptz[]), 0) = 0 OR e."timestamp" = ANY($4))
	AND ($5::int IS NULL OR e."interval" = $5)
ORDER BY e.scenario_id, e.step_key, e.repeat_idx`

// steps are those of a run that leave traces of their own, with the schemas of
// evaluators' outputs.
func (r *Runs) steps(ctx context.Context, project domain.ProjectID, run *evaluation.Run) (map[string]StepTraces, error) {
	out := map[string]StepTraces{}
	if run.Data == nil {
		return out, nil
	}
	for _, s := range run.Data.Steps {
		switch s.Type {
		case evaluation.Invocation:
			out[s.Key] = StepTraces{}
		case evaluation.Annotation:
			schema, err := r.outputs(ctx, project, s.References["evaluator_revision"])
			if err != nil {
				return nil, err
			}
			out[s.Key] = StepTraces{Outputs: true, Schema: schema}
		default:
		}
	}
	return out, nil
}

// outputs is the schema of an evaluator revision's outputs; nil without one.
func (r *Runs) outputs(ctx context.Context, project domain.ProjectID, ref domain.Reference) (any, error) {
	if ref.ID == uuid.Nil && ref.Slug == "" {
		return nil, nil //nolint:nilnil // no schema is an answer
	}
	found, ok, err := r.entities.FindRevision(ctx, project, entity.Evaluators(), ref)
	if err != nil || !ok {
		return nil, err
	}
	text, err := json.Marshal(found.Data)
	if err != nil {
		return nil, err
	}
	var data struct {
		Schemas struct {
			Outputs any `json:"outputs"`
		} `json:"schemas"`
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, nil //nolint:nilerr,nilnil // a form of its own has no schema that we know
	}
	return data.Schemas.Outputs, nil
}
