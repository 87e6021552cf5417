package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/write/registry"
)

// Retentions returns a function that lists the projects that do not keep everything: the
// sink deletes what they do not keep.
func Retentions(pool *pgxpool.Pool) func(ctx context.Context) ([]domain.Retention, error) {
	return func(ctx context.Context) ([]domain.Retention, error) {
		rows, err := pool.Query(ctx, `SELECT project_id, days, payload_days FROM project_retention WHERE days > 0 OR payload_days > 0 ORDER BY project_id`)
		if err != nil {
			return nil, registry.Classify(err, "listing retentions")
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r domain.Retention, err error) {
			err = row.Scan((*uuid.UUID)(&r.Project), &r.Days, &r.PayloadDays)
			return r, err
		})
		return all, registry.Classify(err, "listing retentions")
	}
}

// SetRetention sets how long the caller's project keeps its spans and payloads.
func (r *Registry) SetRetention(ctx context.Context, caller domain.Principal, retention domain.Retention) error {
	if err := retention.Validate(); err != nil {
		return err
	}
	_, err := r.db.Pool().Exec(ctx, `
INSERT INTO project_retention (project_id, days, payload_days, updated_at, updated_by_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (project_id) DO UPDATE SET days = excluded.days, payload_days = excluded.payload_days, updated_at = excluded.updated_at, updated_by_id = excluded.updated_by_id`,
		uuid.UUID(caller.Project), retention.Days, retention.PayloadDays, r.db.Now(), caller.User)
	return registry.Classify(err, "setting the retention")
}
