package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// AccountRequest asks for a person with an organization, a workspace and a
// project of their own. Source: contract §10.
type AccountRequest struct {
	Email string
	// Username is for people; empty means the e-mail's local part.
	Username string
	// Organization, Workspace and Project name what is made; empty means the defaults.
	Organization, Workspace, Project string
	// CreateKey also makes an API key that may do all that an owner may.
	CreateKey bool
	// Key is used instead of a new one; the zero Key means a new one.
	Key credential.Key
	// SeedDefaults fills the project with the environments and evaluators that
	// every project begins with.
	SeedDefaults bool
}

// Account is a person with all that was made for them.
type Account struct {
	User         User
	Organization Organization
	Workspace    Workspace
	Project      Project
	// Key is the account's key where one was made; the zero Key otherwise.
	Key credential.Key
}

// User is a person.
type User struct {
	ID        uuid.UUID
	Email     string
	Username  string
	CreatedAt time.Time
}

// Organization owns workspaces.
type Organization struct {
	ID        uuid.UUID
	Name      string
	OwnerID   uuid.UUID
	CreatedAt time.Time
}

// Workspace groups projects of an organization.
type Workspace struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Name           string
	CreatedAt      time.Time
}

// Project owns entities, traces and keys.
type Project struct {
	ID             domain.ProjectID
	OrganizationID uuid.UUID
	WorkspaceID    uuid.UUID
	Name           string
	IsDefault      bool
	CreatedAt      time.Time
}

// maxEmail is the longest address that SMTP carries (RFC 5321 §4.5.3.1).
const maxEmail = 254

func (q *AccountRequest) complete() error {
	q.Email = strings.TrimSpace(q.Email)
	local, host, ok := strings.Cut(q.Email, "@")
	if !ok || local == "" || host == "" || len(q.Email) > maxEmail || strings.ContainsAny(q.Email, "\x00 \t\r\n") {
		return domain.E(domain.Rejected, "%q is no e-mail address.", q.Email)
	}
	if q.Username == "" {
		q.Username = local
	}
	if q.Organization == "" {
		q.Organization = q.Username
	}
	if q.Workspace == "" {
		q.Workspace = "Default"
	}
	if q.Project == "" {
		q.Project = "Default"
	}
	return nil
}

// CreateAccount makes one account. The same e-mail again is a Conflict.
func (r *Registry) CreateAccount(ctx context.Context, q AccountRequest) (Account, error) {
	made, err := r.CreateAccounts(ctx, map[string]AccountRequest{"account": q})
	return made["account"], err
}

