package accounts

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Place is where somebody can be a member. What is kept is a person's role in
// a project; a membership of an organization or a workspace is the same role
// in each project that it has at that moment.
type Place string

// The places, from the widest.
const (
	InOrganization Place = "organization"
	InWorkspace    Place = "workspace"
	InProject      Place = "project"
)

// MemberDraft asks for a role of a person in a place.
type MemberDraft struct {
	Of, User Ref
	Role     string
}

// Membership is a person's role in a place. A person has one in each.
type Membership struct {
	// Of is the id of the place.
	Of        uuid.UUID
	User      uuid.UUID
	Role      string
	CreatedAt time.Time
}

// setMember gives a person a role in a place; one that they had there before is
// replaced, and what their keys may do follows within a second. Who owns the
// organization stays owner.
func (r *Registry) setMember(ctx context.Context, tx pgx.Tx, place Place, m Membership) (Membership, error) {
	if !domain.ValidRole(m.Role) {
		return m, domain.E(domain.Rejected, "%q is none of owner, admin, developer, editor, annotator, viewer.", m.Role)
	}
	projects, err := changeMember(ctx, tx, place, m)
	if err != nil {
		return m, err
	}
	if len(projects) == 0 {
		return m, domain.E(domain.Rejected, "The %s has no project yet that somebody could be a member of.", place)
	}
	return m, tx.QueryRow(ctx, `WITH given AS (
INSERT INTO memberships (project_id, user_id, role, created_at) SELECT project, $2, $3, $4 FROM unnest($1::uuid[]) AS project
ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role RETURNING created_at
) SELECT min(created_at) FROM given`, projects, m.User, m.Role, r.db.Now()).Scan(&m.CreatedAt)
}

// RemoveMember ends a membership; its keys end with it. One that does not exist is NotFound.
func (r *Registry) RemoveMember(ctx context.Context, place Place, id, user uuid.UUID) error {
	return r.db.Transact(ctx, "removing a member", func(tx pgx.Tx) error {
		projects, err := changeMember(ctx, tx, place, Membership{Of: id, User: user})
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM memberships WHERE project_id = ANY($1) AND user_id = $2`, projects, user)
		if err == nil && tag.RowsAffected() == 0 {
			err = domain.E(domain.NotFound, "Membership not found.")
		}
		return err
	})
}

// findPerson gives a person's id, kept until the command ends, and NotFound
// where there is none.
func findPerson(ctx context.Context, tx pgx.Tx, person domain.Reference) (id uuid.UUID, err error) {
	if err := onePerson(ctx, tx, person); err != nil {
		return id, err
	}
	err = tx.QueryRow(ctx, `SELECT id FROM users WHERE id = $1 OR lower(email) = lower($2) FOR KEY SHARE`, person.ID, strings.TrimSpace(person.Slug)).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = domain.E(domain.NotFound, "User not found.")
	}
	return id, err
}

// onePerson refuses an id and an e-mail that are two people's: whom they mean
// nobody knows.
func onePerson(ctx context.Context, tx pgx.Tx, person domain.Reference) error {
	if person.ID == uuid.Nil || person.Slug == "" {
		return nil
	}
	var people int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM users WHERE id = $1 OR lower(email) = lower($2)`, person.ID, strings.TrimSpace(person.Slug)).Scan(&people)
	if err == nil && people > 1 {
		err = domain.E(domain.Rejected, "The id %s and the e-mail %q are two people's.", person.ID, person.Slug)
	}
	return err
}

// changeMember gives the projects of a place, locked against their deletion,
// and keeps the organization's owner what they are: nobody else could make
// another.
func changeMember(ctx context.Context, tx pgx.Tx, place Place, m Membership) (projects []uuid.UUID, err error) {
	missing, ofOwner, ofProjects := place.statements()
	var owner uuid.UUID
	err = tx.QueryRow(ctx, ofOwner, m.Of).Scan(&owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, domain.E(domain.NotFound, "%s", missing)
	case err != nil:
		return nil, err
	case owner == m.User && m.Role != domain.RoleOwner:
		return nil, domain.E(domain.Rejected, "The owner of the organization stays owner of its projects.")
	default:
	}
	rows, err := tx.Query(ctx, ofProjects, m.Of)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// statements returns the message for a place that does not exist, and the SQL that
// reads the owner of its organization and its projects.
func (p Place) statements() (missing, owner, projects string) {
	switch p {
	case InOrganization:
		return "Organization not found.",
			`SELECT owner_id FROM organizations WHERE id = $1 FOR SHARE`,
			`SELECT id FROM projects WHERE organization_id = $1 ORDER BY id FOR SHARE`
	case InWorkspace:
		return "Workspace not found.",
			`SELECT o.owner_id FROM workspaces w JOIN organizations o ON o.id = w.organization_id WHERE w.id = $1 FOR SHARE`,
			`SELECT id FROM projects WHERE workspace_id = $1 ORDER BY id FOR SHARE`
	default:
		return "Project not found.",
			`SELECT o.owner_id FROM projects p JOIN organizations o ON o.id = p.organization_id WHERE p.id = $1 FOR SHARE`,
			`SELECT id FROM projects WHERE id = $1`
	}
}
