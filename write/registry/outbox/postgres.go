package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
	"colonnade/write/registry"
)

// place is the key of a result.
type place struct {
	run, scenario uuid.UUID
	step          string
	repeat        int32
}

// row is a row of the outbox with its result, and what run_results holds of it.
type row struct {
	project domain.ProjectID
	place
	version  int64
	attempts int32
	// orphan reports that the project was deleted, deleted that the result was.
	orphan, deleted bool
	result          evaluation.Result

	step      *evaluation.Step
	position  int
	evaluator string
	revision  string // key of the application revision
	// expectedIn are the columns of testcases with what is expected.
	expectedIn []string
	// inputs and expected are previews of the testcase.
	inputs, expected string
	outcome          evaluation.Outcome
	// pending reports that the trace of the result is not visible.
	pending bool
}

// Rows that a command changes now are passed over, so that a publisher never waits for a
// command's locks, and a command and a publisher cannot block each other. A row that is
// claimed is due again when the lease ends.
const claimRows = `
WITH due AS (
	SELECT project_id, run_id, scenario_id, step_key, repeat_idx FROM evaluation_outbox WHERE due_at <= clock_timestamp()
	ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE evaluation_outbox o SET due_at = clock_timestamp() + $2::interval FROM due d
WHERE o.project_id = d.project_id AND o.run_id = d.run_id AND o.scenario_id = d.scenario_id AND o.step_key = d.step_key AND o.repeat_idx = d.repeat_idx
RETURNING o.project_id, o.run_id, o.scenario_id, o.step_key, o.repeat_idx`

// One statement is one snapshot: the result is as its version in the outbox says, or that
// version is not yet visible and the row is published again.
const selectRows = `
SELECT o.project_id, o.run_id, o.scenario_id, o.step_key, o.repeat_idx, o.version, o.attempts, p.id IS NULL, e.id IS NULL,
	e.status, e.trace_id, e.testcase_id, e.error
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::int[]) AS k (project_id, run_id, scenario_id, step_key, repeat_idx)
JOIN evaluation_outbox o USING (project_id, run_id, scenario_id, step_key, repeat_idx)
LEFT JOIN projects p ON p.id = o.project_id
LEFT JOIN evaluation_results e USING (project_id, run_id, scenario_id, step_key, repeat_idx)`

// keys are the columns of the keys of rows.
type keys struct {
	projects, runs, scenarios []uuid.UUID
	steps                     []string
	repeats                   []int32
}

func (k *keys) add(project uuid.UUID, p place) {
	k.projects, k.runs, k.scenarios = append(k.projects, project), append(k.runs, p.run), append(k.scenarios, p.scenario)
	k.steps, k.repeats = append(k.steps, p.step), append(k.repeats, p.repeat)
}

// claim takes rows that are due, each with its result.
func (p *Publisher) claim(ctx context.Context) ([]row, error) {
	const doing = "claiming results to publish"
	found, err := p.deps.Postgres.Query(ctx, claimRows, maxRows, lease)
	if err != nil {
		return nil, registry.Classify(err, doing)
	}
	var all keys
	var project uuid.UUID
	var at place
	_, err = pgx.ForEachRow(found, []any{&project, &at.run, &at.scenario, &at.step, &at.repeat}, func() error {
		all.add(project, at)
		return nil
	})
	if err != nil || len(all.runs) == 0 {
		return nil, registry.Classify(err, doing)
	}
	found, err = p.deps.Postgres.Query(ctx, selectRows, all.projects, all.runs, all.scenarios, all.steps, all.repeats)
	if err != nil {
		return nil, registry.Classify(err, doing)
	}
	rows, err := pgx.CollectRows(found, scanRow)
	return rows, registry.Classify(err, doing)
}

func scanRow(from pgx.CollectableRow) (r row, err error) {
	var project uuid.UUID
	var status *string
	err = from.Scan(&project, &r.run, &r.scenario, &r.place.step, &r.repeat, &r.version, &r.attempts, &r.orphan, &r.deleted,
		&status, (*evaluation.TraceText)(&r.result.TraceID), &r.result.TestcaseID, &r.result.Error)
	r.project = domain.ProjectID(project)
	r.outcome = evaluation.NoOutcome()
	if status != nil {
		r.result.Status = evaluation.Status(*status)
	}
	return r, err
}

