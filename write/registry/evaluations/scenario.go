package evaluations

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
)

const insertScenario = `
INSERT INTO evaluation_scenarios (project_id, run_id, id, flags, tags, meta, status, "interval", "timestamp", created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id`

// AddScenarios adds scenarios to open runs.
func (r *Runs) AddScenarios(ctx context.Context, caller domain.Principal, drafts []evaluation.ScenarioDraft) ([]evaluation.Scenario, error) {
	var made []evaluation.Scenario
	err := r.transact(ctx, caller, "adding scenarios", len(drafts), func(c command) (err error) {
		made, err = c.addScenarios(ctx, drafts)
		return err
	})
	return made, err
}

// AddInputs adds a scenario to an open run for each result, which is that of its
// input: without one nobody would ever carry the scenario out.
func (r *Runs) AddInputs(ctx context.Context, caller domain.Principal, inputs []evaluation.ResultDraft) ([]evaluation.Scenario, error) {
	var made []evaluation.Scenario
	err := r.transact(ctx, caller, "adding scenarios with their inputs", len(inputs), func(c command) (err error) {
		drafts, results := make([]evaluation.ScenarioDraft, len(inputs)), slices.Clone(inputs)
		for i, d := range inputs {
			drafts[i].RunID = d.RunID
		}
		if made, err = c.addScenarios(ctx, drafts); err != nil {
			return err
		}
		for i := range results {
			results[i].ScenarioID = made[i].ID
		}
		_, err = c.setResults(ctx, results)
		return err
	})
	return made, err
}

func (c command) addScenarios(ctx context.Context, drafts []evaluation.ScenarioDraft) ([]evaluation.Scenario, error) {
	if _, err := c.open(ctx, distinct(idsOf(drafts, func(d evaluation.ScenarioDraft) uuid.UUID { return d.RunID }))); err != nil {
		return nil, err
	}
	made := make([]evaluation.Scenario, len(drafts))
	for i, d := range drafts {
		record, status, err := c.record(d.RecordDraft)
		if err != nil {
			return nil, err
		}
		made[i] = evaluation.Scenario{Record: record, When: d.When, Flags: d.Flags, Status: status, RunID: d.RunID}
	}
	return made, c.each(ctx, insertScenario, len(made), func(i int) []any {
		m := &made[i]
		return []any{c.project(), m.RunID, m.ID, m.Flags, m.Tags, m.Meta, m.Status, m.Interval, m.Timestamp, m.CreatedAt, m.CreatedByID}
	}, scanID)
}

const updateScenario = `
UPDATE evaluation_scenarios e SET flags = coalesce($3, e.flags), tags = coalesce($4, e.tags), meta = coalesce($5, e.meta), status = coalesce($6, e.status), updated_at = $7, updated_by_id = $8
WHERE e.project_id = $1 AND e.id = $2 RETURNING ` + schema.ScenarioColumns

// EditScenarios changes what the drafts give, in open runs; those that do not exist are left out.
func (r *Runs) EditScenarios(ctx context.Context, caller domain.Principal, drafts []evaluation.ScenarioDraft) (edited []evaluation.Scenario, err error) {
	ids := idsOf(drafts, func(d evaluation.ScenarioDraft) uuid.UUID { return d.ID })
	err = r.transact(ctx, caller, "editing scenarios", len(drafts), func(c command) error {
		if err := c.partsOpen(ctx, "evaluation_scenarios", "scenario_id", ids); err != nil {
			return err
		}
		edited, err = update[evaluation.Scenario](ctx, c, updateScenario, ordered(drafts, byID), func(i int) []any {
			d := &drafts[i]
			return []any{c.project(), d.ID, d.Flags, d.Tags, d.Meta, given(d.Status), c.now, c.caller.User}
		})
		return err
	})
	return edited, err
}

// DeleteScenarios removes scenarios of open runs with their results and metrics, and gives the ids of those that were there.
func (r *Runs) DeleteScenarios(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]uuid.UUID, error) {
	return r.remove(ctx, caller, "evaluation_scenarios", "scenario_id", ids)
}
