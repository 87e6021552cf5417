//go:build embedded

package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/app"
	"colonnade/domain"
	"colonnade/write/registry/accounts"
)

// service is a service with two projects. The test calls it as a client does.
type service struct {
	*app.Service
	t testing.TB
	// accounts holds the projects by name, keys the API keys by project name and role.
	accounts map[string]accounts.Account
	keys     map[string]string
}

// newService opens a service whose sink and evaluations run.
func newService(t testing.TB, settings ...string) *service {
	t.Helper()
	s := newIdleService(t, settings...)
	atWork(t, s.Sink.Run)
	atWork(t, s.Runner.Run)
	return s
}

// atWork runs an actor until the test ends or calls stop.
func atWork(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1) // Run's one answer
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// newIdleService opens a service whose actors do not run: written spans stay in Kafka.
func newIdleService(t testing.TB, settings ...string) *service {
	t.Helper()
	s := &service{Service: open(t, settings...), t: t, accounts: map[string]accounts.Account{}, keys: map[string]string{}}
	for _, name := range []string{"ours", "theirs"} {
		created, err := s.Accounts.CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"owner": {Email: name + "@example.com"}}})
		require.NoError(t, err)
		account := created["owner"]
		s.accounts[name] = account
		for _, role := range []string{domain.RoleOwner, domain.RoleAnnotator, domain.RoleViewer} {
			key, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: account.Project.ID, User: account.User.ID, Role: role})
			require.NoError(t, err)
			s.keys[name+" "+role] = key.Reveal()
		}
	}
	return s
}

// with returns the service for a subtest.
func (s *service) with(t *testing.T) *service {
	t.Helper()
	other := *s
	other.t = t
	return &other
}

// reply is an HTTP reply.
type reply struct {
	Code   int
	Header http.Header
	Text   string
	Body   map[string]any
}

// at returns the member of the body at the path of keys.
func (r reply) at(keys ...string) any {
	var v any = r.Body
	for _, k := range keys {
		object, _ := v.(map[string]any)
		v = object[k]
	}
	return v
}

// as sends a request with one of the keys.
func (s *service) as(key, method, path, body string, headers ...string) reply {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, reader)
	r.Header.Set("Authorization", "ApiKey "+s.keys[key])
	if key == "admin" {
		r.Header.Set("Authorization", "Access "+s.keys[key])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Server.Handler().ServeHTTP(w, r)
	out := reply{Code: w.Code, Header: w.Header(), Text: w.Body.String()}
	if strings.HasPrefix(out.Text, "{") && out.Header.Get("Content-Type") != "application/x-ndjson" {
		require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &out.Body), out.Text)
	}
	return out
}

// do sends a request as the owner of the project "ours".
func (s *service) do(method, path, body string) reply {
	s.t.Helper()
	return s.as("ours owner", method, path, body)
}

// ok sends a request as do does and requires the status.
func (s *service) ok(status int, method, path, body string) reply {
	s.t.Helper()
	r := s.do(method, path, body)
	require.Equal(s.t, status, r.Code, "%s %s: %s", method, path, r.Text)
	return r
}
