package evaluations

import (
	"context"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
)

const insertQueue = `
INSERT INTO evaluation_queues AS e (project_id, run_id, id, name, description, flags, tags, meta, status, data, created_at, created_by_id, with_run)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING ` + schema.QueueColumns

// CreateQueues makes queues of open runs. Their data is checked by the caller (QueueData.Check).
func (r *Runs) CreateQueues(ctx context.Context, caller domain.Principal, drafts []evaluation.QueueDraft) (made []evaluation.Queue, err error) {
	err = r.transact(ctx, caller, "creating evaluation queues", len(drafts), func(c command) error {
		runs, err := c.open(ctx, distinct(idsOf(drafts, func(d evaluation.QueueDraft) uuid.UUID { return d.RunID })))
		if err != nil {
			return err
		}
		rows := make([][]any, len(drafts))
		for i, d := range drafts {
			if err := d.CheckDefault(nil); err != nil {
				return err
			}
			record, status, err := c.record(d.RecordDraft)
			if err != nil {
				return err
			}
			rows[i] = []any{
				c.project(), d.RunID, record.ID, d.Name, d.Description, evaluation.QueueFlagsOf(nil, d.Flags), d.Tags, d.Meta, status, d.Data, record.CreatedAt, record.CreatedByID, d.WithRun,
			}
		}
		made, err = update[evaluation.Queue](ctx, c, insertQueue, ordered(drafts, func(_, _ *evaluation.QueueDraft) int { return 0 }), func(i int) []any { return rows[i] })
		if err != nil {
			return secondDefault(err)
		}
		for _, d := range drafts {
			if d.WithRun {
				if err := c.reconcileQueue(ctx, runs[d.RunID]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return made, err
}

const updateQueue = `
UPDATE evaluation_queues e SET name = coalesce($3, e.name), description = coalesce($4, e.description), flags = e.flags || $5::jsonb, tags = coalesce($6, e.tags), meta = coalesce($7, e.meta),
	status = coalesce($8, e.status), data = coalesce($9, e.data), updated_at = $10, updated_by_id = $11
WHERE e.project_id = $1 AND e.id = $2 RETURNING ` + schema.QueueColumns

// EditQueues changes what the drafts give, of open runs; those that do not exist are left out.
func (r *Runs) EditQueues(ctx context.Context, caller domain.Principal, drafts []evaluation.QueueDraft) (edited []evaluation.Queue, err error) {
	ids := idsOf(drafts, func(d evaluation.QueueDraft) uuid.UUID { return d.ID })
	err = r.transact(ctx, caller, "editing evaluation queues", len(drafts), func(c command) error {
		if err := c.partsOpen(ctx, "evaluation_queues", "queue_id", ids); err != nil {
			return err
		}
		if err := c.checkDefaults(ctx, drafts); err != nil {
			return err
		}
		edited, err = update[evaluation.Queue](ctx, c, updateQueue, ordered(drafts, byID), func(i int) []any {
			d := &drafts[i]
			flags := d.Flags
			if flags == nil {
				flags = evaluation.Flags{}
			}
			return []any{c.project(), d.ID, d.Name, d.Description, flags, d.Tags, d.Meta, given(d.Status), d.Data, c.now, c.caller.User}
		})
		return secondDefault(err)
	})
	return edited, err
}
