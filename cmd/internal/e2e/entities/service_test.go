//go:build embedded

// Package entities_test holds the tests of entities and evaluations that need both
// sides of the service: a command is sent over HTTP and a query shows its effect, with
// authentication and permissions, on a Postgres database for each test.
package entities_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/server"
	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/migrations"
	"colonnade/read/access"
	readapi "colonnade/read/api"
	entitiesread "colonnade/read/api/entities"
	evaluationsread "colonnade/read/api/evaluations"
	readregistry "colonnade/read/entities"
	readruns "colonnade/read/entities/runs"
	accountsapi "colonnade/write/api/accounts"
	entitiesapi "colonnade/write/api/entities"
	evaluationsapi "colonnade/write/api/evaluations"
	"colonnade/write/registry"
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/evaluations"
	"colonnade/write/registry/folders"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

const adminKey = "the-administration-key"

// services is the base address of data.url in these tests.
const services = "http://127.0.0.1:8080/services"

// service is the service on a database of its own.
type service struct {
	pool     *pgxpool.Pool
	db       *registry.DB
	write    *entities.Registry
	accounts *accounts.Registry
	read     *readregistry.Registry
	access   *access.Access
	server   *server.Server
	handler  http.Handler
	logs     *buffer
	openAPI  *openAPI
}

// buffer collects the log lines of several goroutines.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newService(tb testing.TB, change ...func(*access.Config)) *service {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), embeddedtest.PostgresDatabase(tb))
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	_, err = migrations.Postgres(tb.Context(), pool)
	require.NoError(tb, err)

	w := &service{pool: pool, logs: &buffer{}}
	w.db, err = registry.New(registry.DefaultConfig(), registry.Deps{Pool: pool, Now: time.Now, Random: rand.Reader})
	require.NoError(tb, err)
	w.write, err = entities.New(w.db, services)
	require.NoError(tb, err)
	w.accounts = accounts.New(w.db, w.write)
	w.read, err = readregistry.New(readregistry.DefaultConfig(), readregistry.Deps{Pool: pool})
	require.NoError(tb, err)
	cfg := access.DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	w.access, err = access.New(cfg, access.Deps{Pool: pool, Now: time.Now})
	require.NoError(tb, err)
	w.server, err = server.New(server.DefaultConfig(), server.Deps{
		Log:      slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Registry: prometheus.NewRegistry(), Authenticate: w.access.Authenticate, RateHeaders: w.access.RateHeaders, Allows: access.Allows, AuthKey: adminKey, Now: time.Now,
	})
	require.NoError(tb, err)
	questions := readapi.Bounded(w.server)
	accountsapi.Mount(w.server, accountsapi.Deps{Registry: w.accounts})
	accountsapi.MountKeys(w.server, w.accounts)
	accountsapi.MountMembers(w.server, w.accounts)
	entitiesapi.Mount(w.server, w.write)
	entitiesapi.MountFolders(w.server, folders.New(w.db))
	entitiesapi.MountTestsetFiles(w.server, w.write)
	entitiesread.MountAccess(questions, w.access)
	entitiesread.MountRegistry(questions, w.read, nil)
	entitiesread.MountFolders(questions, w.read)
	evaluationsapi.MountRuns(w.server, evaluations.New(w.db, w.write, counted()))
	evaluationsread.MountRuns(questions, readruns.New(w.read))
	entitiesread.MountTestcases(questions, w.read)
	entitiesread.MountTestsetFiles(questions, w.read)
	entitiesread.MountLegacy(questions, w.read)
	w.handler = w.server.Handler()
	w.openAPI = newPromise(tb, w)
	return w
}

// client sends requests with one credential.
type client struct {
	t       testing.TB
	w       *service
	header  string
	account accounts.Account
}

// owner creates an account and returns a client of its owner.
func (w *service) owner(tb testing.TB, email string, seed bool) client {
	tb.Helper()
	created, err := w.accounts.CreateAccounts(tb.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"owner": {Email: email, CreateKey: true, SeedDefaults: seed}}})
	require.NoError(tb, err)
	a := created["owner"]
	return client{t: tb, w: w, header: "ApiKey " + a.Key.Reveal(), account: a}
}

