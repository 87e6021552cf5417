//go:build embedded

package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hookCall is a request as a hook got it.
type hookCall struct {
	header http.Header
	path   string
	body   string
}

// Contract §6: a hook revision is run by a signed POST to its URL, and leaves a
// trace like any other; an address of this machine is called only where the
// configuration allows it. A secret goes to the hosts that it names, and what the
// host sends back of it is in no reply and no trace.
func TestInvokeHook(t *testing.T) {
	t.Parallel()
	calls := make(chan hookCall, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- hookCall{r.Header, r.URL.Path, string(body)}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(r.URL.Path, "/refuse") {
			http.Error(w, "unknown key "+r.Header.Get("X-Key"), http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"outputs":{"city":"Paris","echo":"`+r.Header.Get("X-Key")+`"}}`)
	}))
	t.Cleanup(receiver.Close)
	const byName = `{"data":{"inputs":{"country":"France"}},"references":{"application":{"slug":"hooked"}}}`
	application := `{"application":{"slug":"hooked","name":"hooked","data":{"uri":"svc:custom:hook:v0","url":"` + receiver.URL + `/run"}}}`

	s := newService(t, "COLONNADE_INVOKE_WEBHOOK_ALLOW_PRIVATE=true", "COLONNADE_SECRETS_ENCRYPTION_KEY=a key of more than thirty-two characters")
	withKey := func(slug, address string) string {
		return `{"application":{"slug":"` + slug + `","name":"` + slug + `","data":{"uri":"svc:custom:hook:v0","url":"` + address + `","headers":{"X-Key":{"slug":"token"}}}}}`
	}
	s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", withKey("hooked", receiver.URL+"/run"))
	stored := s.ok(http.StatusOK, http.MethodPut, "/secrets/token", `{"secret":{"value":"token-12345","hosts":["`+strings.TrimPrefix(receiver.URL, "http://")+`"]}}`)
	require.Equal(t, []any{strings.TrimPrefix(receiver.URL, "http://")}, stored.at("secret", "hosts"))
	s.ok(http.StatusOK, http.MethodPut, "/secrets/hook", `{"secret":{"value":"to sign with"}}`)
	got := s.ok(http.StatusOK, http.MethodPost, "/services/invoke", byName)
	require.Equal(t, map[string]any{"city": "Paris", "echo": "***"}, got.at("outputs"))
	call := <-calls
	require.Equal(t, "token-12345", call.header.Get("X-Key"))
	require.Equal(t, "/run/invoke", call.path)
	require.Empty(t, call.header.Get("Authorization"), "the caller's key is not sent on")
	require.Contains(t, call.body, `"country":"France"`)
	require.Contains(t, call.header.Get("traceparent"), got.at("trace_id"))
	mac := hmac.New(sha256.New, []byte("to sign with"))
	mac.Write([]byte(call.header.Get("X-Colonnade-Timestamp") + "." + call.body))
	require.Equal(t, "v1="+hex.EncodeToString(mac.Sum(nil)), call.header.Get("X-Colonnade-Signature"))
	root := s.traceOf(got)["hooked"]
	require.Equal(t, map[string]any{"city": "Paris", "echo": "***"}, at(root, "attributes", "ag", "data", "outputs"))
	require.Equal(t, "hooked", at(root, "attributes", "ag", "references", "application", "slug"))

	for _, tt := range []struct{ slug, url, says string }{
		{"refused", receiver.URL + "/refuse", "unknown key ***"},
		{"elsewhere", strings.Replace(receiver.URL, "127.0.0.1", "127.0.0.2", 1), `secret \"token\" may not be sent to 127.0.0.2`},
	} {
		s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", withKey(tt.slug, tt.url))
		got := s.do(http.MethodPost, "/services/invoke", strings.Replace(byName, "hooked", tt.slug, 1))
		require.Contains(t, got.Text, tt.says)
		require.NotContains(t, got.Text+asJSON(t, s.traceOf(got)), "token-12345")
	}
	require.Equal(t, "token-12345", (<-calls).header.Get("X-Key"), "of the host that refuses")

	closed := newService(t)
	closed.ok(http.StatusOK, http.MethodPost, "/simple/applications/", application)
	refused := closed.do(http.MethodPost, "/services/invoke", byName)
	require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "an address that hooks may not reach")
	require.Equal(t, "STATUS_CODE_ERROR", at(closed.traceOf(refused)["hooked"], "status_code"))
	require.Empty(t, calls)
}

// Contract §0 row 55: a hook of a host that is configured gets a credential with which it adds
// spans and reads the revision that is run, and does nothing else.
func TestTheCredentialOfAHook(t *testing.T) {
	t.Parallel()
	calls := make(chan hookCall, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls <- hookCall{r.Header, r.URL.Path, ""}
		_, _ = io.WriteString(w, `{"data":{"outputs":1}}`)
	}))
	t.Cleanup(receiver.Close)
	s := newService(t, "COLONNADE_INVOKE_WEBHOOK_ALLOW_PRIVATE=true", "COLONNADE_INVOKE_HOOK_TICKET_HOSTS=127.0.0.1",
		"COLONNADE_ACCESS_TICKET_SECRET="+strings.Repeat("t", 32), "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32))
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", `{"application":{"slug":"hooked","data":{"uri":"svc:custom:hook:v0","url":"`+receiver.URL+`/invoke"}}}`)
	other := s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", `{"application":{"slug":"other","data":{"uri":"svc:builtin:completion:v0"}}}`)
	s.ok(http.StatusOK, http.MethodPost, "/services/invoke", `{"references":{"application":{"slug":"hooked"}},"data":{"inputs":{}}}`)
	call := <-calls
	require.Equal(t, "/invoke", call.path)
	ticket := call.header.Get("Authorization")
	require.Regexp(t, "^Secret ", ticket)

	with := func(ticket, method, path, body string) reply {
		return s.as("", method, path, body, "Authorization", ticket, "Content-Type", "application/json")
	}
	revision, _ := made.at("application", "revision_id").(string)
	foreign, _ := other.at("application", "revision_id").(string)
	check := with(ticket, http.MethodGet, "/access/permissions/check?action=run_service&resource_type=service", "")
	require.Equal(t, http.StatusOK, check.Code, check.Text)
	exchanged, _ := check.at("credentials").(string)
	const span = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"x","startTimeUnixNano":"1793527200000000000"}]}]}]}`
	for name, ticket := range map[string]string{"as sent": ticket, "exchanged": exchanged} {
		for _, tt := range []struct {
			want               int
			method, path, body string
		}{
			{http.StatusAccepted, http.MethodPost, "/otlp/v1/traces", span},
			{http.StatusOK, http.MethodGet, "/applications/revisions/" + revision, ""},
			{http.StatusOK, http.MethodGet, "/workflows/revisions/" + revision, ""},
			{http.StatusForbidden, http.MethodGet, "/applications/revisions/" + foreign, ""},
			{http.StatusOK, http.MethodPost, "/applications/revisions/retrieve", `{"application_ref":{"slug":"hooked"},"resolve":true}`},
			{http.StatusForbidden, http.MethodPost, "/applications/revisions/retrieve", `{"application_ref":{"slug":"other"}}`},
			{http.StatusForbidden, http.MethodPost, "/applications/revisions/query", `{}`},
			{http.StatusForbidden, http.MethodGet, "/secrets/", ""},
			{http.StatusForbidden, http.MethodPost, "/auth/links", ""},
			{http.StatusForbidden, http.MethodGet, "/access/permissions/check?action=view_secret&resource_type=local_secrets", ""},
			{http.StatusForbidden, http.MethodPost, "/traces/query", "{}"},
			{http.StatusForbidden, http.MethodPost, "/services/invoke", "{}"},
			{http.StatusForbidden, http.MethodPost, "/keys/", "{}"},
		} {
			got := with(ticket, tt.method, tt.path, tt.body)
			require.Equal(t, tt.want, got.Code, "%s: %s %s: %s", name, tt.method, tt.path, got.Text)
		}
	}
}
