package accounts

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// MemberRequest asks for a role of a person in the caller's project.
type MemberRequest struct {
	// Email names the person, who is created if nobody has it.
	Email string
	// Username is that of a new person; empty means the local part of the e-mail.
	Username string
	Role     string
}

// AddedMember is a new member of a project.
type AddedMember struct {
	User       User
	Membership Membership
	// Key is the first key of a person who is new; the zero Key for one who exists, because
	// nobody else gets a credential of theirs.
	Key credential.Key
}

// AddMember makes a person a member of the caller's project. A person who is one already is a
// Conflict, and a role beyond the caller's own is Forbidden.
func (r *Registry) AddMember(ctx context.Context, caller domain.Principal, q MemberRequest) (AddedMember, error) {
	key, err := credential.NewKey(r.db.Random())
	if err != nil {
		return AddedMember{}, err
	}
	var added AddedMember
	err = r.db.Transact(ctx, "adding a member", func(tx pgx.Tx) error {
		if err := mayGive(caller, q.Role); err != nil {
			return err
		}
		_, err := findPerson(ctx, tx, domain.Reference{Slug: q.Email})
		isNew := domain.KindOf(err) == domain.NotFound
		if err != nil && !isNew {
			return err
		}
		b := &builder{r: r, tx: tx, ids: map[[2]string]uuid.UUID{}}
		user, err := b.user(ctx, "member", UserDraft{Email: q.Email, Username: q.Username, Existing: !isNew})
		if err != nil {
			return err
		}
		added = AddedMember{User: user}
		if _, err := r.roleOf(ctx, tx, caller, user.ID); err == nil {
			return domain.E(domain.Conflict, "%s is a member of the project already.", user.Email)
		} else if domain.KindOf(err) != domain.NotFound {
			return err
		}
		added.Membership, err = r.setMember(ctx, tx, InProject, Membership{Of: uuid.UUID(caller.Project), User: user.ID, Role: q.Role})
		if err != nil || !isNew {
			return err
		}
		added.Key = key
		return r.insertKey(ctx, tx, KeyRequest{Project: caller.Project, User: user.ID, Name: "first"}, key)
	})
	return added, err
}

// ChangeMember gives a member of the caller's project another role; what their keys may do
// follows within a second. A role beyond the caller's own, before or after, is Forbidden.
func (r *Registry) ChangeMember(ctx context.Context, caller domain.Principal, user uuid.UUID, role string) (m Membership, err error) {
	err = r.db.Transact(ctx, "changing the role of a member", func(tx pgx.Tx) error {
		if err := r.mayChange(ctx, tx, caller, user); err != nil {
			return err
		}
		if err := mayGive(caller, role); err != nil {
			return err
		}
		m, err = r.setMember(ctx, tx, InProject, Membership{Of: uuid.UUID(caller.Project), User: user, Role: role})
		return err
	})
	return m, err
}

// EndMember ends a membership of the caller's project; the member's keys end with it.
func (r *Registry) EndMember(ctx context.Context, caller domain.Principal, user uuid.UUID) error {
	return r.db.Transact(ctx, "ending a membership", func(tx pgx.Tx) error {
		if err := r.mayChange(ctx, tx, caller, user); err != nil {
			return err
		}
		if _, err := changeMember(ctx, tx, InProject, Membership{Of: uuid.UUID(caller.Project), User: user}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM memberships WHERE project_id = $1 AND user_id = $2`, uuid.UUID(caller.Project), user)
		return err
	})
}

// TransferOrganization makes a member of the caller's project the owner of its organization and
// of all its projects. Only the owner may; they stay a member as an admin.
func (r *Registry) TransferOrganization(ctx context.Context, caller domain.Principal, organization, to uuid.UUID) (o Organization, err error) {
	err = r.db.Transact(ctx, "transferring an organization", func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT id, name, owner_id, created_at FROM organizations WHERE id = $1 AND id = $2 FOR UPDATE`, organization, caller.Organization).
			Scan(&o.ID, &o.Name, &o.OwnerID, &o.CreatedAt)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return domain.E(domain.NotFound, "Organization not found.")
		case err != nil:
			return err
		case o.OwnerID != caller.User || caller.Role != domain.RoleOwner:
			return domain.E(domain.Forbidden, "Only the owner of an organization transfers it.")
		}
		if _, err := r.roleOf(ctx, tx, caller, to); err != nil {
			return err
		}
		if to == caller.User {
			return nil
		}
		if _, err := tx.Exec(ctx, `UPDATE organizations SET owner_id = $2 WHERE id = $1`, o.ID, to); err != nil {
			return err
		}
		o.OwnerID = to
		if _, err := r.setMember(ctx, tx, InOrganization, Membership{Of: o.ID, User: to, Role: domain.RoleOwner}); err != nil {
			return err
		}
		_, err = r.setMember(ctx, tx, InOrganization, Membership{Of: o.ID, User: caller.User, Role: domain.RoleAdmin})
		return err
	})
	return o, err
}

// roleOf returns the role of a member of the caller's project, locked until the command ends; one
// who is no member is NotFound.
func (r *Registry) roleOf(ctx context.Context, tx pgx.Tx, caller domain.Principal, user uuid.UUID) (role string, err error) {
	err = tx.QueryRow(ctx, `SELECT role FROM memberships WHERE project_id = $1 AND user_id = $2 FOR UPDATE`, uuid.UUID(caller.Project), user).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		err = domain.E(domain.NotFound, "Membership not found.")
	}
	return role, err
}

// mayChange refuses a change of a member with a role beyond the caller's own.
func (r *Registry) mayChange(ctx context.Context, tx pgx.Tx, caller domain.Principal, user uuid.UUID) error {
	role, err := r.roleOf(ctx, tx, caller, user)
	if err != nil {
		return err
	}
	return mayGive(caller, role)
}

// mayGive refuses a role beyond the caller's own.
func mayGive(caller domain.Principal, role string) error {
	if !domain.ValidRole(role) {
		return domain.E(domain.Rejected, "%q is none of owner, admin, developer, editor, annotator, viewer.", role)
	}
	if domain.LesserRole(caller.Role, role) != role {
		return domain.E(domain.Forbidden, "Your role %s does not decide about the role %s.", caller.Role, role)
	}
	return nil
}
