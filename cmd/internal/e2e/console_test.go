//go:build embedded

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/registry/accounts"
)

// page is a browser: it keeps the cookie that the service sets and sends it back.
type page struct {
	*service
	cookie string
}

// ask sends a request as a page of the service itself does.
func (p *page) ask(method, path, body string, headers ...string) reply {
	p.t.Helper()
	out := p.as("", method, path, body, append([]string{
		"Authorization", "", "Cookie", p.cookie, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin",
	}, headers...)...)
	if set := out.Header.Get("Set-Cookie"); set != "" {
		p.cookie, _, _ = strings.Cut(set, ";")
	}
	return out
}

func (p *page) signIn(key string) reply {
	p.t.Helper()
	return p.ask(http.MethodPost, "/auth/session", `{"key":"`+key+`"}`)
}

// A browser signs in with a key, and acts as that key until either ends.
func TestBrowserSession(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	p := &page{service: s}
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodGet, "/auth/session", "").Code, "nobody is signed in")
	require.Equal(t, http.StatusUnauthorized, p.signIn("nonsense").Code)

	in := p.signIn(s.keys["ours viewer"])
	require.Equal(t, http.StatusOK, in.Code, in.Text)
	require.Regexp(t, `^colonnade-[0-9a-f]{8}=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`, in.Header.Get("Set-Cookie"))
	require.NotContains(t, in.Text, p.cookie)

	session := p.ask(http.MethodGet, "/auth/session", "")
	require.Equal(t, http.StatusOK, session.Code, session.Text)
	projects, _ := session.Body["projects"].([]any)
	require.Len(t, projects, 1)
	project, _ := projects[0].(map[string]any)
	require.Equal(t, domain.RoleViewer, project["role"])
	require.Contains(t, project["permissions"], "view_spans")
	require.NotContains(t, project["permissions"], "edit_traces")
	require.Equal(t, "ours", session.at("user", "username"))

	require.Equal(t, http.StatusOK, p.ask(http.MethodPost, "/spans/query", `{}`).Code)
	require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/keys/", `{}`).Code, "the session may do what its key may")
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodGet, "/profile/", "", "Authorization", "ApiKey nonsense").Code, "a credential wins over the cookie")

	foreign := p.ask(http.MethodGet, "/auth/session", "", "Colonnade-Project", s.accounts["theirs"].Project.ID.String())
	require.Equal(t, http.StatusUnauthorized, foreign.Code)
	require.Equal(t, s.accounts["theirs"].Project.ID.String(), foreign.at("detail", "project_id"))

	require.Equal(t, http.StatusConflict, p.signIn(s.keys["theirs viewer"]).Code, "a key of another user does not join")

	before := p.cookie
	require.Equal(t, http.StatusOK, p.signIn(s.keys["ours owner"]).Code)
	require.NotEqual(t, before, p.cookie, "each sign-in makes a new token")
	now := p.cookie
	p.cookie = before
	require.Eventually(t, func() bool { return p.ask(http.MethodGet, "/auth/session", "").Code == http.StatusUnauthorized }, 5*time.Second, 50*time.Millisecond, "the token before does not hold")
	p.cookie = now
	require.Equal(t, http.StatusOK, p.ask(http.MethodGet, "/keys/", "").Code, "the later key replaces the one before")

	list := p.ask(http.MethodGet, "/auth/sessions", "")
	require.EqualValues(t, 1, list.Body["count"], list.Text)

	prefix, _, _ := strings.Cut(s.keys["ours owner"], ".")
	require.Equal(t, http.StatusOK, s.as("ours owner", http.MethodDelete, "/keys/"+prefix, "").Code)
	require.Eventually(t, func() bool { return p.ask(http.MethodGet, "/auth/session", "").Code == http.StatusUnauthorized }, 5*time.Second, 50*time.Millisecond, "a revoked key ends its sessions")
}

// A session has several projects of one user; each request names one.
func TestAKeyForIngestDoesNotSignIn(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	made := s.as("ours owner", http.MethodPost, "/keys/", `{"purpose":"ingest"}`)
	require.Equal(t, http.StatusOK, made.Code, made.Text)
	refused := (&page{service: s}).ask(http.MethodPost, "/auth/session", `{"key":`+made.Text+`}`)
	require.Equal(t, http.StatusForbidden, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "for ingest only")
}

func TestBrowserSessionOfTwoProjects(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	ours := s.accounts["ours"]
	second, err := s.Accounts.CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"other": {Email: "second@example.com"}}})
	require.NoError(t, err)
	_, err = s.Stores.Postgres.Exec(t.Context(), `INSERT INTO memberships (project_id, user_id, role, created_at) VALUES ($1, $2, 'editor', now())`,
		second["other"].Project.ID.String(), ours.User.ID)
	require.NoError(t, err)
	key, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: second["other"].Project.ID, User: ours.User.ID})
	require.NoError(t, err)

	p := &page{service: s}
	require.Equal(t, http.StatusOK, p.signIn(s.keys["ours owner"]).Code)
	require.Equal(t, http.StatusOK, p.signIn(key.Reveal()).Code)
	session := p.ask(http.MethodGet, "/auth/session", "")
	projects, _ := session.Body["projects"].([]any)
	require.Len(t, projects, 2, session.Text)
	other := second["other"].Project.ID.String()
	current := p.ask(http.MethodGet, "/projects/current", "", "Colonnade-Project", other)
	require.Equal(t, other, current.Body["project_id"], current.Text)
	require.Equal(t, ours.Project.ID.String(), p.ask(http.MethodGet, "/projects/current", "").Body["project_id"], "without the header it is the first")

	require.Equal(t, http.StatusNoContent, p.ask(http.MethodDelete, "/auth/session/projects/"+other, "").Code)
	require.Eventually(t, func() bool {
		return p.ask(http.MethodGet, "/projects/current", "", "Colonnade-Project", other).Code == http.StatusUnauthorized
	}, 5*time.Second, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, p.ask(http.MethodGet, "/projects/current", "").Code)

	require.Equal(t, http.StatusNoContent, p.ask(http.MethodDelete, "/auth/session", "").Code)
	require.Regexp(t, `=$`, p.cookie, "the cookie is gone")
}

