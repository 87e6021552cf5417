package evaluations

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
	"colonnade/write/registry"
)

// A run that asks people has a queue in which they find what they are asked: its default queue,
// which is created with the run and archived and revived as its steps change. A run that was made
// for a queue of its own (evaluation.QueueDraft.WithRun) needs none.

const (
	// The newest default queue, archived or not, and whether the run has a queue of its own.
	selectDefaultQueue = `
SELECT (SELECT e.id FROM evaluation_queues e WHERE e.project_id = $1 AND e.run_id = $2 AND (e.flags ->> 'is_default') = 'true' ORDER BY e.deleted_at DESC NULLS FIRST, e.id DESC LIMIT 1),
	EXISTS (SELECT FROM evaluation_queues e WHERE e.project_id = $1 AND e.run_id = $2 AND (e.flags ->> 'is_default') = 'true' AND e.deleted_at IS NULL),
	EXISTS (SELECT FROM evaluation_queues e WHERE e.project_id = $1 AND e.run_id = $2 AND e.with_run)`
	archiveQueue = `UPDATE evaluation_queues SET deleted_at = $3, updated_at = $3, updated_by_id = $4 WHERE project_id = $1 AND id = $2`
	reviveQueue  = `UPDATE evaluation_queues SET deleted_at = NULL, updated_at = $3, updated_by_id = $4 WHERE project_id = $1 AND id = $2`
)

// reconcileQueue brings the default queue of a run in line with its steps, and the flag is_queue
// of the run with its queues. The run is locked, and the caller stores its flags.
func (c command) reconcileQueue(ctx context.Context, run *evaluation.Run) error {
	var id *uuid.UUID
	var active, own bool
	if err := c.tx.QueryRow(ctx, selectDefaultQueue, c.project(), run.ID).Scan(&id, &active, &own); err != nil {
		return err
	}
	human := run.Flags[evaluation.HasHuman]
	needed := human && !own
	var err error
	switch {
	case needed && id == nil:
		err = c.createDefaultQueue(ctx, run)
	case needed && !active:
		_, err = c.tx.Exec(ctx, reviveQueue, c.project(), *id, c.now, c.caller.User)
	case !needed && active:
		_, err = c.tx.Exec(ctx, archiveQueue, c.project(), *id, c.now, c.caller.User)
	}
	if err != nil || run.Flags[evaluation.IsQueue] == human {
		return err
	}
	run.Flags[evaluation.IsQueue] = human
	_, err = c.tx.Exec(ctx, `UPDATE evaluation_runs SET flags = $3 WHERE project_id = $1 AND id = $2`, c.project(), run.ID, run.Flags)
	return err
}

func (c command) createDefaultQueue(ctx context.Context, run *evaluation.Run) error {
	record, status, err := c.record(evaluation.RecordDraft{})
	if err != nil {
		return err
	}
	flags := evaluation.QueueFlagsOf(nil, evaluation.Flags{evaluation.IsDefault: true})
	_, err = c.tx.Exec(ctx, insertQueue, c.project(), run.ID, record.ID, run.Name, nil, flags, nil, nil, status, &evaluation.QueueData{}, record.CreatedAt, record.CreatedByID, false)
	return err
}

// secondDefault explains the violation of the index that keeps the default queue of a run single.
func secondDefault(err error) error {
	if registry.Violates(err, "evaluation_queues_default") {
		return domain.E(domain.Conflict, "The evaluation run has a default queue already.")
	}
	return err
}

// checkDefaults checks the edits of queues against what these are now.
func (c command) checkDefaults(ctx context.Context, drafts []evaluation.QueueDraft) error {
	found, err := c.queues(ctx, idsOf(drafts, func(d evaluation.QueueDraft) uuid.UUID { return d.ID }))
	if err != nil {
		return err
	}
	for _, d := range drafts {
		q, ok := found[d.ID]
		if !ok {
			continue
		}
		if d.Data == nil {
			d.Data = q.Data
		}
		if err := d.CheckDefault(q.Flags); err != nil {
			return err
		}
	}
	return nil
}

func (c command) queues(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*evaluation.Queue, error) {
	found, err := collect[evaluation.Queue](c.tx.Query(ctx,
		`SELECT `+schema.QueueColumns+` FROM evaluation_queues e WHERE e.project_id = $1 AND e.id = ANY($2) ORDER BY e.id FOR NO KEY UPDATE`, c.project(), ids))
	byID := map[uuid.UUID]*evaluation.Queue{}
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	return byID, err
}

// DeleteQueues removes queues of open runs and gives the ids of those that were there. A default
// queue is a Conflict: it goes with its run, and is archived when no step asks people.
func (r *Runs) DeleteQueues(ctx context.Context, caller domain.Principal, ids []uuid.UUID) (gone []uuid.UUID, err error) {
	err = r.transact(ctx, caller, "deleting evaluation queues", len(ids), func(c command) error {
		if err := c.deletable(ctx, ids); err != nil {
			return err
		}
		gone, err = c.deleted(ctx, "evaluation_queues", ids)
		return err
	})
	return gone, err
}

// DeleteSimpleQueues removes queues as DeleteQueues does, and the runs that were made for them.
func (r *Runs) DeleteSimpleQueues(ctx context.Context, caller domain.Principal, ids []uuid.UUID) (gone []uuid.UUID, err error) {
	err = r.transact(ctx, caller, "deleting queues with their runs", len(ids), func(c command) error {
		if err := c.deletable(ctx, ids); err != nil {
			return err
		}
		rows, err := c.tx.Query(ctx, `SELECT e.run_id FROM evaluation_queues e WHERE e.project_id = $1 AND e.id = ANY($2) AND e.with_run`, c.project(), ids)
		if err != nil {
			return err
		}
		runs, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		if gone, err = c.deleted(ctx, "evaluation_queues", ids); err != nil {
			return err
		}
		_, err = c.deleted(ctx, "evaluation_runs", runs)
		return err
	})
	return gone, err
}

func (c command) deletable(ctx context.Context, ids []uuid.UUID) error {
	if err := c.partsOpen(ctx, "evaluation_queues", "queue_id", ids); err != nil {
		return err
	}
	found, err := c.queues(ctx, ids)
	if err != nil {
		return err
	}
	for id, q := range found {
		if q.Flags[evaluation.IsDefault] && q.DeletedAt == nil {
			return domain.E(domain.Conflict, "The queue %s is the default one of its evaluation run and goes with it; it cannot be deleted alone.", id)
		}
	}
	return nil
}
