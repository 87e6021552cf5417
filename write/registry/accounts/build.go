package accounts

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// builder makes one graph; ids are what it made so far, by kind and name.
type builder struct {
	r    *Registry
	tx   pgx.Tx
	seed bool
	ids  map[[2]string]uuid.UUID
}

// id resolves a reference to a place; that it exists is for its user to see.
func (b *builder) id(kind string, ref Ref) (uuid.UUID, error) {
	if ref.Local == "" {
		return ref.ID, nil
	}
	id, ok := b.ids[[2]string{kind, ref.Local}]
	if !ok {
		return id, domain.E(domain.Rejected, "The reference %q names no %s of this request.", ref.Local, kind)
	}
	return id, nil
}

func (b *builder) person(ctx context.Context, ref Ref) (uuid.UUID, error) {
	if ref.Local != "" {
		return b.id("user", ref)
	}
	return findPerson(ctx, b.tx, ref.Reference)
}

// name makes the id of something new and notes it.
func (b *builder) name(kind, name string) (uuid.UUID, error) {
	id, err := b.r.db.NewID()
	b.ids[[2]string{kind, name}] = id
	return id, err
}

func (b *builder) user(ctx context.Context, name string, d UserDraft) (User, error) {
	email, local, err := address(d.Email)
	if err != nil {
		return User{}, err
	}
	u := User{Email: email, Username: d.Username, CreatedAt: b.r.db.Now()}
	if u.Username == "" {
		u.Username = local
	}
	if u.ID, err = b.name("user", name); err != nil {
		return u, err
	}
	tag, err := b.tx.Exec(ctx, `INSERT INTO users (id, email, username, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (lower(email)) DO NOTHING`,
		u.ID, u.Email, u.Username, u.CreatedAt)
	if err == nil && tag.RowsAffected() == 0 && d.Existing {
		err = b.tx.QueryRow(ctx, `SELECT id, email, username, created_at FROM users WHERE lower(email) = lower($1) FOR KEY SHARE`, email).
			Scan(&u.ID, &u.Email, &u.Username, &u.CreatedAt)
		b.ids[[2]string{"user", name}] = u.ID
		return u, err
	}
	if err == nil && tag.RowsAffected() == 0 {
		err = &domain.Error{Kind: domain.Conflict, Message: "This e-mail address already has an account.", Detail: map[string]any{
			"message":  "A user with email '" + email + "' already exists.",
			"conflict": map[string]any{"email": email},
		}}
	}
	return u, err
}

func (b *builder) organization(ctx context.Context, name string, d OrganizationDraft) (Organization, error) {
	o := Organization{Name: d.Name, CreatedAt: b.r.db.Now()}
	var err error
	if o.OwnerID, err = b.person(ctx, d.Owner); err != nil {
		return o, err
	}
	if o.ID, err = b.name("organization", name); err != nil {
		return o, err
	}
	_, err = b.tx.Exec(ctx, `INSERT INTO organizations (id, name, owner_id, created_at) VALUES ($1, $2, $3, $4)`, o.ID, o.Name, o.OwnerID, o.CreatedAt)
	return o, err
}

func (b *builder) workspace(ctx context.Context, name string, d WorkspaceDraft) (Workspace, error) {
	w := Workspace{Name: d.Name, CreatedAt: b.r.db.Now()}
	var err error
	if w.OrganizationID, err = b.id("organization", d.Organization); err != nil {
		return w, err
	}
	// Locked against its deletion.
	err = b.tx.QueryRow(ctx, `SELECT id FROM organizations WHERE id = $1 FOR SHARE`, w.OrganizationID).Scan(&w.OrganizationID)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, domain.E(domain.NotFound, "Organization not found.")
	}
	if err != nil {
		return w, err
	}
	if w.ID, err = b.name("workspace", name); err != nil {
		return w, err
	}
	_, err = b.tx.Exec(ctx, `INSERT INTO workspaces (id, organization_id, name, created_at) VALUES ($1, $2, $3, $4)`, w.ID, w.OrganizationID, w.Name, w.CreatedAt)
	return w, err
}