// A link signs in once, as the key that made it.
func TestConsoleLink(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	made := s.as("ours viewer", http.MethodPost, "/auth/links", "")
	require.Equal(t, http.StatusOK, made.Code, made.Text)
	url, _ := made.Body["url"].(string)
	require.Contains(t, url, "/ui/#open=")
	_, token, _ := strings.Cut(url, "#open=")

	p := &page{service: s}
	look := p.ask(http.MethodPost, "/auth/session", `{"link":"`+token+`","look":true}`)
	require.Equal(t, "ours", look.Body["user"], look.Text)
	require.Empty(t, look.Header.Get("Set-Cookie"))
	require.Equal(t, http.StatusOK, p.ask(http.MethodPost, "/auth/session", `{"link":"`+token+`"}`).Code)
	require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/auth/links", "").Code, "a session makes no link")
	require.Equal(t, http.StatusUnauthorized, p.ask(http.MethodPost, "/auth/session", `{"link":"`+token+`"}`).Code, "a link works once")
	require.Equal(t, http.StatusUnprocessableEntity, p.ask(http.MethodPost, "/auth/session", `{}`).Code)
}

// Pages of other origins change nothing, and choose nobody's session.
func TestOtherOriginsChangeNothing(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	p := &page{service: s}
	require.Equal(t, http.StatusOK, p.signIn(s.keys["ours owner"]).Code)
	for _, from := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
	} {
		require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/spans/query", `{}`, from...).Code)
		require.Equal(t, http.StatusForbidden, p.ask(http.MethodDelete, "/auth/session", "", from...).Code)
		require.Equal(t, http.StatusForbidden, p.ask(http.MethodPost, "/auth/session", `{"key":"`+s.keys["theirs owner"]+`"}`, from...).Code)
	}
	require.Equal(t, http.StatusBadRequest, p.ask(http.MethodPost, "/spans/query", `{}`, "Content-Type", "text/plain").Code, "a form of another page sends text/plain")
	require.Equal(t, http.StatusOK, s.as("ours owner", http.MethodPost, "/spans/query", `{}`, "Origin", "https://evil.example").Code, "a credential of its own is no cookie")
	require.Empty(t, p.ask(http.MethodGet, "/auth/session", "").Header.Get("Access-Control-Allow-Credentials"))
}

func TestSigningInIsBounded(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	p := &page{service: s}
	for range 20 {
		require.Equal(t, http.StatusUnauthorized, p.signIn("nonsense").Code)
	}
	refused := p.signIn(s.keys["ours owner"])
	require.Equal(t, http.StatusTooManyRequests, refused.Code)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
}

// Over plain HTTP a session is for loopback alone, and over TLS its cookie is bound to it.
func TestCookiesNeedTLS(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_HTTP_ADDR=0.0.0.0:0", "COLONNADE_HTTP_TRUSTED_PROXIES=192.0.2.0/24")
	p := &page{service: s}
	refused := p.signIn(s.keys["ours owner"])
	require.Equal(t, http.StatusBadRequest, refused.Code)
	require.Contains(t, refused.Text, "console.insecure_cookies")
	in := p.ask(http.MethodPost, "/auth/session", `{"key":"`+s.keys["ours owner"]+`"}`, "X-Forwarded-Proto", "https")
	require.Equal(t, http.StatusOK, in.Code, in.Text)
	require.Regexp(t, `^__Host-colonnade=[\w-]{43}; Path=/; Max-Age=\d+; HttpOnly; Secure; SameSite=Strict$`, in.Header.Get("Set-Cookie"))
	require.Equal(t, http.StatusOK, p.ask(http.MethodGet, "/auth/session", "").Code)
}

// A browser at the root is sent to the console; programs find nothing there.
func TestRootLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		at := s.as("", method, "/", "", "Accept", "text/html,*/*")
		require.Equal(t, http.StatusFound, at.Code)
		require.Equal(t, "ui/", at.Header.Get("Location"))
	}
	require.Equal(t, http.StatusNotFound, s.as("", http.MethodGet, "/", "").Code)
	require.Equal(t, http.StatusMethodNotAllowed, s.as("", http.MethodPost, "/", "").Code)
	require.Equal(t, http.StatusMethodNotAllowed, s.as("", http.MethodPost, "/ui/traces", "").Code)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/ui/traces/6d66", http.NoBody)
	r.Header.Set("Accept", "text/html")
	s.Server.Handler().ServeHTTP(w, r)
	require.Contains(t, w.Header().Get("Content-Type"), "text/html")
	require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
}
