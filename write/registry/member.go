package registry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// Membership is a person's role in a project. A person has one in each.
type Membership struct {
	Project   domain.ProjectID
	User      uuid.UUID
	Role      string
	CreatedAt time.Time
}

// SetMember gives a person, named by id or, in Slug, by e-mail, a role in a
// project; one that they had there before is replaced, and what their keys may
// do follows within a second. Who owns the organization stays owner.
func (r *Registry) SetMember(ctx context.Context, project domain.ProjectID, person domain.Reference, role string) (Membership, error) {
	m := Membership{Project: project, Role: role}
	if !domain.ValidRole(role) {
		return m, domain.E(domain.Rejected, "%q is none of owner, admin, developer, editor, annotator, viewer.", role)
	}
	err := r.transact(ctx, "setting a member", func(tx pgx.Tx) (err error) {
		if m.User, err = findPerson(ctx, tx, person); err != nil {
			return err
		}
		if err := mayChangeMember(ctx, tx, project, m.User); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO memberships (project_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role RETURNING created_at`,
			uuid.UUID(project), m.User, role, r.now()).Scan(&m.CreatedAt)
	})
	return m, err
}

// RemoveMember ends a membership; its keys end with it. One that does not exist is NotFound.
func (r *Registry) RemoveMember(ctx context.Context, project domain.ProjectID, user uuid.UUID) error {
	return r.transact(ctx, "removing a member", func(tx pgx.Tx) error {
		if err := mayChangeMember(ctx, tx, project, user); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM memberships WHERE project_id = $1 AND user_id = $2`, uuid.UUID(project), user)
		if err == nil && tag.RowsAffected() == 0 {
			err = domain.E(domain.NotFound, "Membership not found.")
		}
		return err
	})
}

// KeyMade is a new key and whose it is.
type KeyMade struct {
	Key  credential.Key
	User uuid.UUID
}

// PersonKey makes a key for a person, named by id or, in Slug, by e-mail, who
// is a member of the project of the request.
func (r *Registry) PersonKey(ctx context.Context, person domain.Reference, q KeyRequest) (KeyMade, error) {
	err := r.transact(ctx, "finding a person", func(tx pgx.Tx) (err error) {
		q.User, err = findPerson(ctx, tx, person)
		return err
	})
	if err != nil {
		return KeyMade{}, err
	}
	key, err := r.CreateKey(ctx, q)
	return KeyMade{Key: key, User: q.User}, err
}

// findPerson gives a person's id, and NotFound where there is none.
func findPerson(ctx context.Context, tx pgx.Tx, person domain.Reference) (id uuid.UUID, err error) {
	err = tx.QueryRow(ctx, `SELECT id FROM users WHERE id = $1 OR lower(email) = lower($2)`, person.ID, strings.TrimSpace(person.Slug)).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = domain.E(domain.NotFound, "User not found.")
	}
	return id, err
}

// mayChangeMember locks the project against its deletion, and keeps its
// organization's owner what they are: nobody else could make another.
func mayChangeMember(ctx context.Context, tx pgx.Tx, project domain.ProjectID, user uuid.UUID) error {
	var owner uuid.UUID
	err := tx.QueryRow(ctx, `SELECT o.owner_id FROM projects p JOIN organizations o ON o.id = p.organization_id WHERE p.id = $1 FOR SHARE`, uuid.UUID(project)).Scan(&owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return domain.E(domain.NotFound, "Project not found.")
	case err == nil && owner == user:
		return domain.E(domain.Rejected, "The owner of the organization stays owner of its projects.")
	default:
		return err
	}
}
