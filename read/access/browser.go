package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// SecureCookie is the cookie of a browser session over TLS. Its prefix makes browsers
// refuse one that another host or an unencrypted reply sets.
const SecureCookie = "__Host-colonnade"

// browserSession is a browser that is signed in, as Postgres had it at most
// Config.CacheTTL ago. The zero value stands for an unknown token.
type browserSession struct {
	id      uuid.UUID
	seen    time.Time
	expires time.Time
	keys    []browserKey // in the order in which they were added
}

type browserKey struct {
	project uuid.UUID
	prefix  string
}

func (s browserSession) alive(now time.Time) bool { return s.id != uuid.Nil && now.Before(s.expires) }

type cachedBrowser struct {
	session browserSession
	asked   time.Time
}

// PlainCookie returns the name of the cookie over plain HTTP. It has a part of the
// installation's id, because two services on one machine share their cookies.
func (a *Access) PlainCookie(ctx context.Context) (string, error) {
	if name := a.plainCookie.Load(); name != nil {
		return *name, nil
	}
	var id uuid.UUID
	if err := a.deps.Pool.QueryRow(ctx, `SELECT id FROM installation`).Scan(&id); err != nil {
		return "", domain.Wrap(domain.Unavailable, fmt.Errorf("access: reading the installation's id: %w", err), "The store of API keys does not answer. Please try again.")
	}
	name := "colonnade-" + id.String()[:8]
	a.plainCookie.Store(&name)
	return name, nil
}

// Tokens returns the cipher of the tokens of writes. Its key is the installation's, so that
// all processes read the tokens of each other.
func (a *Access) Tokens(ctx context.Context) (credential.Positions, error) {
	if known := a.tokens.Load(); known != nil {
		return *known, nil
	}
	var key []byte
	if err := a.deps.Pool.QueryRow(ctx, `SELECT token_key FROM installation`).Scan(&key); err != nil {
		return credential.Positions{}, domain.Wrap(domain.Unavailable, fmt.Errorf("access: reading the key of tokens: %w", err), "The store of API keys does not answer. Please try again.")
	}
	p, err := credential.NewPositions(key)
	if err != nil {
		return p, err
	}
	a.tokens.Store(&p)
	return p, nil
}

// BrowserToken returns the token of the request's cookie; false when it has none.
func (a *Access) BrowserToken(r *http.Request) (credential.Token, bool, error) {
	if len(r.Header["Cookie"]) == 0 {
		return credential.Token{}, false, nil
	}
	cookie, err := r.Cookie(SecureCookie)
	if err != nil {
		name, err := a.PlainCookie(r.Context())
		if err != nil {
			return credential.Token{}, false, err
		}
		if cookie, err = r.Cookie(name); err != nil {
			return credential.Token{}, false, nil //nolint:nilerr // a request without the cookie is one without a session
		}
	}
	token, ok := credential.ParseToken(cookie.Value)
	return token, ok, nil
}

// AuthenticateBrowser returns the principal of a browser session: that of its key for
// the project, or of its first key that is alive when project is empty. Errors are those
// of Authenticate; an Unauthenticated of one project alone names it in its detail.
func (a *Access) AuthenticateBrowser(ctx context.Context, token credential.Token, project string) (domain.Principal, error) {
	session, err := a.browser(ctx, token)
	if err != nil {
		return domain.Principal{}, err
	}
	if !session.alive(a.deps.Now()) {
		return domain.Principal{}, unauthenticated()
	}
	held, err := a.holderOf(ctx, session, project)
	if err != nil {
		return domain.Principal{}, err
	}
	p, err := a.admit(held, "")
	p.Browser = session.id
	if p.Expires.IsZero() || session.expires.Before(p.Expires) {
		p.Expires = session.expires
	}
	return p, err
}

func (a *Access) holderOf(ctx context.Context, session browserSession, project string) (holder, error) {
	for _, key := range session.keys {
		if project != "" && key.project.String() != project {
			continue
		}
		held, err := a.lookup(ctx, key.prefix)
		if err != nil {
			return holder{}, err
		}
		if held.alive(a.deps.Now()) {
			return held, nil
		}
	}
	refused := unauthenticated()
	if project != "" {
		refused.Detail = map[string]any{"message": "Unauthorized", "project_id": project}
	}
	return holder{}, refused
}

const selectBrowser = `
SELECT s.id, s.seen_at, s.expires_at, k.project_id, k.key_prefix
FROM browser_sessions s JOIN browser_session_keys k ON k.session_id = s.id
WHERE s.digest = $1
ORDER BY k.added_at, k.project_id`

// browser returns a session as Postgres had it at most Config.CacheTTL ago.
func (a *Access) browser(ctx context.Context, token credential.Token) (browserSession, error) {
	digest := string(token.Digest())
	if c, ok := a.browsers.Get(digest); ok && c.asked.After(a.deps.Now().Add(-a.cfg.CacheTTL)) {
		return c.session, nil
	}
	asked := a.deps.Now()
	session, err := a.readBrowser(ctx, selectBrowser, token.Digest())
	if err != nil {
		return session, err
	}
	a.browsers.Add(digest, cachedBrowser{session, asked})
	const seenEvery = time.Minute
	if a.deps.Seen != nil && session.alive(asked) && asked.Sub(session.seen) > seenEvery {
		if err := a.deps.Seen(ctx, session.id); err != nil {
			return session, err
		}
	}
	return session, nil
}