// Of rows that were changed meanwhile the version differs, and they stay as the change left
// them: due at once.
const (
	deleteRows = `
DELETE FROM evaluation_outbox o USING (
	SELECT o.project_id, o.run_id, o.scenario_id, o.step_key, o.repeat_idx
	FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::bigint[]) AS k (project_id, run_id, scenario_id, step_key, repeat_idx, version)
	JOIN evaluation_outbox o USING (project_id, run_id, scenario_id, step_key, repeat_idx, version) FOR UPDATE OF o SKIP LOCKED
) d
WHERE o.project_id = d.project_id AND o.run_id = d.run_id AND o.scenario_id = d.scenario_id AND o.step_key = d.step_key AND o.repeat_idx = d.repeat_idx`
	delayRows = `
UPDATE evaluation_outbox o SET attempts = o.attempts + 1, version = o.version + 1, due_at = clock_timestamp() + d.wait FROM (
	SELECT o.project_id, o.run_id, o.scenario_id, o.step_key, o.repeat_idx, k.wait
	FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::bigint[], $7::interval[]) AS k (project_id, run_id, scenario_id, step_key, repeat_idx, version, wait)
	JOIN evaluation_outbox o USING (project_id, run_id, scenario_id, step_key, repeat_idx, version) FOR UPDATE OF o SKIP LOCKED
) d
WHERE o.project_id = d.project_id AND o.run_id = d.run_id AND o.scenario_id = d.scenario_id AND o.step_key = d.step_key AND o.repeat_idx = d.repeat_idx`
)

// release deletes the rows that are published whole, and lets those whose traces are not
// visible wait.
func (p *Publisher) release(ctx context.Context, rows []row) error {
	var done, waiting keys
	var doneVersions, waitingVersions []int64
	var waits []time.Duration
	for i := range rows {
		r := &rows[i]
		if r.pending && int(r.attempts) < maxAttempts {
			waiting.add(uuid.UUID(r.project), r.place)
			waitingVersions = append(waitingVersions, r.version)
			waits = append(waits, min(firstWait<<r.attempts, lastWait))
			continue
		}
		done.add(uuid.UUID(r.project), r.place)
		doneVersions = append(doneVersions, r.version)
	}
	if len(doneVersions) > 0 {
		if _, err := p.deps.Postgres.Exec(ctx, deleteRows, done.projects, done.runs, done.scenarios, done.steps, done.repeats, doneVersions); err != nil {
			return registry.Classify(err, "deleting published results from the outbox")
		}
	}
	if len(waits) > 0 {
		if _, err := p.deps.Postgres.Exec(ctx, delayRows, waiting.projects, waiting.runs, waiting.scenarios, waiting.steps, waiting.repeats, waitingVersions, waits); err != nil {
			return registry.Classify(err, "delaying results in the outbox")
		}
	}
	return nil
}

const insertRows = ` (project_id, run_id, scenario_id, repeat, step, version, deleted, step_type, step_position, status, error, testcase_id, trace_id, judged_trace_id,
	evaluator, application_revision, latency_ms, cost, inputs_preview, expected_preview, outputs_preview, outputs, numbers, strings, bools)`

// insert writes rows to ClickHouse.
func (p *Publisher) insert(ctx context.Context, rows []row) error {
	batch, err := p.deps.ClickHouse.PrepareBatch(ctx, "INSERT INTO "+p.deps.Deployment.Table(schema.RunResults)+insertRows)
	if err != nil {
		return fmt.Errorf("outbox: insert results: %w", err)
	}
	defer func() { _ = batch.Close() }() // of a batch that was sent it does nothing
	n := 0
	for i := range rows {
		r := &rows[i]
		if r.orphan || r.pending && r.attempts > 0 { // without its values it is published once
			continue
		}
		if err := batch.Append(r.values()...); err != nil {
			return fmt.Errorf("outbox: insert results: %w", err)
		}
		n++
	}
	if n == 0 {
		return batch.Abort()
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("outbox: insert %d results: %w", n, err)
	}
	return nil
}
