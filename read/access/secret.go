package access

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Secret is a stored secret of a project without its value, which the read side cannot
// decrypt.
type Secret struct {
	Name        string `json:"name" db:"name"`
	Description string `json:"description,omitempty" db:"description"`
	// Hosts may receive the value in a header of a webhook, each as host:port.
	Hosts     []string  `json:"hosts" db:"hosts"`
	CreatedAt time.Time `json:"created_at" db:"created_at"`
	// UpdatedAt is nil until the first change.
	UpdatedAt *time.Time `json:"updated_at,omitempty" db:"updated_at"`
}

// Secrets returns the secrets of a project, ascending by name.
func (a *Access) Secrets(ctx context.Context, project domain.ProjectID) ([]Secret, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT name, description, hosts, created_at, updated_at
FROM secrets
WHERE project_id = $1
ORDER BY name
LIMIT 1000`, uuid.UUID(project))
	if err != nil {
		return nil, fmt.Errorf("access: listing secrets: %w", err)
	}
	secrets, err := pgx.CollectRows(rows, pgx.RowToStructByName[Secret])
	if err != nil {
		return nil, fmt.Errorf("access: listing secrets: %w", err)
	}
	return secrets, nil
}