// as returns a client of the same project with a key of a lower role.
func (c client) as(role string) client {
	c.t.Helper()
	key, err := c.w.accounts.CreateKey(c.t.Context(), accounts.KeyRequest{Project: c.account.Project.ID, User: c.account.User.ID, Role: role})
	require.NoError(c.t, err)
	c.header = "ApiKey " + key.Reveal()
	return c
}

func (c client) principal() domain.Principal {
	return domain.Principal{Project: c.account.Project.ID, User: c.account.User.ID, Role: domain.RoleOwner}
}

// object is a decoded JSON object.
type object = map[string]any

// do sends a request; the body is an object, a string that is sent unchanged, or nil.
func (c client) do(method, path string, body any) (int, object, http.Header) {
	c.t.Helper()
	var text io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		text = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		require.NoError(c.t, err)
		text = bytes.NewReader(encoded)
	}
	request := httptest.NewRequestWithContext(c.t.Context(), method, path, text)
	if c.header != "" {
		request.Header.Set("Authorization", c.header)
	}
	recorder := httptest.NewRecorder()
	c.w.handler.ServeHTTP(recorder, request)
	c.w.openAPI.hold(c.t, method, path, recorder.Code, recorder.Body.Bytes())
	var reply any
	if recorder.Body.Len() > 0 {
		require.NoError(c.t, json.Unmarshal(recorder.Body.Bytes(), &reply), recorder.Body.String())
	}
	o, ok := reply.(object)
	if !ok {
		o = object{"": reply}
	}
	return recorder.Code, o, recorder.Header()
}

// post sends a request and requires a 200.
func (c client) post(path string, body any) object {
	c.t.Helper()
	return c.expect(http.StatusOK, http.MethodPost, path, body)
}

func (c client) get(path string) object {
	c.t.Helper()
	return c.expect(http.StatusOK, http.MethodGet, path, nil)
}

func (c client) put(path string, body any) object {
	c.t.Helper()
	return c.expect(http.StatusOK, http.MethodPut, path, body)
}

// fails requires a status and returns the detail.
func (c client) fails(status int, method, path string, body any) any {
	c.t.Helper()
	return c.expect(status, method, path, body)["detail"]
}

func (c client) expect(status int, method, path string, body any) object {
	c.t.Helper()
	got, reply, _ := c.do(method, path, body)
	require.Equal(c.t, status, got, "%s %s %v -> %v", method, path, body, reply)
	return reply
}

// at returns the value of a reply at a path of keys and indices.
func at(tb testing.TB, value any, path ...any) any {
	tb.Helper()
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, ok := value.(object)
			require.True(tb, ok, "no object at %v in %v", s, value)
			value = m[s]
		case int:
			list, ok := value.([]any)
			require.True(tb, ok, "no list at %v in %v", s, value)
			require.Greater(tb, len(list), s, "%v", value)
			value = list[s]
		default:
			require.Fail(tb, "a path has strings and ints")
		}
	}
	return value
}

func text(tb testing.TB, value any, path ...any) string {
	tb.Helper()
	s, ok := at(tb, value, path...).(string)
	require.True(tb, ok, "no string at %v in %v", path, value)
	return s
}

func objectAt(tb testing.TB, value any, path ...any) object {
	tb.Helper()
	o, ok := at(tb, value, path...).(object)
	require.True(tb, ok, "no object at %v in %v", path, value)
	return o
}

func listAt(tb testing.TB, value any, path ...any) []any {
	tb.Helper()
	l, ok := at(tb, value, path...).([]any)
	require.True(tb, ok, "no list at %v in %v", path, value)
	return l
}

// app creates a simple application with a prompt and returns its record.
func (c client) app(slug string) object {
	c.t.Helper()
	return objectAt(c.t, c.post("/simple/applications/", object{"application": object{
		"slug": slug, "name": "App " + slug, "flags": object{"is_application": true},
		"data": object{"uri": "svc:builtin:completion:v0", "parameters": object{"prompt": object{"n": 1}}},
	}}), "application")
}

// commit commits to a variant of an application and returns the revision.
func (c client) commit(variant any, parameters object) object {
	c.t.Helper()
	return objectAt(c.t, c.post("/applications/revisions/commit", object{"application_revision_commit": object{
		"application_variant_id": variant, "message": fmt.Sprint("set ", len(parameters)),
		"data": object{"uri": "svc:builtin:completion:v0", "parameters": parameters},
	}}), "application_revision")
}
