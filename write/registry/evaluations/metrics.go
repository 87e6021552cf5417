package evaluations

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
)

// Metrics of the same place replace each other; see upsertResult.
const upsertMetrics = `
INSERT INTO evaluation_metrics AS e (project_id, run_id, scenario_id, "interval", "timestamp", id, flags, tags, meta, status, data, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (project_id, run_id, coalesce(scenario_id, '00000000-0000-0000-0000-000000000000'), coalesce("timestamp", '-infinity'), coalesce("interval", 0)) DO UPDATE SET
	flags = EXCLUDED.flags, tags = EXCLUDED.tags, meta = EXCLUDED.meta, status = EXCLUDED.status, data = EXCLUDED.data,
	updated_at = EXCLUDED.created_at, updated_by_id = EXCLUDED.created_by_id
RETURNING ` + schema.MetricsColumns

// SetMetrics sets the metrics of open runs, of their scenarios, or of
// stretches of their time; setting them again replaces them.
func (r *Runs) SetMetrics(ctx context.Context, caller domain.Principal, drafts []evaluation.MetricsDraft) (set []evaluation.Metrics, err error) {
	err = r.transact(ctx, caller, "setting metrics", len(drafts), func(c command) error {
		set, err = c.setMetrics(ctx, drafts)
		return err
	})
	return set, err
}

func (c command) setMetrics(ctx context.Context, drafts []evaluation.MetricsDraft) ([]evaluation.Metrics, error) {
	if _, err := c.open(ctx, distinct(idsOf(drafts, func(d evaluation.MetricsDraft) uuid.UUID { return d.RunID }))); err != nil {
		return nil, err
	}
	var scenarios []uuid.UUID
	for _, d := range drafts {
		if err := d.CheckShape(); err != nil {
			return nil, err
		}
		if d.ScenarioID != nil {
			scenarios = append(scenarios, *d.ScenarioID)
		}
	}
	run, err := c.runsOf(ctx, distinct(scenarios))
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(drafts))
	for i, d := range drafts {
		if d.ScenarioID != nil && run[*d.ScenarioID] != d.RunID {
			return nil, domain.E(domain.Rejected, "The evaluation run %s has no scenario %s.", d.RunID, *d.ScenarioID)
		}
		record, status, err := c.record(d.RecordDraft)
		if err != nil {
			return nil, err
		}
		rows[i] = []any{
			c.project(), d.RunID, d.ScenarioID, d.Interval, d.Timestamp, record.ID, d.Flags, d.Tags, d.Meta, status, d.Data, record.CreatedAt, record.CreatedByID,
		}
	}
	return update[evaluation.Metrics](ctx, c, upsertMetrics, ordered(drafts, byCoverage), func(i int) []any { return rows[i] })
}

// byCoverage orders metrics by what they are of.
func byCoverage(a, b *evaluation.MetricsDraft) int {
	scenario := func(d *evaluation.MetricsDraft) uuid.UUID {
		if d.ScenarioID == nil {
			return uuid.Nil
		}
		return *d.ScenarioID
	}
	moment := func(d *evaluation.MetricsDraft) int64 {
		if d.Timestamp == nil {
			return 0
		}
		return d.Timestamp.UnixMicro()
	}
	return cmp.Or(compareIDs(a.RunID, b.RunID), compareIDs(scenario(a), scenario(b)), cmp.Compare(moment(a), moment(b)))
}

const updateMetrics = `
UPDATE evaluation_metrics e SET flags = coalesce($3, e.flags), tags = coalesce($4, e.tags), meta = coalesce($5, e.meta), status = coalesce($6, e.status),
	data = coalesce($7, e.data), updated_at = $8, updated_by_id = $9
WHERE e.project_id = $1 AND e.id = $2 RETURNING ` + schema.MetricsColumns

// editMetrics changes what the drafts give, in open runs; metrics that do not exist are left out.
func (c command) editMetrics(ctx context.Context, drafts []evaluation.MetricsDraft) ([]evaluation.Metrics, error) {
	ids := idsOf(drafts, func(d evaluation.MetricsDraft) uuid.UUID { return d.ID })
	if err := c.partsOpen(ctx, "evaluation_metrics", "metrics_id", ids); err != nil {
		return nil, err
	}
	return update[evaluation.Metrics](ctx, c, updateMetrics, ordered(drafts, byID), func(i int) []any {
		d := &drafts[i]
		return []any{c.project(), d.ID, d.Flags, d.Tags, d.Meta, given(d.Status), d.Data, c.now, c.caller.User}
	})
}

// PutMetrics edits the metrics that drafts name by their ids and sets the others, as PutResults does.
func (r *Runs) PutMetrics(ctx context.Context, caller domain.Principal, drafts []evaluation.MetricsDraft) (put []evaluation.Metrics, err error) {
	edits, sets := byName(drafts)
	err = r.transact(ctx, caller, "putting metrics", len(drafts), func(c command) error {
		edited, err := c.editMetrics(ctx, edits)
		if err != nil {
			return err
		}
		set, err := c.setMetrics(ctx, sets)
		put = append(edited, set...)
		return err
	})
	return put, err
}

// DeleteMetrics removes metrics of open runs and gives the ids of those that were there.
func (r *Runs) DeleteMetrics(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]uuid.UUID, error) {
	return r.remove(ctx, caller, "evaluation_metrics", "metrics_id", ids)
}
