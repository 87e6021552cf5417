package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/registry"
)

// MaxOverlap bounds how long a key works beside the one that replaces it.
const MaxOverlap = 30 * 24 * time.Hour

const copyKey = `
INSERT INTO api_keys (prefix, digest, project_id, user_id, name, role, purpose, created_at, expires_at)
SELECT $1, $2, project_id, user_id, name, role, purpose, $3, least(expires_at, $4)
FROM api_keys WHERE prefix = $5`

// RotateKey makes a key of the same member, name, role and purpose as another one, and lets the
// other one end after the overlap, or earlier if it ends earlier. A caller rotates its own keys
// only, because a key of another member would let the caller act as that member. The new key keeps the end of the old one, and ends no later than the
// caller's credential.
func (r *Registry) RotateKey(ctx context.Context, caller domain.Principal, prefix string, overlap time.Duration) (credential.Key, time.Time, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return credential.Key{}, time.Time{}, domain.E(domain.Rejected, "The overlap is at most %d days.", int(MaxOverlap.Hours()/24))
	}
	key, err := credential.NewKey(r.db.Random())
	if err != nil {
		return credential.Key{}, time.Time{}, err
	}
	var ends time.Time
	err = r.db.Transact(ctx, "rotating a key", func(tx pgx.Tx) error {
		if err := lockKey(ctx, tx, caller, prefix); err != nil {
			return err
		}
		var owner uuid.UUID
		if err := tx.QueryRow(ctx, `SELECT user_id FROM api_keys WHERE prefix = $1`, prefix).Scan(&owner); err != nil {
			return err
		}
		if owner != caller.User {
			return domain.E(domain.Forbidden, "The key acts for another member, who alone may rotate it.")
		}
		var last *time.Time
		if !caller.Expires.IsZero() {
			last = &caller.Expires
		}
		now := r.db.Now()
		if _, err := tx.Exec(ctx, copyKey, key.Prefix, key.Digest(), now, last, prefix); err != nil {
			return err
		}
		var before *time.Time
		err := tx.QueryRow(ctx, `
UPDATE api_keys SET expires_at = least(expires_at, $2) WHERE prefix = $1
RETURNING (SELECT expires_at FROM api_keys WHERE prefix = $1), expires_at`, prefix, now.Add(overlap)).Scan(&before, &ends)
		if err == nil && before != nil && !before.After(now) {
			return domain.E(domain.Conflict, "The key has ended. Make a new one.")
		}
		return err
	})
	if err != nil {
		return credential.Key{}, time.Time{}, err
	}
	return key, ends.UTC(), nil
}

// Used returns a function that stores when keys were last used, by their prefixes.
func Used(pool *pgxpool.Pool) func(ctx context.Context, used map[string]time.Time) error {
	return func(ctx context.Context, used map[string]time.Time) error {
		prefixes, times := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
		for prefix, at := range used {
			prefixes, times = append(prefixes, prefix), append(times, at)
		}
		// greatest: another process may have stored a later use.
		_, err := pool.Exec(ctx, `
UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
FROM (SELECT k.prefix, u.at FROM unnest($1::text[], $2::timestamptz[]) AS u (prefix, at) JOIN api_keys k USING (prefix) ORDER BY k.prefix FOR UPDATE OF k) AS u
WHERE k.prefix = u.prefix`, prefixes, times)
		return registry.Classify(err, "storing the last use of keys")
	}
}
