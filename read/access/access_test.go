//go:build embedded

package access_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/migrations"
	"colonnade/read/access"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

func openPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = migrations.Postgres(t.Context(), pool)
	require.NoError(t, err)
	return pool
}

// clock is set by hand, so that no test waits for time to pass.
type clock struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type world struct {
	pool    *pgxpool.Pool
	clock   *clock
	project uuid.UUID
	user    uuid.UUID
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{pool: openPool(t), clock: &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, project: uuid.New(), user: uuid.New()}
	organization, workspace := uuid.New(), uuid.New()
	w.exec(t, `INSERT INTO users VALUES ($1, 'a@b.c', 'a', now())`, w.user)
	w.exec(t, `INSERT INTO organizations VALUES ($1, 'org', $2, now())`, organization, w.user)
	w.exec(t, `INSERT INTO workspaces VALUES ($1, $2, 'wrk', now())`, workspace, organization)
	w.exec(t, `INSERT INTO projects VALUES ($1, $2, $3, 'prj', true, now())`, w.project, organization, workspace)
	w.exec(t, `INSERT INTO memberships VALUES ($1, $2, 'editor', now())`, w.project, w.user)
	return w
}

func (w world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := w.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (w world) key(t *testing.T, role, expires any) credential.Key {
	t.Helper()
	key, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	w.exec(t, `INSERT INTO api_keys (prefix, digest, project_id, user_id, name, role, created_at, expires_at) VALUES ($1, $2, $3, $4, 'k', $5, now(), $6)`,
		key.Prefix, key.Digest(), w.project, w.user, role, expires)
	return key
}

func (w world) access(t *testing.T, change func(*access.Config)) *access.Access {
	t.Helper()
	cfg := access.DefaultConfig()
	change(&cfg)
	a, err := access.New(cfg, access.Deps{Pool: w.pool, Now: w.clock.now})
	require.NoError(t, err)
	return a
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(*access.Config) {})
	key := w.key(t, nil, nil)
	expired := w.key(t, nil, w.clock.now())
	narrow := w.key(t, "viewer", nil)
	wide := w.key(t, "owner", w.clock.now().Add(time.Hour))
	other, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	forged := key.Prefix + "." + strings.Repeat("0", 64)

	tests := []struct{ name, header, role string }{
		{"a key", "ApiKey " + key.Reveal(), "editor"},
		{"a bare key", key.Reveal(), "editor"},
		{"the scheme in another case", "apikey " + key.Reveal(), "editor"},
		{"a key of a lesser role", "ApiKey " + narrow.Reveal(), "viewer"},
		{"a key never exceeds its owner", "ApiKey " + wide.Reveal(), "editor"},
		{"nothing", "", ""},
		{"a scheme alone", "ApiKey", ""},
		{"a wrong secret", "ApiKey " + forged, ""},
		{"an unknown key", "ApiKey " + other.Reveal(), ""},
		{"an expired key", "ApiKey " + expired.Reveal(), ""},
		{"Bearer", "Bearer " + key.Reveal(), "editor"},
		{"the password of Basic", "Basic " + base64.StdEncoding.EncodeToString([]byte("anything:"+key.Reveal())), "editor"},
		{"an escaped blank", "ApiKey%20" + key.Reveal(), "editor"},
		{"Basic with a wrong secret", "Basic " + base64.StdEncoding.EncodeToString([]byte("anything:"+forged)), ""},
		{"another scheme", "Digest " + key.Reveal(), ""},
		{"the administration key's scheme", "Access " + key.Reveal(), ""},
		{"a ticket where none is issued", "Secret a.b.c", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := a.Authenticate(t.Context(), tt.header)
			require.Equal(t, tt.role, p.Role)
			require.Equal(t, tt.role == "", domain.KindOf(err) == domain.Unauthenticated, "%v", err)
			require.Equal(t, tt.role == "", p.Project.IsZero())
		})
	}
	p, err := a.Authenticate(t.Context(), "ApiKey "+key.Reveal())
	require.NoError(t, err)
	require.Equal(t, w.project, uuid.UUID(p.Project))
	require.Equal(t, w.user, p.User)
	require.Equal(t, key.Prefix, p.KeyPrefix)
	require.Equal(t, "ApiKey "+key.Reveal(), p.Credential)
	p, err = a.Authenticate(t.Context(), "Bearer "+key.Reveal())
	require.NoError(t, err)
	require.Equal(t, "ApiKey "+key.Reveal(), p.Credential, "calls on behalf of the caller have one form")
}

