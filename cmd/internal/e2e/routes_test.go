//go:build embedded

package e2e_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/app"
	"colonnade/cmd/internal/config"
	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/migrations/migrationstest"
	"colonnade/write/registry/accounts"
)

// open constructs all roles on stores of the test's own. It runs no actor: the test
// calls the handler. Later settings override earlier ones.
func open(t testing.TB, settings ...string) *app.Service {
	t.Helper()
	cfg, err := config.Load("", slices.Concat(embeddedtest.KafkaSettings(t), []string{
		"COLONNADE_KAFKA_TOPIC=" + embeddedtest.Topic(t),
		"COLONNADE_CLICKHOUSE_URL=" + migrationstest.Database(t), "COLONNADE_POSTGRES_URL=" + embeddedtest.PostgresDatabase(t),
		// On a loaded machine reads wait for their writes longer than a client would.
		"COLONNADE_READ_STORE_WAIT_TIMEOUT=1m", "COLONNADE_COMMANDS_WAIT_TIMEOUT=1m", "COLONNADE_HTTP_REQUEST_TIMEOUT=2m",
		// Tests ask for more than a project may, because they ask all at once.
		"COLONNADE_PROJECTS_LIMITS_READS_PER_SECOND=0", "COLONNADE_PROJECTS_LIMITS_SPANS_PER_SECOND=0", "COLONNADE_PROJECTS_LIMITS_INVOCATIONS=0",
	}, settings))
	require.NoError(t, err)
	s, err := app.Open(t.Context(), cfg, app.Options{Roles: app.AllRoles(), Out: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// No handler runs without a credential, or for a role that lacks the permission.
func TestEveryRouteAuthenticates(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	// No sink runs, so no read can see the writes that it waits for.
	s := open(t, "COLONNADE_READ_STORE_WAIT_TIMEOUT=10ms", "COLONNADE_COMMANDS_WAIT_TIMEOUT=10ms")
	created, err := s.Accounts.CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"owner": {Email: "walk@example.com"}}})
	require.NoError(t, err)
	account := created["owner"]
	keys := map[string]string{}
	for _, role := range []string{domain.RoleOwner, domain.RoleAdmin, domain.RoleDeveloper, domain.RoleEditor, domain.RoleAnnotator, domain.RoleViewer} {
		key, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: account.Project.ID, User: account.User.ID, Role: role})
		require.NoError(t, err)
		keys[role] = key.Reveal()
	}
	purposes := map[domain.Purpose]string{}
	for _, purpose := range []domain.Purpose{domain.PurposeIngest, domain.PurposeRead, domain.PurposeSQL} {
		key, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: account.Project.ID, User: account.User.ID, Purpose: purpose})
		require.NoError(t, err)
		purposes[purpose] = key.Reveal()
	}
	call := func(op domain.Operation, authorization string) int {
		path := strings.NewReplacer(":trace_id", strings.Repeat("1", 32), ":span_id", strings.Repeat("1", 16)).Replace(op.Path)
		for strings.Contains(path, ":") {
			at := strings.IndexByte(path, ':')
			end := strings.IndexByte(path[at:]+"/", '/') + at
			path = path[:at] + uuid.NewString() + path[min(end, len(path)):]
		}
		r := httptest.NewRequest(op.Method, path, nil)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		s.Server.Handler().ServeHTTP(w, r)
		return w.Code
	}
	for _, op := range s.Server.Operations() {
		name := op.Method + " " + op.Path
		require.NotEmpty(t, op.Summary, name)
		require.NotEmpty(t, op.Tag, name)
		switch op.Permission {
		case domain.Public:
			require.NotEqual(t, http.StatusUnauthorized, call(op, ""), name)
			continue
		case domain.Admin:
			require.Equal(t, http.StatusNotFound, call(op, "Access "), "%s without an administration key", name)
			continue
		default:
		}
		require.Equal(t, http.StatusUnauthorized, call(op, ""), name)
		for purpose, key := range purposes {
			got := call(op, "ApiKey "+key)
			if op.Permission != domain.Authenticated {
				require.Equal(t, !purpose.Allows(op.Permission), got == http.StatusForbidden, "%s with a key of an owner for %s: %d", name, purpose, got)
			}
		}
		for role, key := range keys {
			got := call(op, "ApiKey "+key)
			require.NotEqual(t, http.StatusInternalServerError, got, "%s as %s", name, role)
			if op.Permission != domain.Authenticated {
				require.Equal(t, !domain.Allows(role, op.Permission), got == http.StatusForbidden, "%s as %s: %d", name, role, got)
			}
		}
	}
}

// Every list is asked for with a body that says what is meant: {} for
// everything, and no member that the service does not know. Only the lists of
// spans and traces may also come without a body (contract §3.1), and those
// that read a query string instead.
func TestEveryListIsStrict(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	s := newService(t)
	lists := 0
	for _, op := range s.Server.Operations() {
		if op.Method != http.MethodPost || !strings.HasSuffix(op.Path, "/query") || op.Path == "/sql/query" || op.Permission == domain.Admin { // a statement; a list of another key
			continue
		}
		lists++
		path := strings.ReplaceAll(op.Path, ":queue_id", uuid.NewString())
		require.Equal(t, http.StatusOK, s.do(op.Method, path, `{}`).Code, op.Path)
		for _, body := range []string{`{"described_nowhere":1}`, `{"described_nowhere":null}`, `{"windowing":{"described_nowhere":1}}`, `[]`, `1`, `{`} {
			r := s.do(op.Method, path, body)
			require.Equal(t, http.StatusUnprocessableEntity, r.Code, "%s %s: %s", op.Path, body, r.Text)
			require.Contains(t, r.Text, `"loc":["body"`, "%s %s", op.Path, body)
		}
		if !op.Lazy {
			r := s.do(op.Method, path, "")
			require.Equal(t, http.StatusUnprocessableEntity, r.Code, "%s: %s", op.Path, r.Text)
		}
	}
	require.Greater(t, lists, 30)
}
