package evaluations

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
)

// Claimed is a run that one runner works on, until the lease is over.
type Claimed struct {
	evaluation.Run
	Project domain.ProjectID
}

// The only statement over all projects: a runner serves them all. Whoever is
// slower passes over what another one is just taking. A run that is running
// and was never leased is carried out by its client.
const claimRun = `
UPDATE evaluation_runs e SET runner = $1, leased_until = $2, status = 'running'
FROM (
	SELECT project_id, id FROM evaluation_runs
	WHERE status IN ('queued', 'running') AND (status = 'queued' OR leased_until IS NOT NULL) AND (leased_until IS NULL OR leased_until < $3) AND flags @> '{"is_active": true}' AND NOT flags @> '{"is_closed": true}'
		AND (NOT $6 OR NOT project_id = ANY($4))
	ORDER BY coalesce((SELECT n FROM unnest($4::uuid[], $5::int[]) AS held(project, n) WHERE project = project_id), 0), leased_until NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED
) w
WHERE e.project_id = w.project_id AND e.id = w.id RETURNING ` + schema.RunColumns + `, e.project_id`

// Busy says which projects have runs in progress at a runner.
type Busy struct {
	// Runs is the number of runs by project.
	Runs map[domain.ProjectID]int
	// OthersOnly excludes these projects: the free slots are kept for others.
	OthersOnly bool
}

// Claim takes a run that is active and queued, or running under a lease that has
// ended: of the project with the fewest runs at this runner the one that waits longest.
// It returns nil if none waits. The run is running then, and no other runner takes it
// before the lease ends.
func (r *Runs) Claim(ctx context.Context, runner uuid.UUID, lease time.Duration, busy Busy) (*Claimed, error) {
	projects, runs := make([]uuid.UUID, 0, len(busy.Runs)), make([]int32, 0, len(busy.Runs))
	for project, n := range busy.Runs {
		projects, runs = append(projects, uuid.UUID(project)), append(runs, int32(n)) //nolint:gosec // a runner executes few runs
	}
	var claimed *Claimed
	err := r.db.Transact(ctx, "taking an evaluation run", func(tx pgx.Tx) error {
		now := r.db.Now()
		var c Claimed
		var project uuid.UUID
		err := tx.QueryRow(ctx, claimRun, runner, now.Add(lease), now, projects, runs, busy.OthersOnly).Scan(append(c.Targets(), &project)...)
		if errors.Is(err, pgx.ErrNoRows) {
			claimed = nil
			return nil
		}
		c.Project = domain.ProjectID(project)
		claimed = &c
		return err
	})
	if err != nil { // also where only the commit failed: the run is not ours
		return nil, err
	}
	return claimed, nil
}

// Renew prolongs a lease. False means that the run is not this runner's any
// more, or that it was stopped or closed: the runner gives up.
func (r *Runs) Renew(ctx context.Context, project domain.ProjectID, run, runner uuid.UUID, lease time.Duration) (bool, error) {
	return r.leased(ctx, "prolonging a lease", `
UPDATE evaluation_runs SET leased_until = $4 WHERE project_id = $1 AND id = $2 AND runner = $3 AND status IN ('queued', 'running') AND NOT flags @> '{"is_closed": true}'`,
		uuid.UUID(project), run, runner, r.db.Now().Add(lease))
}

// Release ends a lease, with a last status: the run is not active then, unless
// more was queued meanwhile. Without one the run is queued again, so that
// another runner takes it at once. It changes nothing of a run that is another
// runner's, or that was stopped meanwhile; false tells so.
func (r *Runs) Release(ctx context.Context, project domain.ProjectID, run, runner uuid.UUID, status evaluation.Status) (bool, error) {
	if status == "" {
		return r.leased(ctx, "ending a lease", `
UPDATE evaluation_runs SET runner = NULL, leased_until = NULL, status = CASE status WHEN 'running' THEN 'queued' ELSE status END WHERE project_id = $1 AND id = $2 AND runner = $3`, uuid.UUID(project), run, runner)
	}
	return r.leased(ctx, "ending an evaluation run", `
UPDATE evaluation_runs SET runner = NULL, leased_until = NULL, updated_at = $5,
	status = CASE status WHEN 'running' THEN $4 ELSE status END, flags = CASE status WHEN 'running' THEN flags || '{"is_active": false}' ELSE flags END
WHERE project_id = $1 AND id = $2 AND runner = $3 AND status IN ('queued', 'running') AND NOT flags @> '{"is_closed": true}'`,
		uuid.UUID(project), run, runner, status, r.db.Now())
}

func (r *Runs) leased(ctx context.Context, doing, sql string, args ...any) (done bool, err error) {
	err = r.db.Transact(ctx, doing, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		done = err == nil && tag.RowsAffected() > 0
		return err
	})
	return done, err
}