// CreateAccounts makes all of the named accounts or none of them.
func (r *Registry) CreateAccounts(ctx context.Context, requests map[string]AccountRequest) (map[string]Account, error) {
	made := map[string]Account{}
	err := r.transact(ctx, "creating accounts", func(tx pgx.Tx) error {
		clear(made)
		// Sorted, so that the same batch always does the same things in the same order.
		for _, name := range slices.Sorted(maps.Keys(requests)) {
			account, err := r.createAccount(ctx, tx, requests[name])
			if err != nil {
				return err
			}
			made[name] = account
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (r *Registry) createAccount(ctx context.Context, tx pgx.Tx, q AccountRequest) (Account, error) {
	if err := q.complete(); err != nil {
		return Account{}, err
	}
	a, err := r.newAccount(q)
	if err != nil {
		return Account{}, err
	}
	tag, err := tx.Exec(ctx, `INSERT INTO users (id, email, username, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (lower(email)) DO NOTHING`,
		a.User.ID, a.User.Email, a.User.Username, a.User.CreatedAt)
	if err != nil {
		return Account{}, err
	}
	if tag.RowsAffected() == 0 {
		return Account{}, &domain.Error{Kind: domain.Conflict, Message: "This e-mail address already has an account.", Detail: map[string]any{
			"message":  fmt.Sprintf("A user with email '%s' already exists.", q.Email),
			"conflict": map[string]any{"email": q.Email},
		}}
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO organizations (id, name, owner_id, created_at) VALUES ($1, $2, $3, $4)`,
		a.Organization.ID, a.Organization.Name, a.User.ID, a.Organization.CreatedAt)
	batch.Queue(`INSERT INTO workspaces (id, organization_id, name, created_at) VALUES ($1, $2, $3, $4)`,
		a.Workspace.ID, a.Workspace.OrganizationID, a.Workspace.Name, a.Workspace.CreatedAt)
	batch.Queue(`INSERT INTO projects (id, organization_id, workspace_id, name, is_default, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		uuid.UUID(a.Project.ID), a.Project.OrganizationID, a.Project.WorkspaceID, a.Project.Name, a.Project.IsDefault, a.Project.CreatedAt)
	batch.Queue(`INSERT INTO memberships (project_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)`,
		uuid.UUID(a.Project.ID), a.User.ID, domain.RoleOwner, a.User.CreatedAt)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return Account{}, err
	}
	if q.CreateKey {
		if err := r.insertKey(ctx, tx, KeyRequest{Project: a.Project.ID, User: a.User.ID, Name: "default"}, a.Key); err != nil {
			return Account{}, err
		}
	}
	if q.SeedDefaults {
		owner := domain.Principal{Project: a.Project.ID, User: a.User.ID, Role: domain.RoleOwner}
		if err := r.seed(ctx, within(tx, a.Project.ID), owner); err != nil {
			return Account{}, err
		}
	}
	return a, nil
}

func (r *Registry) newAccount(q AccountRequest) (Account, error) {
	var ids [4]uuid.UUID
	for i := range ids {
		id, err := r.newID()
		if err != nil {
			return Account{}, err
		}
		ids[i] = id
	}
	now := r.now()
	a := Account{
		User:         User{ID: ids[0], Email: q.Email, Username: q.Username, CreatedAt: now},
		Organization: Organization{ID: ids[1], Name: q.Organization, OwnerID: ids[0], CreatedAt: now},
		Workspace:    Workspace{ID: ids[2], OrganizationID: ids[1], Name: q.Workspace, CreatedAt: now},
		Project: Project{
			ID: domain.ProjectID(ids[3]), OrganizationID: ids[1], WorkspaceID: ids[2],
			Name: q.Project, IsDefault: true, CreatedAt: now,
		},
	}
	if !q.CreateKey {
		return a, nil
	}
	a.Key = q.Key
	if a.Key == (credential.Key{}) {
		key, err := credential.NewKey(r.deps.Random)
		if err != nil {
			return Account{}, err
		}
		a.Key = key
	}
	return a, nil
}

// DeleteAccounts removes the named people with their organizations and all
// that these own, and returns the projects that are gone. Their spans are in
// another store: the projects are noted as erased in the same transaction, and
// the sink removes what they have there. A person that does not exist is
// already removed. Each reference holds an id or, in Slug, an e-mail.
func (r *Registry) DeleteAccounts(ctx context.Context, people []domain.Reference) ([]domain.ProjectID, error) {
	var gone []domain.ProjectID
	err := r.transact(ctx, "deleting accounts", func(tx pgx.Tx) error {
		gone = nil
		for _, person := range people {
			projects, err := r.deleteAccount(ctx, tx, person)
			if err != nil {
				return err
			}
			gone = append(gone, projects...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

func (r *Registry) deleteAccount(ctx context.Context, tx pgx.Tx, person domain.Reference) ([]domain.ProjectID, error) {
	var user uuid.UUID
	err := tx.QueryRow(ctx, `SELECT id FROM users WHERE id = $1 OR lower(email) = lower($2) FOR UPDATE`, person.ID, strings.TrimSpace(person.Slug)).Scan(&user)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `INSERT INTO erasures (project_id, requested_at)
SELECT p.id, $2 FROM projects p JOIN organizations o ON o.id = p.organization_id WHERE o.owner_id = $1 RETURNING project_id`, user, r.now())
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM organizations WHERE owner_id = $1`, user); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM users WHERE id = $1`, user); err != nil {
		return nil, err
	}
	projects := make([]domain.ProjectID, len(ids))
	for i, id := range ids {
		projects[i] = domain.ProjectID(id)
	}
	return projects, nil
}

// Bootstrap makes sure that an account exists, for a service that starts for
// the first time: it returns the account of this e-mail, made now or before,
// and whether it is new. When the request carries a Key, that key works
// afterwards; when not, only a new account has one.
func (r *Registry) Bootstrap(ctx context.Context, q AccountRequest) (account Account, created bool, err error) {
	err = r.transact(ctx, "bootstrapping", func(tx pgx.Tx) error {
		// Several processes may start at once; the others wait and find the first one's work.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('colonnade.bootstrap'))`); err != nil {
			return err
		}
		account, created, err = r.bootstrap(ctx, tx, q)
		return err
	})
	return account, created, err
}

func (r *Registry) bootstrap(ctx context.Context, tx pgx.Tx, q AccountRequest) (Account, bool, error) {
	found, err := findAccount(ctx, tx, strings.TrimSpace(q.Email))
	if errors.Is(err, pgx.ErrNoRows) {
		q.CreateKey = true
		made, err := r.createAccount(ctx, tx, q)
		return made, true, err
	}
	if err != nil || q.Key == (credential.Key{}) {
		return found, false, err
	}
	var digest []byte
	err = tx.QueryRow(ctx, `SELECT digest FROM api_keys WHERE prefix = $1 AND project_id = $2 AND revoked_at IS NULL`, q.Key.Prefix, uuid.UUID(found.Project.ID)).Scan(&digest)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = r.insertKey(ctx, tx, KeyRequest{Project: found.Project.ID, User: found.User.ID, Name: "default"}, q.Key)
	case err == nil && !q.Key.Matches(digest):
		err = domain.E(domain.Conflict, "Another key has the prefix %s.", q.Key.Prefix)
	default:
	}
	found.Key = q.Key
	return found, false, err
}

func findAccount(ctx context.Context, tx pgx.Tx, email string) (Account, error) {
	var a Account
	err := tx.QueryRow(ctx, `
SELECT u.id, u.email, u.username, u.created_at,
       o.id, o.name, o.owner_id, o.created_at,
       w.id, w.organization_id, w.name, w.created_at,
       p.id, p.organization_id, p.workspace_id, p.name, p.is_default, p.created_at
FROM users u
JOIN organizations o ON o.owner_id = u.id
JOIN projects p ON p.organization_id = o.id
JOIN workspaces w ON w.id = p.workspace_id
WHERE lower(u.email) = lower($1)
ORDER BY p.is_default DESC, p.created_at, p.id
LIMIT 1`, email).Scan(
		&a.User.ID, &a.User.Email, &a.User.Username, &a.User.CreatedAt,
		&a.Organization.ID, &a.Organization.Name, &a.Organization.OwnerID, &a.Organization.CreatedAt,
		&a.Workspace.ID, &a.Workspace.OrganizationID, &a.Workspace.Name, &a.Workspace.CreatedAt,
		(*uuid.UUID)(&a.Project.ID), &a.Project.OrganizationID, &a.Project.WorkspaceID, &a.Project.Name, &a.Project.IsDefault, &a.Project.CreatedAt)
	return a, err
}
