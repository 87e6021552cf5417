//go:build embedded

package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/registry"
	"colonnade/write/registry/accounts"
)

// service is all roles at work on stores of the test's own, reached as a client does.
type service struct {
	*house
	t      testing.TB
	stores stores
	// accounts are the two projects, by name; keys those of their members, by name and role.
	accounts map[string]accounts.Account
	keys     map[string]string
}

// newService runs the house; the test calls it with keys of one project, one for each role, and of another.
func newService(t testing.TB, settings ...string) *service {
	t.Helper()
	s := newIdleService(t, settings...)
	atWork(t, s.sink.Run)
	atWork(t, s.evaluations.Run)
	return s
}

// atWork runs an actor until the test ends, or until it is told to stop.
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

// newIdleService is a service whose sink does not run: what is written stays in the stream.
func newIdleService(t testing.TB, settings ...string) *service {
	t.Helper()
	h, stores := newHouse(t, settings...)
	commands, err := newCommands(registry.DefaultConfig(), registry.Deps{Pool: stores.postgres, Now: time.Now, Random: credential.Random()})
	require.NoError(t, err)
	s := &service{house: h, t: t, stores: stores, accounts: map[string]accounts.Account{}, keys: map[string]string{}}
	for _, name := range []string{"ours", "theirs"} {
		account, err := commands.accounts.CreateAccount(t.Context(), accounts.AccountRequest{Email: name + "@example.com"})
		require.NoError(t, err)
		s.accounts[name] = account
		for _, role := range []string{domain.RoleOwner, domain.RoleAnnotator, domain.RoleViewer} {
			key, err := commands.accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: account.Project.ID, User: account.User.ID, Role: role})
			require.NoError(t, err)
			s.keys[name+" "+role] = key.Reveal()
		}
	}
	return s
}

// with is the service as a test sees it that runs beside others.
func (s *service) with(t *testing.T) *service {
	t.Helper()
	other := *s
	other.t = t
	return &other
}

// reply is what came back.
type reply struct {
	Code   int
	Header http.Header
	Text   string
	Body   map[string]any
}

// at digs into the body along keys.
func (r reply) at(keys ...string) any {
	var v any = r.Body
	for _, k := range keys {
		object, _ := v.(map[string]any)
		v = object[k]
	}
	return v
}

// as calls with a key.
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
	s.server.Handler().ServeHTTP(w, r)
	out := reply{Code: w.Code, Header: w.Header(), Text: w.Body.String()}
	if strings.HasPrefix(out.Text, "{") && out.Header.Get("Content-Type") != "application/x-ndjson" {
		require.NoError(s.t, json.Unmarshal(w.Body.Bytes(), &out.Body), out.Text)
	}
	return out
}

// do calls as the owner of the project.
func (s *service) do(method, path, body string) reply {
	s.t.Helper()
	return s.as("ours owner", method, path, body)
}

// ok calls and wants this status.
func (s *service) ok(status int, method, path, body string) reply {
	s.t.Helper()
	r := s.do(method, path, body)
	require.Equal(s.t, status, r.Code, "%s %s: %s", method, path, r.Text)
	return r
}
