package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/write/registry"
)

// Erased tells which projects were deleted at or after a moment: their spans
// must go, also those that arrive later. It is what the sink asks.
func Erased(pool *pgxpool.Pool) func(ctx context.Context, since time.Time) ([]domain.ProjectID, error) {
	return func(ctx context.Context, since time.Time) ([]domain.ProjectID, error) {
		rows, err := pool.Query(ctx, `SELECT project_id FROM project_deletions WHERE requested_at >= $1 ORDER BY requested_at, project_id`, since)
		if err != nil {
			return nil, registry.Classify(err, "listing erased projects")
		}
		gone, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (domain.ProjectID, error) {
			id, err := pgx.RowTo[uuid.UUID](row)
			return domain.ProjectID(id), err
		})
		return gone, registry.Classify(err, "listing erased projects")
	}
}
