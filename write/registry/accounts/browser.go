package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// maxAgent bounds what is kept of a browser's name, which the browser chooses itself.
const maxAgent = 512

// SignIn asks for a browser session that acts as a key.
type SignIn struct {
	// Holder is the principal of the key.
	Holder domain.Principal
	// Browser is the session to which the key's project is added; zero opens one.
	Browser uuid.UUID
	// Agent and Address show the user where a session was opened.
	Agent, Address string
	// TTL is how long a new session lasts.
	TTL time.Duration
}

// OpenBrowser opens a browser session, or adds a project to one of the same user, and
// returns its new token: the token before no longer holds. A key of another user is a
// Conflict.
func (r *Registry) OpenBrowser(ctx context.Context, q SignIn) (token credential.Token, expires time.Time, err error) {
	if token, err = credential.NewToken(r.db.Random()); err != nil {
		return token, expires, err
	}
	err = r.db.Transact(ctx, "opening a browser session", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM browser_sessions WHERE expires_at <= $1`, r.db.Now()); err != nil {
			return err
		}
		id, end, err := r.browserFor(ctx, tx, q, token)
		if err != nil {
			return err
		}
		expires = end
		// The key that comes last replaces the one before: a user who signs in again after a
		// revocation is signed in.
		_, err = tx.Exec(ctx, `
INSERT INTO browser_session_keys (session_id, project_id, key_prefix, added_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (session_id, project_id) DO UPDATE SET key_prefix = excluded.key_prefix`,
			id, uuid.UUID(q.Holder.Project), q.Holder.KeyPrefix, r.db.Now())
		return err
	})
	return token, expires, err
}

func (r *Registry) browserFor(ctx context.Context, tx pgx.Tx, q SignIn, token credential.Token) (uuid.UUID, time.Time, error) {
	now := r.db.Now()
	if q.Browser != uuid.Nil {
		var user uuid.UUID
		var expires time.Time
		err := tx.QueryRow(ctx, `UPDATE browser_sessions SET digest = $2, seen_at = $3 WHERE id = $1 RETURNING user_id, expires_at`, q.Browser, token.Digest(), now).
			Scan(&user, &expires)
		switch {
		case err == nil && user != q.Holder.User:
			return uuid.Nil, now, domain.E(domain.Conflict, "The key belongs to another user. Sign out first.")
		case !errors.Is(err, pgx.ErrNoRows):
			return q.Browser, expires, err
		}
	}
	id, err := r.db.NewID()
	if err != nil {
		return id, now, err
	}
	expires := now.Add(q.TTL)
	_, err = tx.Exec(ctx, `
INSERT INTO browser_sessions (id, digest, user_id, agent, address, created_at, seen_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7)`,
		id, token.Digest(), q.Holder.User, plain(q.Agent), q.Address, now, expires)
	return id, expires, err
}

// plain cuts a browser's name and drops what Postgres does not store.
func plain(agent string) string {
	clean := make([]rune, 0, len(agent))
	for _, c := range agent[:min(len(agent), maxAgent)] {
		if c >= ' ' && c != '\uFFFD' {
			clean = append(clean, c)
		}
	}
	return string(clean)
}

// SeeBrowser records that a browser session is in use.
func (r *Registry) SeeBrowser(ctx context.Context, id uuid.UUID) error {
	return r.db.Transact(ctx, "recording the use of a browser session", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE browser_sessions SET seen_at = $2 WHERE id = $1`, id, r.db.Now())
		return err
	})
}

// EndBrowser ends a browser session of the user; an unknown one is NotFound.
func (r *Registry) EndBrowser(ctx context.Context, user, id uuid.UUID) error {
	return r.db.Transact(ctx, "ending a browser session", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM browser_sessions WHERE id = $1 AND user_id = $2`, id, user)
		if err == nil && tag.RowsAffected() == 0 {
			err = domain.E(domain.NotFound, "Browser session not found.")
		}
		return err
	})
}

// LeaveProject takes a project out of a browser session, which ends with its last project.
func (r *Registry) LeaveProject(ctx context.Context, id, project uuid.UUID) error {
	return r.db.Transact(ctx, "taking a project out of a browser session", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM browser_session_keys WHERE session_id = $1 AND project_id = $2`, id, project)
		if err == nil && tag.RowsAffected() == 0 {
			return domain.E(domain.NotFound, "The browser is not signed in to this project.")
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM browser_sessions s WHERE id = $1 AND NOT EXISTS (SELECT FROM browser_session_keys k WHERE k.session_id = s.id)`, id)
		return err
	})
}

// CreateLink creates a link that opens the console signed in as the key, once, and returns
// its token. The key must be alive; the caller has authenticated it.
func (r *Registry) CreateLink(ctx context.Context, keyPrefix string, ttl time.Duration) (token credential.Token, expires time.Time, err error) {
	if token, err = credential.NewToken(r.db.Random()); err != nil {
		return token, expires, err
	}
	expires = r.db.Now().Add(ttl)
	err = r.db.Transact(ctx, "creating a link", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM console_links WHERE expires_at <= $1`, r.db.Now()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO console_links (digest, key_prefix, expires_at) VALUES ($1, $2, $3)`, token.Digest(), keyPrefix, expires)
		return err
	})
	return token, expires, err
}

// LinkedKey returns the prefix of the key that a link signs in, and leaves the link as it
// is. A link that was used, that is too old or that nobody made is Unauthenticated.
func (r *Registry) LinkedKey(ctx context.Context, token credential.Token) (prefix string, err error) {
	return r.link(ctx, `SELECT key_prefix FROM console_links WHERE digest = $1 AND expires_at > $2`, token)
}

// TakeLink is LinkedKey, and removes the link: of several that take one link, one succeeds.
func (r *Registry) TakeLink(ctx context.Context, token credential.Token) (prefix string, err error) {
	return r.link(ctx, `DELETE FROM console_links WHERE digest = $1 AND expires_at > $2 RETURNING key_prefix`, token)
}

func (r *Registry) link(ctx context.Context, sql string, token credential.Token) (prefix string, err error) {
	err = r.db.Transact(ctx, "using a link", func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sql, token.Digest(), r.db.Now()).Scan(&prefix)
		if errors.Is(err, pgx.ErrNoRows) {
			return domain.E(domain.Unauthenticated, "Unauthorized")
		}
		return err
	})
	return prefix, err
}
