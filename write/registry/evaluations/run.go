package evaluations

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/evaluation"
)

const insertRun = `
INSERT INTO evaluation_runs (project_id, id, name, description, flags, tags, meta, status, data, refs, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id`

// CreateRuns makes runs. Their data is checked by the caller (Data.Check).
func (r *Runs) CreateRuns(ctx context.Context, caller domain.Principal, drafts []evaluation.RunDraft) ([]evaluation.Run, error) {
	made := make([]evaluation.Run, len(drafts))
	err := r.transact(ctx, caller, "creating evaluation runs", len(drafts), func(c command) error {
		for i, d := range drafts {
			record, status, err := c.record(d.RecordDraft)
			if err != nil {
				return err
			}
			made[i] = evaluation.Run{Record: record, Name: d.Name, Description: d.Description, Flags: d.Data.Flags(nil, d.Flags), Status: status, Data: d.Data}
		}
		if err := c.each(ctx, insertRun, len(made), func(i int) []any {
			m := &made[i]
			return []any{c.project(), m.ID, m.Name, m.Description, m.Flags, m.Tags, m.Meta, m.Status, m.Data, m.Data.References(), m.CreatedAt, m.CreatedByID}
		}, scanID); err != nil {
			return err
		}
		for i := range made {
			if drafts[i].OwnQueue {
				continue
			}
			if err := c.reconcileQueue(ctx, &made[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

func scanID(_ int, row pgx.Row) error { return row.Scan(new(uuid.UUID)) }

// Another status takes the run out of its runner's hands; the same one, as in
// a record that is sent back, does not.
const updateRun = `
UPDATE evaluation_runs SET name = $3, description = $4, flags = $5, tags = $6, meta = $7, status = $8, data = $9, refs = $10, updated_at = $11, updated_by_id = $12,
	runner = CASE WHEN status = $8 THEN runner END, leased_until = CASE WHEN status = $8 THEN leased_until END
WHERE project_id = $1 AND id = $2 RETURNING id`

// EditRuns changes what the drafts give; those that do not exist are left out.
// A closed one is a Conflict, and so is a status that may not follow.
func (r *Runs) EditRuns(ctx context.Context, caller domain.Principal, drafts []evaluation.RunDraft) ([]evaluation.Run, error) {
	return r.changeRuns(ctx, caller, "editing evaluation runs", idsOf(drafts, func(d evaluation.RunDraft) uuid.UUID { return d.ID }), func(run *evaluation.Run, i int) error {
		if run.Closed() {
			return evaluation.ClosedConflict(run.ID, "", uuid.Nil)
		}
		return edit(run, drafts[i])
	})
}

// Steps that an edit drops take their results with them, and a scenario goes with the result of
// its last input. A run without steps accepts results of any step, so that dropping all of
// them drops all results.
const (
	dropResults = `DELETE FROM evaluation_results WHERE project_id = $1 AND run_id = $2 AND step_key = ANY($3) RETURNING scenario_id`
	dropInputs  = `DELETE FROM evaluation_scenarios s WHERE s.project_id = $1 AND s.run_id = $2 AND s.id = ANY($3)
AND NOT EXISTS (SELECT FROM evaluation_results e WHERE e.project_id = $1 AND e.run_id = $2 AND e.scenario_id = s.id AND e.step_key = ANY($4))`
)

// dropSteps removes what belongs to steps that a run had and has no more.
func (c command) dropSteps(ctx context.Context, run uuid.UUID, before, after *evaluation.Data) error {
	if before == nil || after == nil {
		return nil
	}
	var dropped, droppedInputs, inputs []string
	for _, s := range before.Steps {
		if after.Step(s.Key) != nil {
			continue
		}
		dropped = append(dropped, s.Key)
		if s.Type == evaluation.Input {
			droppedInputs = append(droppedInputs, s.Key)
		}
	}
	for _, s := range after.Steps {
		if s.Type == evaluation.Input {
			inputs = append(inputs, s.Key)
		}
	}
	if len(dropped) == 0 {
		return nil
	}
	without, err := c.dropResults(ctx, run, droppedInputs)
	if err != nil {
		return err
	}
	if _, err := c.dropResults(ctx, run, dropped); err != nil || len(without) == 0 {
		return err
	}
	_, err = c.tx.Exec(ctx, dropInputs, c.project(), run, without, inputs)
	return err
}

func (c command) dropResults(ctx context.Context, run uuid.UUID, steps []string) ([]uuid.UUID, error) {
	rows, err := c.tx.Query(ctx, dropResults, c.project(), run, steps)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

func edit(run *evaluation.Run, d evaluation.RunDraft) error {
	if d.Status != "" {
		if !run.Status.Becomes(d.Status) {
			return evaluation.StatusConflict(run.Status, d.Status)
		}
		run.Status = d.Status
	}
	if d.Name != nil {
		run.Name = d.Name
	}
	if d.Description != nil {
		run.Description = d.Description
	}
	if d.Tags != nil {
		run.Tags = d.Tags
	}
	if d.Meta != nil {
		run.Meta = d.Meta
	}
	if d.Data != nil {
		run.Data = d.Data
	}
	run.Flags = run.Data.Flags(run.Flags, d.Flags)
	return nil
}

// CloseRuns closes runs to changes, with a last status unless that is empty.
// One that is closed already stays as it is, but for the status.
func (r *Runs) CloseRuns(ctx context.Context, caller domain.Principal, ids []uuid.UUID, status evaluation.Status) ([]evaluation.Run, error) {
	return r.changeRuns(ctx, caller, "closing evaluation runs", ids, func(run *evaluation.Run, _ int) error {
		run.Flags[evaluation.IsClosed] = true
		if status == "" {
			return nil
		}
		if !run.Status.Becomes(status) {
			return evaluation.StatusConflict(run.Status, status)
		}
		run.Status = status
		return nil
	})
}

// OpenRuns opens runs to changes again.
func (r *Runs) OpenRuns(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]evaluation.Run, error) {
	return r.changeRuns(ctx, caller, "opening evaluation runs", ids, func(run *evaluation.Run, _ int) error {
		run.Flags[evaluation.IsClosed] = false
		return nil
	})
}

// changeRuns changes those runs that exist, in the order in which they are
// named; change is told the place of the run's (last) name. All or nothing.
func (r *Runs) changeRuns(ctx context.Context, caller domain.Principal, doing string, ids []uuid.UUID, change func(run *evaluation.Run, i int) error) (changed []evaluation.Run, err error) {
	err = r.transact(ctx, caller, doing, len(ids), func(c command) error {
		if changed, err = c.lockRuns(ctx, ids, forChange); err != nil {
			return err
		}
		changed = inOrder(changed, ids, func(r *evaluation.Run) uuid.UUID { return r.ID })
		for i := range changed {
			run := &changed[i]
			before := run.Data
			for at, id := range ids {
				if id != run.ID {
					continue
				}
				if err := change(run, at); err != nil {
					return err
				}
			}
			if err := c.dropSteps(ctx, run.ID, before, run.Data); err != nil {
				return err
			}
			if err := c.reconcileQueue(ctx, run); err != nil {
				return err
			}
			run.UpdatedAt, run.UpdatedByID = &c.now, &c.caller.User
		}
		return c.each(ctx, updateRun, len(changed), func(i int) []any {
			m := &changed[i]
			return []any{c.project(), m.ID, m.Name, m.Description, m.Flags, m.Tags, m.Meta, m.Status, m.Data, m.Data.References(), m.UpdatedAt, m.UpdatedByID}
		}, scanID)
	})
	return changed, err
}

// DeleteRuns removes runs with all their parts, also closed ones, and gives
// the ids of those that were there. Traces stay.
func (r *Runs) DeleteRuns(ctx context.Context, caller domain.Principal, ids []uuid.UUID) (gone []uuid.UUID, err error) {
	err = r.transact(ctx, caller, "deleting evaluation runs", len(ids), func(c command) error {
		gone, err = c.deleted(ctx, "evaluation_runs", ids)
		return err
	})
	return gone, err
}

func idsOf[T any](all []T, id func(T) uuid.UUID) []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, v := range all {
		ids[i] = id(v)
	}
	return ids
}

// distinct leaves each id once.
func distinct(ids []uuid.UUID) []uuid.UUID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}