func (a *Access) readBrowser(ctx context.Context, sql string, arg any) (browserSession, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.LookupTimeout)
	defer cancel()
	var s browserSession
	var k browserKey
	rows, err := a.deps.Pool.Query(ctx, sql, arg)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&s.id, &s.seen, &s.expires, &k.project, &k.prefix}, func() error {
			s.keys = append(s.keys, k)
			return nil
		})
	}
	if err != nil {
		return s, domain.Wrap(domain.Unavailable, fmt.Errorf("access: reading a browser session: %w", err), "The store of API keys does not answer. Please try again.")
	}
	return s, nil
}

// Holder returns the principal of a key by its prefix, without its secret: for what the
// service itself keeps of a caller. A key that does not hold is Unauthenticated.
func (a *Access) Holder(ctx context.Context, prefix string) (domain.Principal, error) {
	held, err := a.lookup(ctx, prefix)
	if err == nil && !held.alive(a.deps.Now()) {
		err = unauthenticated()
	}
	return held.principal, err
}

// Renew returns the principal of a request that goes on, as it is now. Errors are those
// of Authenticate.
func (a *Access) Renew(ctx context.Context, before domain.Principal) (domain.Principal, error) {
	if before.Browser == uuid.Nil {
		return a.Authenticate(ctx, before.Credential)
	}
	var holds bool
	err := a.deps.Pool.QueryRow(ctx, `SELECT expires_at > $2 FROM browser_sessions WHERE id = $1`, before.Browser, a.deps.Now()).Scan(&holds)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && !holds:
		return domain.Principal{}, unauthenticated()
	case err != nil:
		return domain.Principal{}, domain.Wrap(domain.Unavailable, err, "The store of API keys does not answer. Please try again.")
	default:
		return a.Holder(ctx, before.KeyPrefix)
	}
}

// SignedInProject is a project that a caller sees, and what the caller may do there.
type SignedInProject struct {
	ProjectID        uuid.UUID           `json:"project_id"`
	ProjectName      string              `json:"project_name"`
	WorkspaceName    string              `json:"workspace_name"`
	OrganizationName string              `json:"organization_name"`
	Role             string              `json:"role"`
	Permissions      []domain.Permission `json:"permissions"`
	// Default is the project of a request that names none.
	Default bool `json:"default"`
}

// SignedIn returns the projects of the caller: of a browser session those whose keys are
// alive, else that of the credential.
func (a *Access) SignedIn(ctx context.Context, caller domain.Principal) ([]SignedInProject, error) {
	principals := []domain.Principal{caller}
	if caller.Browser != uuid.Nil {
		session, err := a.readBrowser(ctx, selectBrowserByID, caller.Browser)
		if err != nil {
			return nil, err
		}
		principals = nil
		for _, key := range session.keys {
			held, err := a.lookup(ctx, key.prefix)
			if err != nil {
				return nil, err
			}
			if held.alive(a.deps.Now()) {
				principals = append(principals, held.principal)
			}
		}
	}
	projects := make([]SignedInProject, 0, len(principals))
	for i, p := range principals {
		current, err := a.Current(ctx, p)
		if err != nil {
			return nil, err
		}
		projects = append(projects, SignedInProject{
			ProjectID: current.ProjectID, ProjectName: current.ProjectName, WorkspaceName: current.WorkspaceName,
			OrganizationName: current.OrganizationName, Role: p.Role, Permissions: p.Permissions(), Default: i == 0,
		})
	}
	return slices.Clip(projects), nil
}

const selectBrowserByID = `
SELECT s.id, s.seen_at, s.expires_at, k.project_id, k.key_prefix
FROM browser_sessions s JOIN browser_session_keys k ON k.session_id = s.id
WHERE s.id = $1
ORDER BY k.added_at, k.project_id`

// BrowserSession is a browser in which a user is signed in.
type BrowserSession struct {
	ID        uuid.UUID `json:"id" db:"id"`
	Agent     string    `json:"agent" db:"agent"`
	Address   string    `json:"address" db:"address"`
	CreatedAt time.Time `json:"created_at" db:"created_at"`
	SeenAt    time.Time `json:"seen_at" db:"seen_at"`
	ExpiresAt time.Time `json:"expires_at" db:"expires_at"`
	// Current is the session of the request itself.
	Current bool `json:"current" db:"current"`
}

// BrowserSessions returns those of the caller's user that have not ended, newest first.
func (a *Access) BrowserSessions(ctx context.Context, caller domain.Principal) ([]BrowserSession, error) {
	rows, err := a.deps.Pool.Query(ctx, `
SELECT id, agent, address, created_at, seen_at, expires_at, id = $2 AS current
FROM browser_sessions
WHERE user_id = $1 AND expires_at > $3
ORDER BY created_at DESC, id
LIMIT 1000`, caller.User, caller.Browser, a.deps.Now())
	if err != nil {
		return nil, fmt.Errorf("access: listing browser sessions: %w", err)
	}
	sessions, err := pgx.CollectRows(rows, pgx.RowToStructByName[BrowserSession])
	if err != nil {
		return nil, fmt.Errorf("access: listing browser sessions: %w", err)
	}
	return sessions, nil
}
