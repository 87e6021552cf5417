package runs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

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
	// Schema is the JSON Schema of the outputs; nil where nobody said one.
	Schema any
}

// Measure makes metrics of traces, by their paths: what the analytics of the
// read wing make of the roots of these traces. Nothing of nothing.
type Measure func(ctx context.Context, project domain.ProjectID, of StepTraces) (map[string]any, error)

// Wait waits until traces that were just written can be measured, and gives
// what is still not visible after the bound.
func (r *Runs) Wait(ctx context.Context, token domain.Token) (domain.Token, error) {
	if r.spans.Wait == nil || len(token) == 0 {
		return nil, nil
	}
	return r.spans.Wait(ctx, token)
}

// RefreshMetrics computes metrics again from the traces that results name, and
// sets them. Runs without a trace get none. Runs of other projects, and
// scenarios of other runs, are as good as missing: they are left out.
func (r *Runs) RefreshMetrics(ctx context.Context, caller domain.Principal, q evaluation.Refresh) ([]evaluation.Metrics, error) {
	if r.spans.Measure == nil {
		return nil, domain.E(domain.Unavailable, "Metrics are made of spans, which this process does not read.")
	}
	if n := len(q.RunIDs) + len(q.ScenarioIDs) + len(q.Timestamps); n > MaxMany {
		return nil, domain.E(domain.Rejected, "At most %d metrics can be refreshed at once.", MaxMany)
	}
	var drafts []evaluation.MetricsDraft
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
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	return r.SetMetrics(ctx, caller, drafts)
}

// measured computes the metrics of one run.
func (r *Runs) measured(ctx context.Context, project domain.ProjectID, run *evaluation.Run, q evaluation.Refresh) ([]evaluation.MetricsDraft, error) {
	steps, err := r.steps(ctx, project, run)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	var places []place
	switch {
	case len(q.ScenarioIDs) > 0:
		for _, id := range distinct(q.ScenarioIDs) {
			places = append(places, place{scenario: &id})
		}
	case len(q.Timestamps) > 0:
		for _, t := range q.Timestamps {
			places = append(places, place{timestamp: &t, interval: q.Interval})
		}
	default:
		places = []place{{}}
	}
	var drafts []evaluation.MetricsDraft
	for _, p := range places {
		data, err := r.at(ctx, project, run.ID, p, steps)
		if err != nil {
			return nil, err
		}
		if len(data) > 0 {
			drafts = append(drafts, evaluation.MetricsDraft{
				PartDraft:  evaluation.PartDraft{RunID: run.ID, When: evaluation.When{Interval: p.interval, Timestamp: p.timestamp}, RecordDraft: evaluation.RecordDraft{Status: evaluation.Success}},
				ScenarioID: p.scenario, Data: data,
			})
		}
	}
	return drafts, nil
}

// place is what metrics are of; the zero place is the run as a whole.
type place struct {
	scenario  *uuid.UUID
	interval  *int
	timestamp *time.Time
}

const selectTraces = `
SELECT ` + schema.ResultColumns + ` FROM evaluation_results e
WHERE e.project_id = $1 AND e.run_id = $2 AND e.trace_id IS NOT NULL
	AND ($3::uuid IS NULL OR e.scenario_id = $3) AND ($4::timestamptz IS NULL OR e."timestamp" = $4) AND ($5::int IS NULL OR e."interval" = $5)
ORDER BY e.step_key, e.id`

// at measures the steps at one place.
func (r *Runs) at(ctx context.Context, project domain.ProjectID, run uuid.UUID, p place, steps map[string]StepTraces) (entity.Document, error) {
	found, err := look[evaluation.Result](ctx, r, "reading results", selectTraces, uuid.UUID(project), run, p.scenario, p.timestamp, p.interval)
	if err != nil {
		return nil, err
	}
	traces := map[string][]trace.TraceID{}
	seen := map[string]bool{}
	for _, result := range found {
		if once := result.StepKey + " " + result.TraceID.String(); !seen[once] {
			seen[once] = true
			traces[result.StepKey] = append(traces[result.StepKey], result.TraceID)
		}
	}
	data := entity.Document{}
	for key, step := range steps {
		step.Traces = traces[key]
		if len(step.Traces) == 0 {
			continue
		}
		metrics, err := r.spans.Measure(ctx, project, step)
		if err != nil {
			return nil, err
		}
		if len(metrics) > 0 {
			data[key] = metrics
		}
	}
	return data, nil
}

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
	found, ok, err := r.registry.FindRevision(ctx, project, entity.Evaluators(), ref)
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
