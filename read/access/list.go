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

// Key is an API key in a list, without its secret and the digest of the secret.
type Key struct {
	Prefix string `json:"prefix" db:"prefix"`
	Name   string `json:"name,omitempty" db:"name"`
	// Role limits the permissions of the key; nil means all permissions of its owner.
	Role *string `json:"role,omitempty" db:"role"`
	// Purpose narrows the role: full, ingest, read or sql.
	Purpose   string     `json:"purpose" db:"purpose"`
	UserID    uuid.UUID  `json:"user_id" db:"user_id"`
	CreatedAt time.Time  `json:"created_at" db:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" db:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty" db:"revoked_at"`
	// LastUsedAt is about a minute behind; nil for a key that was not used yet.
	LastUsedAt *time.Time `json:"last_used_at,omitempty" db:"last_used_at"`
}

// Keys returns the keys of a project, newest first, and the revoked ones on request.
func (a *Access) Keys(ctx context.Context, project domain.ProjectID, revoked bool) ([]Key, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT prefix, name, role, purpose, user_id, created_at, expires_at, revoked_at, last_used_at
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

// Project is a project in the representation for its members. Source: contract §7.
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

// Current returns the project of the caller's key, the only one that a key can see.
func (a *Access) Current(ctx context.Context, caller domain.Principal) (Project, error) {
	p, err := one[Project](ctx, a, "Project not found", `
SELECT o.id AS organization_id, o.name AS organization_name, w.id AS workspace_id, w.name AS workspace_name,
       p.id AS project_id, p.name AS project_name, p.is_default, m.role, false AS is_demo
FROM projects p
JOIN workspaces w ON w.id = p.workspace_id
JOIN organizations o ON o.id = p.organization_id
JOIN memberships m ON m.project_id = p.id AND m.user_id = $2
WHERE p.id = $1`, uuid.UUID(caller.Project), caller.User)
	if err != nil {
		return Project{}, err
	}
	p.UserRole = caller.Role
	return p, nil
}

// Organization owns workspaces. Source: contract §5.8, §7.
type Organization struct {
	ID        uuid.UUID `json:"id" db:"id"`
	Name      string    `json:"name" db:"name"`
	OwnerID   uuid.UUID `json:"owner_id" db:"owner_id"`
	CreatedAt time.Time `json:"created_at" db:"created_at"`
}

// Organization returns the organization of the caller's project, the only one that a key can see.
func (a *Access) Organization(ctx context.Context, caller domain.Principal) (Organization, error) {
	return one[Organization](ctx, a, "Organization not found", `
SELECT o.id, o.name, o.owner_id, o.created_at
FROM organizations o
JOIN projects p ON p.organization_id = o.id
JOIN memberships m ON m.project_id = p.id AND m.user_id = $2
WHERE p.id = $1`, uuid.UUID(caller.Project), caller.User)
}

// Workspace groups projects of an organization. Source: contract §5.8, §7.
type Workspace struct {
	ID             uuid.UUID `json:"id" db:"id"`
	Name           string    `json:"name" db:"name"`
	OrganizationID uuid.UUID `json:"organization_id" db:"organization_id"`
	CreatedAt      time.Time `json:"created_at" db:"created_at"`
}

// Workspace returns the workspace of the caller's project, the only one that a key can see.
func (a *Access) Workspace(ctx context.Context, caller domain.Principal) (Workspace, error) {
	return one[Workspace](ctx, a, "Workspace not found", `
SELECT w.id, w.name, w.organization_id, w.created_at
FROM workspaces w
JOIN projects p ON p.workspace_id = w.id
JOIN memberships m ON m.project_id = p.id AND m.user_id = $2
WHERE p.id = $1`, uuid.UUID(caller.Project), caller.User)
}

// one reads the only row of a query. It returns NotFound without a row.
func one[T any](ctx context.Context, a *Access, missing, sql string, args ...any) (T, error) {
	var zero T
	rows, err := a.deps.Pool.Query(ctx, sql, args...)
	if err != nil {
		return zero, fmt.Errorf("access: query of the caller's account: %w", err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return zero, domain.E(domain.NotFound, "%s", missing)
	}
	if err != nil {
		return zero, fmt.Errorf("access: query of the caller's account: %w", err)
	}
	return found, nil
}

// Profile is the account of the caller's key.
type Profile struct {
	ID        uuid.UUID `json:"id" db:"id"`
	UID       uuid.UUID `json:"uid" db:"uid"`
	Username  string    `json:"username" db:"username"`
	Email     string    `json:"email" db:"email"`
	CreatedAt time.Time `json:"created_at" db:"created_at"`
}

// Profile returns the account that owns the caller's key.
func (a *Access) Profile(ctx context.Context, caller domain.Principal) (Profile, error) {
	return one[Profile](ctx, a, "Profile not found", `
SELECT u.id, u.id AS uid, u.username, u.email, u.created_at
FROM users u
JOIN memberships m ON m.user_id = u.id AND m.project_id = $1
WHERE u.id = $2`, uuid.UUID(caller.Project), caller.User)
}
