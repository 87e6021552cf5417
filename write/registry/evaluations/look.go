package evaluations

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
)

// What who carries a run out looks at. Pages for people are read/entities/runs'.

// look asks for rows outside of a transaction.
func look[T any, P row[T]](ctx context.Context, r *Runs, doing, sql string, args ...any) (found []T, err error) {
	err = r.db.Query(ctx, doing, func(rows pgx.Rows, err error) error {
		found, err = collect[T, P](rows, err)
		return err
	}, sql, args...)
	return found, err
}

// Run gives a run; nil when there is none.
func (r *Runs) Run(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Run, error) {
	found, err := look[evaluation.Run](ctx, r, "reading an evaluation run", selectRuns, uuid.UUID(project), []uuid.UUID{id})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Queue gives a queue; nil when there is none.
func (r *Runs) Queue(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Queue, error) {
	found, err := look[evaluation.Queue](ctx, r, "reading an evaluation queue",
		`SELECT `+schema.QueueColumns+` FROM evaluation_queues e WHERE e.project_id = $1 AND e.id = $2`, uuid.UUID(project), id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Scenarios gives the scenarios of a run in the order in which they were made,
// after one of them (the zero id: from the first), at most limit.
func (r *Runs) Scenarios(ctx context.Context, project domain.ProjectID, run, after uuid.UUID, limit int) ([]evaluation.Scenario, error) {
	return look[evaluation.Scenario](ctx, r, "reading scenarios",
		`SELECT `+schema.ScenarioColumns+` FROM evaluation_scenarios e WHERE e.project_id = $1 AND e.run_id = $2 AND e.id > $3 ORDER BY e.id LIMIT $4`, uuid.UUID(project), run, after, limit)
}

// Results gives all results of a run.
func (r *Runs) Results(ctx context.Context, project domain.ProjectID, run uuid.UUID) ([]evaluation.Result, error) {
	return r.ResultsOf(ctx, project, run, evaluation.Slice{}, 0)
}

// ResultsOf gives the results of a slice of a run in the order of scenarios, steps and
// repeats, at most so many; all where most is 0.
func (r *Runs) ResultsOf(ctx context.Context, project domain.ProjectID, run uuid.UUID, within evaluation.Slice, most int) ([]evaluation.Result, error) {
	return look[evaluation.Result](ctx, r, "reading results of a slice",
		`SELECT `+schema.ResultColumns+` FROM evaluation_results e WHERE e.project_id = $1 AND e.run_id = $2 AND ($3::uuid[] IS NULL OR e.scenario_id = ANY($3))
	AND ($4::text[] IS NULL OR e.step_key = ANY($4)) AND ($5::bigint[] IS NULL OR e.repeat_idx = ANY($5)) ORDER BY e.scenario_id, e.step_key, e.repeat_idx LIMIT nullif($6, 0)`,
		uuid.UUID(project), run, within.Scenarios, within.Steps, within.Repeats, most)
}

// ResultsOfHash gives the results of a project that were computed from the
// same, with a trace, the newest first, at most so many: what a cached run takes over.
func (r *Runs) ResultsOfHash(ctx context.Context, project domain.ProjectID, hash uuid.UUID, most int) ([]evaluation.Result, error) {
	return look[evaluation.Result](ctx, r, "reading results by hash",
		`SELECT `+schema.ResultColumns+` FROM evaluation_results e WHERE e.project_id = $1 AND e.hash_id = $2 AND e.trace_id IS NOT NULL AND e.status = 'success' ORDER BY e.id DESC LIMIT $3`,
		uuid.UUID(project), hash, most)
}