func TestRevocationIsSeenWithinASecond(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(*access.Config) {})
	key := w.key(t, nil, nil)
	_, err := a.Authenticate(t.Context(), key.Reveal())
	require.NoError(t, err)
	w.exec(t, `UPDATE api_keys SET revoked_at = now() WHERE prefix = $1`, key.Prefix)
	w.clock.advance(time.Second)
	_, err = a.Authenticate(t.Context(), key.Reveal())
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err))
}

func TestALostMembershipTakesItsKeysAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(c *access.Config) { c.CacheTTL = 0 })
	key := w.key(t, nil, nil)
	_, err := a.Authenticate(t.Context(), key.Reveal())
	require.NoError(t, err)
	w.exec(t, `DELETE FROM memberships`)
	_, err = a.Authenticate(t.Context(), key.Reveal())
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err))
}

func TestTicketActsForItsKeyWhileThatLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(c *access.Config) { c.TicketSecret = []byte("0123456789abcdef") })
	key := w.key(t, nil, nil)
	p, err := a.Authenticate(t.Context(), key.Reveal())
	require.NoError(t, err)
	ticket, err := a.Ticket(p)
	require.NoError(t, err)

	q, err := a.Authenticate(t.Context(), ticket)
	require.NoError(t, err)
	require.Equal(t, p.Project, q.Project)
	require.Equal(t, p.Role, q.Role)

	w.clock.advance(credential.TicketLifetime)
	_, err = a.Authenticate(t.Context(), ticket)
	require.Equal(t, map[string]any{"message": "Unauthorized", "reason": "expired_signature"}, detailOf(t, err))
	_, err = a.Authenticate(t.Context(), ticket+"x")
	require.Equal(t, map[string]any{"message": "Unauthorized", "reason": "invalid_token"}, detailOf(t, err))

	fresh, err := a.Ticket(p)
	require.NoError(t, err)
	w.exec(t, `UPDATE api_keys SET revoked_at = now()`)
	w.clock.advance(time.Second)
	_, err = a.Authenticate(t.Context(), fresh)
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err))
}

func detailOf(t *testing.T, err error) any {
	t.Helper()
	e, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%v", err)
	return e.Detail
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(c *access.Config) { c.RatePerMinute, c.Burst = 60, 2 })
	key, other := w.key(t, nil, nil), w.key(t, nil, nil)
	for range 2 {
		_, err := a.Authenticate(t.Context(), key.Reveal())
		require.NoError(t, err)
	}
	_, err := a.Authenticate(t.Context(), key.Reveal())
	e, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, domain.TooMany, e.Kind)
	require.Equal(t, time.Second, e.RetryAfter)
	require.Equal(t, "Rate limit exceeded. Please retry after 1 seconds.", e.Message)
	require.Equal(t, "2", a.RateHeaders(key.Prefix).Get("X-RateLimit-Limit"))
	require.Equal(t, "0", a.RateHeaders(key.Prefix).Get("X-RateLimit-Remaining"))

	_, err = a.Authenticate(t.Context(), other.Reveal())
	require.NoError(t, err, "each key has its own limit")
	w.clock.advance(time.Second)
	_, err = a.Authenticate(t.Context(), key.Reveal())
	require.NoError(t, err)
}

func TestNoLimitByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(*access.Config) {})
	key := w.key(t, nil, nil)
	for range 200 {
		_, err := a.Authenticate(t.Context(), key.Reveal())
		require.NoError(t, err)
	}
	require.Empty(t, a.RateHeaders(key.Prefix))
}

func TestStoreDownIsNotAWrongKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(*access.Config) {})
	key := w.key(t, nil, nil)
	w.pool.Close()
	_, err := a.Authenticate(t.Context(), key.Reveal())
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	_, err = a.Authenticate(t.Context(), "ApiKey nonsense")
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err), "what cannot be a key needs no store")
}

func TestLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.access(t, func(*access.Config) {})
	key, revoked := w.key(t, nil, nil), w.key(t, "viewer", nil)
	w.exec(t, `UPDATE api_keys SET revoked_at = now() WHERE prefix = $1`, revoked.Prefix)
	caller, err := a.Authenticate(t.Context(), key.Reveal())
	require.NoError(t, err)

	keys, err := a.Keys(t.Context(), caller.Project, false)
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, key.Prefix, keys[0].Prefix)
	all, err := a.Keys(t.Context(), caller.Project, true)
	require.NoError(t, err)
	require.Len(t, all, 2)
	none, err := a.Keys(t.Context(), domain.ProjectID(uuid.New()), true)
	require.NoError(t, err)
	require.Empty(t, none)

	current, err := a.Current(t.Context(), caller)
	require.NoError(t, err)
	require.Equal(t, "prj", current.ProjectName)
	require.Equal(t, "editor", current.UserRole)
	profile, err := a.Profile(t.Context(), caller)
	require.NoError(t, err)
	require.Equal(t, "a@b.c", profile.Email)
	_, err = a.Current(t.Context(), domain.Principal{Project: domain.ProjectID(uuid.New()), User: w.user})
	require.Equal(t, domain.NotFound, domain.KindOf(err))
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	_, err := access.New(access.Config{CacheTTL: time.Minute, TicketSecret: []byte("short"), RatePerMinute: -1}, access.Deps{})
	for _, name := range []string{"cache_ttl", "max_cached_keys", "lookup_timeout", "ticket_secret", "rate_per_minute"} {
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, access.DefaultConfig().Validate())
}

func BenchmarkAuthenticate(b *testing.B) {
	pool, err := pgxpool.New(b.Context(), embeddedtest.PostgresDatabase(b))
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	_, err = migrations.Postgres(b.Context(), pool)
	require.NoError(b, err)
	at := time.Now()
	a, err := access.New(access.DefaultConfig(), access.Deps{Pool: pool, Now: func() time.Time { return at }})
	require.NoError(b, err)
	header := "ApiKey abcdefgh." + strings.Repeat("a1", 32)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = a.Authenticate(ctx, header)
	}
}

func TestPurposeAndLastUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, idle := w.key(t, nil, nil), w.key(t, nil, nil)
	w.exec(t, `UPDATE api_keys SET purpose = 'ingest' WHERE prefix = $1`, key.Prefix)
	var stored map[string]time.Time
	a, err := access.New(access.DefaultConfig(), access.Deps{Pool: w.pool, Now: w.clock.now, Used: func(_ context.Context, used map[string]time.Time) error {
		stored = used
		return nil
	}})
	require.NoError(t, err)
	p, err := a.Authenticate(t.Context(), key.Reveal())
	require.NoError(t, err)
	require.Equal(t, domain.PurposeIngest, p.Purpose)
	require.False(t, p.Allows(domain.ViewSpans))
	_, err = a.Authenticate(t.Context(), idle.Prefix+"."+strings.Repeat("0", 64))
	require.Error(t, err)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, a.Run(ended, slog.New(slog.DiscardHandler)))
	require.Equal(t, map[string]time.Time{key.Prefix: w.clock.now()}, stored, "a wrong secret is no use")
}
