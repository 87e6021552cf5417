package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Key is an API key as a list shows it: never its secret, nor the digest.
type Key struct {
	Prefix string `json:"prefix" db:"prefix"`
	Name   string `json:"name,omitempty" db:"name"`
	// Role bounds what the key may do; nil means all that its owner may.
	Role      *string    `json:"role,omitempty" db:"role"`
	UserID    uuid.UUID  `json:"user_id" db:"user_id"`
	CreatedAt time.Time  `json:"created_at" db:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" db:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty" db:"revoked_at"`
}

// Keys lists the keys of a project, newest first; revoked ones when asked for.
func (a *Access) Keys(ctx context.Context, project domain.ProjectID, revoked bool) ([]Key, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT prefix, name, role, user_id, created_at, expires_at, revoked_at
FROM api_keys
WHERE project_id = $1 AND ($2 OR revoked_at IS NULL)
ORDER BY created_at DESC, prefix
LIMIT 1000`, uuid.UUID(project), revoked)
	if err != nil {
		return nil, fmt.Errorf("access: listing keys: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByName[Key])
	if err != nil {
		return nil, fmt.Errorf("access: listing keys: %w", err)
	}
	return keys, nil
}

// Project is a project as its member sees it. Source: contract §7.
type Project struct {
	OrganizationID   uuid.UUID `json:"organization_id" db:"organization_id"`
	OrganizationName string    `json:"organization_name" db:"organization_name"`
	WorkspaceID      uuid.UUID `json:"workspace_id" db:"workspace_id"`
	WorkspaceName    string    `json:"workspace_name" db:"workspace_name"`
	ProjectID        uuid.UUID `json:"project_id" db:"project_id"`
	ProjectName      string    `json:"project_name" db:"project_name"`
	IsDefaultProject bool      `json:"is_default_project" db:"is_default"`
	UserRole         string    `json:"user_role" db:"role"`
	IsDemo           bool      `json:"is_demo" db:"is_demo"`
}

// Current is the project of the caller's key, the only one that a key sees.
func (a *Access) Current(ctx context.Context, caller domain.Principal) (Project, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT o.id AS organization_id, o.name AS organization_name, w.id AS workspace_id, w.name AS workspace_name,
       p.id AS project_id, p.name AS project_name, p.is_default, m.role, false AS is_demo
FROM projects p
JOIN workspaces w ON w.id = p.workspace_id
JOIN organizations o ON o.id = p.organization_id
JOIN memberships m ON m.project_id = p.id AND m.user_id = $2
WHERE p.id = $1`, uuid.UUID(caller.Project), caller.User)
	if err != nil {
		return Project{}, fmt.Errorf("access: reading a project: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Project])
	if errors.Is(err, pgx.ErrNoRows) {
		return Project{}, domain.E(domain.NotFound, "Project not found")
	}
	if err != nil {
		return Project{}, fmt.Errorf("access: reading a project: %w", err)
	}
	p.UserRole = caller.Role
	return p, nil
}

// Profile is the person behind the caller's key.
type Profile struct {
	ID        uuid.UUID `json:"id" db:"id"`
	UID       uuid.UUID `json:"uid" db:"uid"`
	Username  string    `json:"username" db:"username"`
	Email     string    `json:"email" db:"email"`
	CreatedAt time.Time `json:"created_at" db:"created_at"`
}

// Profile reads the owner of the caller's key.
func (a *Access) Profile(ctx context.Context, caller domain.Principal) (Profile, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT u.id, u.id AS uid, u.username, u.email, u.created_at
FROM users u
JOIN memberships m ON m.user_id = u.id AND m.project_id = $1
WHERE u.id = $2`, uuid.UUID(caller.Project), caller.User)
	if err != nil {
		return Profile{}, fmt.Errorf("access: reading a profile: %w", err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Profile])
	if errors.Is(err, pgx.ErrNoRows) {
		return Profile{}, domain.E(domain.NotFound, "Profile not found")
	}
	if err != nil {
		return Profile{}, fmt.Errorf("access: reading a profile: %w", err)
	}
	return p, nil
}
