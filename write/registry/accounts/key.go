package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/registry"
)

// KeyRequest asks for an API key.
type KeyRequest struct {
	Project domain.ProjectID
	// User is the member that the key acts for.
	User uuid.UUID
	// Name is for people; empty is fine.
	Name string
	// Role bounds what the key may do; empty means all that its owner may.
	Role string
	// Purpose narrows the role; empty means domain.PurposeFull.
	Purpose domain.Purpose
	// ExpiresAt ends the key; nil means never. One that has passed is Rejected.
	ExpiresAt *time.Time
}

// maxKeyName keeps a list of a project's keys within a page.
const maxKeyName = 1024

// Validate names every field that cannot work.
func (q KeyRequest) Validate() error {
	var errs []error
	if q.Project.IsZero() {
		errs = append(errs, errors.New("project: is missing"))
	}
	if q.User == uuid.Nil {
		errs = append(errs, errors.New("user: is missing"))
	}
	if len(q.Name) > maxKeyName {
		errs = append(errs, fmt.Errorf("name: at most %d bytes", maxKeyName))
	}
	if q.Role != "" && !domain.ValidRole(q.Role) {
		errs = append(errs, fmt.Errorf("role: %q is none of owner, admin, developer, editor, annotator, viewer", q.Role))
	}
	if q.Purpose != "" && !q.Purpose.Valid() {
		errs = append(errs, fmt.Errorf("purpose: %q is none of %s", q.Purpose, strings.Join(domain.Purposes(), ", ")))
	}
	return errors.Join(errs...)
}

// CreateKey makes a key and returns it; nobody will see its secret again.
// A user who is no member of the project is NotFound.
func (r *Registry) CreateKey(ctx context.Context, q KeyRequest) (credential.Key, error) {
	if err := q.Validate(); err != nil {
		return credential.Key{}, domain.Wrap(domain.Rejected, err, "%s", err)
	}
	key, err := credential.NewKey(r.db.Random())
	if err != nil {
		return credential.Key{}, err
	}
	err = r.db.Transact(ctx, "creating a key", func(tx pgx.Tx) error { return r.insertKey(ctx, tx, q, key) })
	if err != nil {
		return credential.Key{}, err
	}
	return key, nil
}

func (r *Registry) insertKey(ctx context.Context, tx pgx.Tx, q KeyRequest, key credential.Key) error {
	now := r.db.Now()
	if q.ExpiresAt != nil && !q.ExpiresAt.After(now) {
		return domain.E(domain.Rejected, "expires_at is %s, which is past: a key has to end after now, or give none for one that never ends.", q.ExpiresAt.UTC().Format(time.RFC3339))
	}
	tag, err := tx.Exec(ctx, `
INSERT INTO api_keys (prefix, digest, project_id, user_id, name, role, purpose, created_at, expires_at)
SELECT $1, $2, m.project_id, m.user_id, $5, nullif($6, ''), coalesce(nullif($9, ''), 'full'), $7, $8
FROM memberships m WHERE m.project_id = $3 AND m.user_id = $4`,
		key.Prefix, key.Digest(), uuid.UUID(q.Project), q.User, q.Name, q.Role, now, q.ExpiresAt, string(q.Purpose))
	switch {
	case registry.Violates(err, "api_keys_pkey"):
		return domain.E(domain.Conflict, "A key with the prefix %s already exists.", key.Prefix)
	case err != nil:
		return err
	case tag.RowsAffected() == 0:
		return domain.E(domain.NotFound, "The user is no member of the project.")
	default:
		return nil
	}
}

const selectKeyRole = `
SELECT coalesce(m.role, ''), coalesce(k.role, m.role, '')
FROM api_keys k LEFT JOIN memberships m ON m.project_id = k.project_id AND m.user_id = k.user_id
WHERE k.project_id = $1 AND k.prefix = $2 AND k.revoked_at IS NULL
FOR UPDATE OF k`

// RevokeKey revokes a key of the caller's project; the key is refused within a second. Unknown
// and already revoked keys are NotFound. A key with more permissions than the caller is
// Forbidden, whoever owns it: a key that was made narrow does not lock out a wider one.
func (r *Registry) RevokeKey(ctx context.Context, caller domain.Principal, prefix string) error {
	return r.db.Transact(ctx, "revoking a key", func(tx pgx.Tx) error {
		if err := lockKey(ctx, tx, caller, prefix); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE api_keys SET revoked_at = $3 WHERE project_id = $1 AND prefix = $2`, uuid.UUID(caller.Project), prefix, r.db.Now())
		return err
	})
}

// lockKey locks a key that the caller may revoke and replace.
func lockKey(ctx context.Context, tx pgx.Tx, caller domain.Principal, prefix string) error {
	var member, role string
	err := tx.QueryRow(ctx, selectKeyRole, uuid.UUID(caller.Project), prefix).Scan(&member, &role)
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.E(domain.NotFound, "Key not found.")
	}
	if err != nil {
		return err
	}
	if role = domain.LesserRole(member, role); domain.LesserRole(caller.Role, role) != role {
		return domain.E(domain.Forbidden, "The key has the role %s. A key with the role %s can revoke only keys with this role or a lesser one.", role, caller.Role)
	}
	return nil
}

// RevokeAnyKey is RevokeKey for the administration: whichever project it is of.
func (r *Registry) RevokeAnyKey(ctx context.Context, prefix string) error {
	return r.db.Transact(ctx, "revoking a key", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE api_keys SET revoked_at = $2 WHERE prefix = $1 AND revoked_at IS NULL`, prefix, r.db.Now())
		if err == nil && tag.RowsAffected() == 0 {
			err = domain.E(domain.NotFound, "Key not found.")
		}
		return err
	})
}
