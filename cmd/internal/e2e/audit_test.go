//go:build embedded

package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// What a caller changes is in the audit log of its project with the caller and the outcome,
// and in no other project's.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_AUTH_KEY=administration", "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32))
	s.keys["admin"] = "administration"
	stop := atWork(t, s.Audit.Run)
	project := s.accounts["ours"].Project.ID.String()

	s.ok(http.StatusOK, "PUT", "/secrets/openai", `{"secret":{"value":"sk-very-secret"}}`)
	s.ok(http.StatusOK, "POST", "/simple/applications/", `{"application":{"slug":"audited","data":{"uri":"svc:builtin:completion:v0"}}}`)
	s.ok(http.StatusConflict, "POST", "/simple/applications/", `{"application":{"slug":"audited","data":{"uri":"svc:builtin:completion:v0"}}}`)
	key := s.ok(http.StatusOK, "POST", "/keys/", `{"name":"ci","role":"viewer"}`)
	prefix, _, _ := strings.Cut(strings.Trim(key.Text, `"`), ".")
	s.ok(http.StatusOK, "DELETE", "/keys/"+prefix, "")
	s.do("POST", "/sql/query", `{"query":"SELECT count() FROM spans"}`)
	require.Equal(t, http.StatusOK, s.as("", "POST", "/auth/session", `{"key":"`+s.keys["ours owner"]+`"}`, "Content-Type", "application/json").Code)
	require.Equal(t, http.StatusUnauthorized, s.as("", "POST", "/auth/session", `{"key":"AAAAAAAA.`+strings.Repeat("a", 64)+`"}`, "Content-Type", "application/json").Code)
	member := `{"membership":{"project_ref":{"id":"` + project + `"},"user_ref":{"id":"` + s.accounts["theirs"].User.ID.String() + `"},"role":"viewer"}}`
	r := s.as("admin", "POST", "/admin/simple/accounts/projects/memberships/", member)
	require.Equal(t, http.StatusOK, r.Code, r.Text)
	require.Equal(t, http.StatusOK, s.as("theirs owner", "PUT", "/secrets/openai", `{"secret":{"value":"theirs"}}`).Code)
	s.ok(http.StatusOK, "POST", "/simple/applications/query", `{}`)
	stop() // the outcomes are stored

	r = s.ok(http.StatusOK, "POST", "/audit/query", `{"windowing":{"order":"ascending"}}`)
	var got []string
	entries, _ := r.at("entries").([]any)
	for _, e := range entries {
		status, _ := at(e, "status").(float64)
		got = append(got, strings.Join([]string{at(e, "action").(string), at(e, "resource").(string), http.StatusText(int(status))}, " "))
		require.Equal(t, project, at(e, "project_id"))
	}
	require.Equal(t, []string{
		"change secrets OK", "create applications OK", "create applications Conflict", "create keys OK", "revoke keys OK",
		"run_sql sql Service Unavailable", "sign_in console OK", "create accounts OK",
	}, got)
	require.NotContains(t, r.Text, "sk-very-secret")
	require.NotContains(t, r.Text, s.keys["ours owner"])
	require.Equal(t, "audited", at(entries[1], "target", "application", "slug"))
	require.Equal(t, prefix, at(entries[3], "target", "key", "key_prefix"))
	require.Equal(t, prefix, at(entries[4], "target", "key_prefix"))
	require.Equal(t, "SELECT count() FROM spans", at(entries[5], "target", "query"))
	require.Equal(t, s.accounts["ours"].User.ID.String(), at(entries[0], "user_id"))
	require.Equal(t, "ours@example.com", at(entries[0], "email"))
	require.Contains(t, r.Text, `"role":"viewer"`)
	require.Nil(t, at(entries[7], "user_id"), "the administration key is no user's")

	page := s.ok(http.StatusOK, "POST", "/audit/query", `{"entry":{"actions":["create"]},"windowing":{"limit":2}}`)
	require.InDelta(t, 2, page.at("count"), 0)
	next, _ := page.at("windowing", "next").(string)
	page = s.ok(http.StatusOK, "POST", "/audit/query", `{"entry":{"actions":["create"]},"windowing":{"limit":2,"next":"`+next+`"}}`)
	require.InDelta(t, 2, page.at("count"), 0)
	require.Nil(t, page.at("windowing"))
	require.InDelta(t, 0, s.ok(http.StatusOK, "POST", "/audit/query", `{"entry":{"user_ids":["`+uuid.NewString()+`"]}}`).at("count"), 0)
	require.InDelta(t, 0, s.ok(http.StatusOK, "POST", "/audit/query", `{"windowing":{"newest":"2001-01-01T00:00:00Z"}}`).at("count"), 0)

	require.Equal(t, http.StatusForbidden, s.as("ours viewer", "POST", "/audit/query", `{}`).Code)
	require.InDelta(t, 1, s.as("theirs owner", "POST", "/audit/query", `{}`).at("count"), 0)
	all := s.as("admin", "POST", "/admin/audit/query", `{}`)
	require.InDelta(t, 9, all.at("count"), 0, all.Text)
}

// Entries older than the setting are deleted, and a change that cannot be logged is refused.
func TestAuditLogIsKept(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_PROJECTS_AUDIT_KEEP_FOR=24h")
	s.ok(http.StatusOK, "POST", "/simple/queries/", `{"query":{"slug":"old"}}`)
	s.ok(http.StatusOK, "POST", "/simple/queries/", `{"query":{"slug":"new"}}`)
	_, err := s.Stores.Postgres.Exec(t.Context(), `UPDATE audit_log SET at = at - interval '25 hours' WHERE id = (SELECT id FROM audit_log ORDER BY id LIMIT 1)`)
	require.NoError(t, err)
	require.NoError(t, s.Audit.Prune(t.Context(), time.Now()))
	require.InDelta(t, 1, s.ok(http.StatusOK, "POST", "/audit/query", `{}`).at("count"), 0)

	_, err = s.Stores.Postgres.Exec(t.Context(), `ALTER TABLE audit_log RENAME TO elsewhere`)
	require.NoError(t, err)
	s.ok(http.StatusServiceUnavailable, "POST", "/simple/queries/", `{"query":{"slug":"after"}}`)
	r := s.ok(http.StatusOK, "POST", "/simple/queries/query", `{}`)
	require.InDelta(t, 2, r.at("count"), 0)
}
