// Package access authenticates callers: it turns an Authorization header into a
// principal with a project and a role, and reports what a role may do. Here:
// API keys, service tickets, browser sessions, the cache of keys, rate limits by
// key, and the lists of keys and projects that their owner may see. Not here: making
// and revoking keys, and signing in (write/registry/accounts) and the refusal of a request (the
// HTTP server, the caller of Authenticate and Allows).
package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// Deps are the components that Access calls.
type Deps struct {
	Pool *pgxpool.Pool
	Now  func() time.Time
	// Seen records that a browser session is in use; nil records nothing.
	Seen func(ctx context.Context, browser uuid.UUID) error
	// Used stores when keys were last used, by their prefixes; nil stores nothing.
	Used func(ctx context.Context, used map[string]time.Time) error
}

// Access authenticates callers. It is safe for concurrent use.
type Access struct {
	cfg  Config
	deps Deps
	// known caches the holders of keys. An entry counts for Config.CacheTTL.
	known   *lru.Cache[string, cached]
	flights singleflight.Group
	limiter *limiter
	// browsers caches browser sessions by the digest of their token.
	browsers    *lru.Cache[string, cachedBrowser]
	plainCookie atomic.Pointer[string]
	tokens      atomic.Pointer[credential.Positions]
	used        uses
}

// New creates an Access. It connects to Postgres at the first request.
func New(cfg Config, deps Deps) (*Access, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	known, err := lru.New[string, cached](cfg.MaxCachedKeys)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	browsers, err := lru.New[string, cachedBrowser](cfg.MaxCachedKeys)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return &Access{cfg: cfg, deps: deps, known: known, browsers: browsers, limiter: newLimiter(cfg.RatePerMinute, cfg.Burst)}, nil
}

// Allows reports whether a role has a permission.
func Allows(role string, p domain.Permission) bool { return domain.Allows(role, p) }

// unauthenticated returns the only refusal of a credential: it is the same for a missing
// key and for a wrong one. Source: contract §7.
func unauthenticated() *domain.Error {
	return &domain.Error{Kind: domain.Unauthenticated, Message: "Unauthorized", Detail: map[string]any{"message": "Unauthorized"}}
}

// Authenticate returns the principal of an API key ("ApiKey <key>", a bare key, "Bearer
// <key>", or Basic with the key as the password) or of a ticket ("Secret <ticket>").
// Errors are Unauthenticated, TooMany if the key exceeds its rate (the principal then has
// the key's prefix and nothing else), and Unavailable if Postgres does not answer. Source: contract §7.
func (a *Access) Authenticate(ctx context.Context, authorization string) (domain.Principal, error) {
	scheme, value := splitScheme(authorization)
	if scheme == "secret" {
		return a.authenticateTicket(ctx, authorization, value)
	}
	text, ok := apiKeyOf(scheme, value)
	if !ok {
		return domain.Principal{}, unauthenticated()
	}
	key, ok := credential.ParseKey(strings.TrimSpace(text))
	if !ok {
		return domain.Principal{}, unauthenticated()
	}
	if scheme != "" {
		authorization = "ApiKey " + key.Reveal()
	}
	held, err := a.lookup(ctx, key.Prefix)
	if err != nil {
		return domain.Principal{}, err
	}
	// The comparison runs for an unknown prefix too, so that its time does not tell which prefixes exist.
	if !key.Matches(held.digest) || !held.alive(a.deps.Now()) {
		return domain.Principal{}, unauthenticated()
	}
	return a.admit(held, authorization)
}

func (a *Access) authenticateTicket(ctx context.Context, authorization, signed string) (domain.Principal, error) {
	refuse := func(reason error) error {
		e := unauthenticated()
		e.Detail = map[string]any{"message": "Unauthorized", "reason": reason.Error()}
		return e
	}
	if len(a.cfg.TicketSecret) == 0 {
		return domain.Principal{}, refuse(credential.ErrInvalidTicket)
	}
	ticket, err := credential.ParseTicket(signed, a.cfg.TicketSecret, a.deps.Now())
	if err != nil {
		return domain.Principal{}, refuse(err)
	}
	held, err := a.ticketHolder(ctx, ticket)
	if err != nil {
		return domain.Principal{}, err
	}
	p := held.principal
	if !held.alive(a.deps.Now()) || uuid.UUID(p.Project) != ticket.Project || p.User != ticket.User {
		return domain.Principal{}, refuse(credential.ErrInvalidTicket)
	}
	if ticket.Purpose != "" && (p.Purpose == "" || p.Purpose == domain.PurposeFull) {
		held.principal.Purpose, held.principal.Revision = domain.Purpose(ticket.Purpose), ticket.Revision
	}
	if end := time.Unix(ticket.Expires, 0).UTC(); p.Expires.IsZero() || end.Before(p.Expires) {
		held.principal.Expires = end
	}
	return a.admit(held, authorization)
}

// ticketHolder returns the holder of the key that a ticket was made from, or the member that a
// ticket of a hook was made for.
func (a *Access) ticketHolder(ctx context.Context, t credential.Ticket) (holder, error) {
	if t.KeyPrefix != "" {
		return a.lookup(ctx, t.KeyPrefix)
	}
	if domain.Purpose(t.Purpose) != domain.PurposeHook {
		return holder{}, nil
	}
	return a.lookupBy(ctx, t.Project.String()+" "+t.User.String(), func(ctx context.Context) (holder, error) { return a.readMember(ctx, t.Project, t.User) })
}