func (b *builder) project(ctx context.Context, name string, d ProjectDraft) (Project, error) {
	p := Project{Name: d.Name, IsDefault: d.IsDefault, CreatedAt: b.r.db.Now()}
	var err error
	if p.OrganizationID, err = b.id("organization", d.Organization); err != nil {
		return p, err
	}
	if p.WorkspaceID, err = b.id("workspace", d.Workspace); err != nil {
		return p, err
	}
	owner, err := b.room(ctx, p)
	if err != nil {
		return p, err
	}
	id, err := b.name("project", name)
	if err != nil {
		return p, err
	}
	p.ID = domain.ProjectID(id)
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO projects (id, organization_id, workspace_id, name, is_default, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, p.OrganizationID, p.WorkspaceID, p.Name, p.IsDefault, p.CreatedAt)
	batch.Queue(`INSERT INTO memberships (project_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)`, id, owner, domain.RoleOwner, p.CreatedAt)
	if err := b.tx.SendBatch(ctx, batch).Close(); err != nil || !b.seed {
		return p, err
	}
	return p, b.r.entities.Seed(ctx, b.tx, domain.Principal{Project: p.ID, User: owner, Role: domain.RoleOwner})
}

// room finds who will own a project, and locks the organization: against its
// deletion, and so that of two new projects only one becomes its default. The
// owner, whom the project's membership names, is locked before it, as by who
// deletes both.
func (b *builder) room(ctx context.Context, p Project) (owner uuid.UUID, err error) {
	err = b.tx.QueryRow(ctx, `SELECT u.id FROM organizations o JOIN users u ON u.id = o.owner_id WHERE o.id = $1 FOR KEY SHARE OF u`, p.OrganizationID).Scan(&owner)
	if err == nil {
		err = b.tx.QueryRow(ctx, `SELECT owner_id FROM organizations WHERE id = $1 FOR NO KEY UPDATE`, p.OrganizationID).Scan(&owner)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return owner, domain.E(domain.NotFound, "Organization not found.")
	}
	if err != nil {
		return owner, err
	}
	var organization uuid.UUID
	err = b.tx.QueryRow(ctx, `SELECT organization_id FROM workspaces WHERE id = $1 FOR SHARE`, p.WorkspaceID).Scan(&organization)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return owner, domain.E(domain.NotFound, "Workspace not found.")
	case err != nil:
		return owner, err
	case organization != p.OrganizationID:
		return owner, domain.E(domain.Rejected, "The workspace is of another organization.")
	case !p.IsDefault:
		return owner, nil
	default:
	}
	var taken bool
	err = b.tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM projects WHERE organization_id = $1 AND is_default)`, p.OrganizationID).Scan(&taken)
	if err == nil && taken {
		err = domain.E(domain.Conflict, "The organization already has a default project.")
	}
	return owner, err
}

func (b *builder) member(ctx context.Context, place Place, d MemberDraft) (Membership, error) {
	m := Membership{Role: d.Role}
	var err error
	if m.User, err = b.person(ctx, d.User); err != nil {
		return m, err
	}
	if m.Of, err = b.id(string(place), d.Of); err != nil {
		return m, err
	}
	return b.r.setMember(ctx, b.tx, place, m)
}

func (b *builder) key(ctx context.Context, _ string, d KeyDraft) (KeyMade, error) {
	m := KeyMade{Key: d.Key, KeyRequest: KeyRequest{Name: d.Name, Purpose: d.Purpose, ExpiresAt: d.ExpiresAt}}
	project, err := b.id("project", d.Project)
	if err != nil {
		return m, err
	}
	m.Project = domain.ProjectID(project)
	if m.User, err = b.person(ctx, d.User); err != nil {
		return m, err
	}
	if m.Key == (credential.Key{}) {
		if m.Key, err = credential.NewKey(b.r.db.Random()); err != nil {
			return m, err
		}
	}
	return m, b.r.insertKey(ctx, b.tx, m.KeyRequest, m.Key)
}
