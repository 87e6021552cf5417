// Package accounts holds the commands on accounts: users, organizations,
// workspaces, projects, memberships and API keys. Several are created at once as a
// graph, all or none (graph.go, build.go); removing one removes what it owns and
// records the projects whose spans the sink must delete (remove.go, erased.go).
// What a key permits is read/access; a new project gets its first entities from
// write/registry/entities.
package accounts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/registry"
	"colonnade/write/registry/entities"
)

// Registry runs the commands on accounts. It is safe for concurrent use.
type Registry struct {
	db       *registry.DB
	entities *entities.Registry
}

// New returns the commands on accounts; entities fills new projects.
func New(db *registry.DB, entities *entities.Registry) *Registry {
	return &Registry{db: db, entities: entities}
}

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

// address reads an e-mail address and its local part.
func address(text string) (email, local string, err error) {
	email = strings.TrimSpace(text)
	local, host, ok := strings.Cut(email, "@")
	if !ok || local == "" || host == "" || len(email) > maxEmail || strings.ContainsAny(email, "\x00 \t\r\n") {
		return "", "", domain.E(domain.Rejected, "%q is no e-mail address.", email)
	}
	return email, local, nil
}

func (q *AccountRequest) complete() error {
	email, local, err := address(q.Email)
	if err != nil {
		return err
	}
	q.Email = email
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

// AccountBatch asks for several accounts, each under a name of the caller's.
type AccountBatch struct {
	Accounts map[string]AccountRequest
	// DryRun returns what would be made, and changes nothing.
	DryRun bool
}

// CreateAccounts makes all of the named accounts or none of them.
func (r *Registry) CreateAccounts(ctx context.Context, q AccountBatch) (map[string]Account, error) {
	made := map[string]Account{}
	err := r.rehearse(ctx, "creating accounts", q.DryRun, func(tx pgx.Tx) error {
		clear(made)
		// Sorted, so that the same batch always does the same things in the same order.
		for _, name := range slices.Sorted(maps.Keys(q.Accounts)) {
			account, err := r.createAccount(ctx, tx, q.Accounts[name])
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
	owner := Ref{Local: accountName}
	g := q.graph(owner)
	g.Users = map[string]UserDraft{accountName: {Email: q.Email, Username: q.Username}}
	made, err := r.build(ctx, tx, g)
	if err != nil {
		return Account{}, err
	}
	return Account{
		User: made.Users[accountName], Organization: made.Organizations[accountName], Workspace: made.Workspaces[accountName],
		Project: made.Projects[accountName], Key: made.Keys[accountName].Key,
	}, nil
}

// accountName is what each part of an account is called in its graph.
const accountName = "account"

// graph asks for all of an account but its person.
func (q *AccountRequest) graph(owner Ref) Graph {
	own := Ref{Local: accountName}
	g := Graph{
		Organizations: map[string]OrganizationDraft{accountName: {Name: q.Organization, Owner: owner}},
		Workspaces:    map[string]WorkspaceDraft{accountName: {Name: q.Workspace, Organization: own}},
		Projects:      map[string]ProjectDraft{accountName: {Name: q.Project, Organization: own, Workspace: own, IsDefault: true}},
		SeedDefaults:  q.SeedDefaults,
	}
	if q.CreateKey {
		g.Keys = map[string]KeyDraft{accountName: {Project: own, User: owner, Name: "default", Key: q.Key}}
	}
	return g
}

// Bootstrap makes sure that an account exists, for a service that starts for
// the first time: it returns the account of this e-mail, made now or before,
// and whether it is new. When the request carries a Key, that key works
// afterwards, but for one that was revoked: it stays so, and the account's Key is
// empty. When the request carries none, only a new account has one.
func (r *Registry) Bootstrap(ctx context.Context, q AccountRequest) (account Account, created bool, err error) {
	err = r.db.Transact(ctx, "bootstrapping", func(tx pgx.Tx) error {
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
		made, err := r.createOrFurnish(ctx, tx, q)
		return made, true, err
	}
	if err != nil || q.Key == (credential.Key{}) {
		return found, false, err
	}
	var digest []byte
	var revoked bool
	err = tx.QueryRow(ctx, `SELECT digest, revoked_at IS NOT NULL FROM api_keys WHERE prefix = $1 AND project_id = $2`, q.Key.Prefix, uuid.UUID(found.Project.ID)).Scan(&digest, &revoked)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = r.insertKey(ctx, tx, KeyRequest{Project: found.Project.ID, User: found.User.ID, Name: "default"}, q.Key)
	case err == nil && !q.Key.Matches(digest):
		err = domain.E(domain.Conflict, "Another key has the prefix %s.", q.Key.Prefix)
	case revoked:
		return found, false, err
	default:
	}
	found.Key = q.Key
	return found, false, err
}

// createOrFurnish makes an account, or its places alone for a person who is
// left without them, or was made without.
func (r *Registry) createOrFurnish(ctx context.Context, tx pgx.Tx, q AccountRequest) (Account, error) {
	person, err := findPerson(ctx, tx, domain.Reference{Slug: q.Email})
	if domain.KindOf(err) == domain.NotFound {
		return r.createAccount(ctx, tx, q)
	}
	if err != nil {
		return Account{}, err
	}
	if err := q.complete(); err != nil {
		return Account{}, err
	}
	made, err := r.build(ctx, tx, q.graph(Ref{Reference: domain.Reference{ID: person}}))
	if err != nil {
		return Account{}, err
	}
	a, err := findAccount(ctx, tx, q.Email)
	a.Key = made.Keys[accountName].Key
	return a, err
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