func (a *Access) admit(held holder, authorization string) (domain.Principal, error) {
	if held.principal.KeyPrefix == "" {
		p := held.principal
		p.Credential = authorization
		return p, nil
	}
	if wait := a.limiter.take(held.principal.KeyPrefix, a.deps.Now()); wait > 0 {
		// The prefix alone, for RateHeaders: a principal without a project can read nothing.
		return domain.Principal{KeyPrefix: held.principal.KeyPrefix}, tooMany(wait)
	}
	p := held.principal
	a.used.note(p.KeyPrefix, a.deps.Now())
	p.Credential = authorization
	return p, nil
}

// IssuesTickets reports whether a secret for signing tickets is configured.
func (a *Access) IssuesTickets() bool { return len(a.cfg.TicketSecret) > 0 }

// Ticket signs a short-lived credential for the caller, which acts with the same project, role
// and purpose while the caller's key lives, or while the caller is a member. Source: contract §7.
func (a *Access) Ticket(p domain.Principal) (string, error) {
	if len(a.cfg.TicketSecret) == 0 {
		return "", errors.New("access: no secret to sign tickets with")
	}
	signed, err := credential.Ticket{
		Project: uuid.UUID(p.Project), User: p.User, KeyPrefix: p.KeyPrefix, Purpose: string(p.Purpose), Revision: p.Revision,
		Expires: a.deps.Now().Add(credential.TicketLifetime).Unix(),
	}.Sign(a.cfg.TicketSecret)
	if err != nil {
		return "", fmt.Errorf("access: signing a ticket: %w", err)
	}
	return "Secret " + signed, nil
}

// HookTicket is Ticket for a hook that the caller runs, which may add spans and read the revision,
// and nothing else. It is empty where no secret for signing is configured.
func (a *Access) HookTicket(caller domain.Principal, revision uuid.UUID) (string, error) {
	if !a.IssuesTickets() {
		return "", nil
	}
	caller.Purpose, caller.Revision = domain.PurposeHook, revision
	return a.Ticket(caller)
}

// lookup returns the holder of a key as Postgres had it at most Config.CacheTTL ago.
// Concurrent requests that miss the cache cause one query.
func (a *Access) lookup(ctx context.Context, prefix string) (holder, error) {
	return a.lookupBy(ctx, prefix, func(ctx context.Context) (holder, error) { return a.read(ctx, prefix) })
}

// lookupBy is lookup with any query; its results share the cache under the names that callers give.
func (a *Access) lookupBy(ctx context.Context, prefix string, read func(ctx context.Context) (holder, error)) (holder, error) {
	if c, ok := a.known.Get(prefix); ok && c.asked.After(a.deps.Now().Add(-a.cfg.CacheTTL)) {
		return c.holder, nil
	}
	// The query does not end with the caller that began it, because others wait for its result.
	result := a.flights.DoChan(prefix, func() (any, error) {
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.LookupTimeout)
		defer cancel()
		asked := a.deps.Now()
		held, err := read(shared)
		if err == nil {
			a.known.Add(prefix, cached{held, asked})
		}
		return held, err
	})
	select {
	case <-ctx.Done():
		return holder{}, fmt.Errorf("access: looking up a key: %w", ctx.Err())
	case r := <-result:
		if r.Err != nil {
			return holder{}, domain.Wrap(domain.Unavailable, r.Err, "The store of API keys does not answer. Please try again.")
		}
		held, ok := r.Val.(holder)
		if !ok {
			return holder{}, errors.New("access: looking up a key: not a holder")
		}
		return held, nil
	}
}

const selectHolder = `
SELECT k.digest, k.project_id, p.organization_id, p.workspace_id, k.user_id, m.role, coalesce(k.role, m.role), k.purpose, k.expires_at
FROM api_keys k
JOIN memberships m ON m.project_id = k.project_id AND m.user_id = k.user_id
JOIN projects p ON p.id = k.project_id
WHERE k.prefix = $1 AND k.revoked_at IS NULL`

func (a *Access) read(ctx context.Context, prefix string) (holder, error) {
	held := holder{principal: domain.Principal{KeyPrefix: prefix}}
	p := &held.principal
	var member, key string
	err := a.deps.Pool.QueryRow(ctx, selectHolder, prefix).
		Scan(&held.digest, (*uuid.UUID)(&p.Project), &p.Organization, &p.Workspace, &p.User, &member, &key, &p.Purpose, &held.expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return holder{}, nil
	}
	if err != nil {
		return holder{}, fmt.Errorf("access: reading a key: %w", err)
	}
	p.Role = domain.LesserRole(member, key)
	if held.expires != nil {
		p.Expires = held.expires.UTC()
	}
	return held, nil
}

// readMember returns the holder that a member is without a key.
func (a *Access) readMember(ctx context.Context, project, user uuid.UUID) (holder, error) {
	var held holder
	p := &held.principal
	err := a.deps.Pool.QueryRow(ctx, `
SELECT p.id, p.organization_id, p.workspace_id, m.user_id, m.role
FROM memberships m
JOIN projects p ON p.id = m.project_id
WHERE m.project_id = $1 AND m.user_id = $2`, project, user).Scan((*uuid.UUID)(&p.Project), &p.Organization, &p.Workspace, &p.User, &p.Role)
	if errors.Is(err, pgx.ErrNoRows) {
		return holder{}, nil
	}
	if err != nil {
		return holder{}, fmt.Errorf("access: reading a member: %w", err)
	}
	return held, nil
}

// RateHeaders returns the headers of a reply to this key: its limit and how many
// requests are left. Empty while rate limits are off. Source: contract §8.
func (a *Access) RateHeaders(keyPrefix string) http.Header {
	return a.limiter.headers(keyPrefix, a.deps.Now())
}
