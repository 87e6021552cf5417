package access

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Member is a person with a role in a project.
type Member struct {
	UserID    uuid.UUID `json:"user_id" db:"user_id"`
	Email     string    `json:"email" db:"email"`
	Username  string    `json:"username" db:"username"`
	Role      string    `json:"role" db:"role"`
	CreatedAt time.Time `json:"created_at" db:"created_at"`
}

// Members returns the members of a project, by the time at which they became members.
func (a *Access) Members(ctx context.Context, project domain.ProjectID) ([]Member, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT u.id AS user_id, u.email, u.username, m.role, m.created_at
FROM memberships m
JOIN users u ON u.id = m.user_id
WHERE m.project_id = $1
ORDER BY m.created_at, u.id
LIMIT 10000`, uuid.UUID(project))
	if err != nil {
		return nil, fmt.Errorf("access: listing members: %w", err)
	}
	members, err := pgx.CollectRows(rows, pgx.RowToStructByName[Member])
	if err != nil {
		return nil, fmt.Errorf("access: listing members: %w", err)
	}
	return members, nil
}
