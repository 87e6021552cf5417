package evaluations

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
)

// A result that is set again keeps its id and who made it, and is new in all else.
const upsertResult = `
INSERT INTO evaluation_results AS e (project_id, run_id, scenario_id, step_key, repeat_idx, id, flags, tags, meta, status, "interval", "timestamp",
	hash_id, trace_id, span_id, testcase_id, error, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
ON CONFLICT (project_id, run_id, scenario_id, step_key, repeat_idx) DO UPDATE SET
	flags = EXCLUDED.flags, tags = EXCLUDED.tags, meta = EXCLUDED.meta, status = EXCLUDED.status, "interval" = EXCLUDED."interval", "timestamp" = EXCLUDED."timestamp",
	hash_id = EXCLUDED.hash_id, trace_id = EXCLUDED.trace_id, span_id = EXCLUDED.span_id, testcase_id = EXCLUDED.testcase_id, error = EXCLUDED.error,
	updated_at = EXCLUDED.created_at, updated_by_id = EXCLUDED.created_by_id
RETURNING ` + schema.ResultColumns

// SetResults sets results in open runs: one for each step, scenario and
// repeat, so that setting it again replaces it. The scenario must be one of
// the run, and the step one of the run's, where it says which it has.
func (r *Runs) SetResults(ctx context.Context, caller domain.Principal, drafts []evaluation.ResultDraft) (set []evaluation.Result, err error) {
	err = r.transact(ctx, caller, "setting results", len(drafts), func(c command) (err error) {
		set, err = c.setResults(ctx, drafts)
		return err
	})
	return set, err
}

func (c command) setResults(ctx context.Context, drafts []evaluation.ResultDraft) ([]evaluation.Result, error) {
	runs, err := c.open(ctx, distinct(idsOf(drafts, func(d evaluation.ResultDraft) uuid.UUID { return d.RunID })))
	if err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if data := runs[d.RunID].Data; data != nil && len(data.Steps) > 0 && data.Step(d.StepKey) == nil {
			return nil, domain.E(domain.Rejected, "The evaluation run %s has no step %q.", d.RunID, d.StepKey)
		}
	}
	if err := c.scenariosOf(ctx, drafts); err != nil {
		return nil, err
	}
	rows := make([][]any, len(drafts))
	for i, d := range drafts {
		record, status, err := c.record(d.RecordDraft)
		if err != nil {
			return nil, err
		}
		rows[i] = []any{
			c.project(), d.RunID, d.ScenarioID, d.StepKey, d.RepeatIdx, record.ID, d.Flags, d.Tags, d.Meta, status, d.Interval, d.Timestamp,
			d.HashID, text(d.TraceID), text(d.SpanID), d.TestcaseID, d.Error, record.CreatedAt, record.CreatedByID,
		}
	}
	return update[evaluation.Result](ctx, c, upsertResult, ordered(drafts, byPlace), func(i int) []any { return rows[i] })
}

// byPlace orders results as their index does.
func byPlace(a, b *evaluation.ResultDraft) int {
	return cmp.Or(compareIDs(a.RunID, b.RunID), compareIDs(a.ScenarioID, b.ScenarioID), cmp.Compare(a.StepKey, b.StepKey), cmp.Compare(a.RepeatIdx, b.RepeatIdx))
}

// scenariosOf makes sure that the scenarios are there until the end of the command, each in its run.
func (c command) scenariosOf(ctx context.Context, drafts []evaluation.ResultDraft) error {
	ids := distinct(idsOf(drafts, func(d evaluation.ResultDraft) uuid.UUID { return d.ScenarioID }))
	run, err := c.runsOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, d := range drafts {
		if of, ok := run[d.ScenarioID]; !ok || of != d.RunID {
			return domain.E(domain.Rejected, "The evaluation run %s has no scenario %s.", d.RunID, d.ScenarioID)
		}
	}
	return nil
}

// runsOf gives the runs of those scenarios that are there, and holds off their removal.
func (c command) runsOf(ctx context.Context, scenarios []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	found, err := collect[evaluation.Scenario](c.tx.Query(ctx,
		`SELECT `+schema.ScenarioColumns+` FROM evaluation_scenarios e WHERE e.project_id = $1 AND e.id = ANY($2) ORDER BY e.id FOR KEY SHARE`, c.project(), scenarios))
	run := map[uuid.UUID]uuid.UUID{}
	for _, s := range found {
		run[s.ID] = s.RunID
	}
	return run, err
}

// text is an id as the store keeps it; nil of the zero id.
func text[ID interface {
	IsZero() bool
	String() string
}](id ID) *string {
	if id.IsZero() {
		return nil
	}
	s := id.String()
	return &s
}

const updateResult = `
UPDATE evaluation_results e SET flags = coalesce($3, e.flags), tags = coalesce($4, e.tags), meta = coalesce($5, e.meta), status = coalesce($6, e.status),
	hash_id = coalesce($7, e.hash_id), trace_id = coalesce($8, e.trace_id), span_id = CASE WHEN $8::text IS NULL THEN coalesce($9, e.span_id) ELSE $9 END,
	testcase_id = coalesce($10, e.testcase_id), error = coalesce($11, e.error), updated_at = $12, updated_by_id = $13
WHERE e.project_id = $1 AND e.id = $2 RETURNING ` + schema.ResultColumns

// EditResults changes what the drafts give, in open runs; those that do not
// exist are left out. Another trace takes the place of the span as well.
func (r *Runs) EditResults(ctx context.Context, caller domain.Principal, drafts []evaluation.ResultDraft) (edited []evaluation.Result, err error) {
	err = r.transact(ctx, caller, "editing results", len(drafts), func(c command) error {
		edited, err = c.editResults(ctx, drafts)
		return err
	})
	return edited, err
}

func (c command) editResults(ctx context.Context, drafts []evaluation.ResultDraft) ([]evaluation.Result, error) {
	ids := idsOf(drafts, func(d evaluation.ResultDraft) uuid.UUID { return d.ID })
	if err := c.partsOpen(ctx, "evaluation_results", "result_id", ids); err != nil {
		return nil, err
	}
	return update[evaluation.Result](ctx, c, updateResult, ordered(drafts, byID), func(i int) []any {
		d := &drafts[i]
		return []any{
			c.project(), d.ID, d.Flags, d.Tags, d.Meta, given(d.Status), d.HashID, text(d.TraceID), text(d.SpanID),
			d.TestcaseID, d.Error, c.now, c.caller.User,
		}
	})
}

// PutResults edits the results that drafts name by their ids and sets the others, in one
// transaction; the edited ones come first in its answer.
func (r *Runs) PutResults(ctx context.Context, caller domain.Principal, drafts []evaluation.ResultDraft) (put []evaluation.Result, err error) {
	edits, sets := byName(drafts)
	err = r.transact(ctx, caller, "putting results", len(drafts), func(c command) error {
		edited, err := c.editResults(ctx, edits)
		if err != nil {
			return err
		}
		set, err := c.setResults(ctx, sets)
		put = append(edited, set...)
		return err
	})
	return put, err
}

// byName divides drafts into those that an id names and the others.
func byName[D interface{ Named() uuid.UUID }](drafts []D) (named, others []D) {
	for _, d := range drafts {
		if d.Named() != uuid.Nil {
			named = append(named, d)
		} else {
			others = append(others, d)
		}
	}
	return named, others
}

// DeleteResults removes results of open runs and gives the ids of those that were there.
func (r *Runs) DeleteResults(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]uuid.UUID, error) {
	return r.remove(ctx, caller, "evaluation_results", "result_id", ids)
}
