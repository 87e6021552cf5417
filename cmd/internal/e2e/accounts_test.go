//go:build embedded

package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/write/stream"
)

// TestDeletedAccounts walks contract §10 on running stores: an account that is
// deleted leaves nothing behind in either store, and what of its spans was on
// its way does not come back.
func TestDeletedAccounts(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_AUTH_KEY=the-administration-key", "COLONNADE_SINK_PURGE_EVERY=50ms", "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32))
	s.keys["admin"] = "the-administration-key"
	const body = `{"accounts":{"one":{"user":{"user":{"email":"one@example.com"}},"options":{"create_api_keys":true,"return_api_keys":true,"seed_defaults":false}}}}`
	made := s.as("admin", "POST", "/admin/simple/accounts/", body)
	require.Equal(t, http.StatusOK, made.Code, made.Text)
	s.keys["removed"], _ = made.at("accounts", "one", "api_keys", "key").(string)
	require.NotEmpty(t, s.keys["removed"], made.Text)
	again := s.as("admin", "POST", "/admin/simple/accounts/", body)
	require.Equal(t, http.StatusConflict, again.Code, again.Text)
	s.keys["wrong"] = "x"
	require.Equal(t, http.StatusUnauthorized, s.as("wrong", "DELETE", "/admin/simple/accounts/", body).Code)

	id := newTraceID()
	annotation := `{"annotation":{"data":{"outputs":{"score":1}},"references":{"evaluator":{"slug":"judge"}},"links":{"invocation":` + invocation + `}}}`
	for _, who := range []string{"removed", "ours owner"} {
		r := s.as(who, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
		require.Equal(t, http.StatusAccepted, r.Code, r.Text)
		r = s.as(who, "POST", "/annotations/", annotation)
		require.Equal(t, http.StatusOK, r.Code, r.Text)
		r = s.as(who, "GET", "/traces/"+id, "")
		require.InDelta(t, 1, r.at("count"), 0)
	}
	require.Equal(t, http.StatusOK, s.as("removed", "PUT", "/secrets/openai", `{"secret":{"value":"x"}}`).Code)
	project := s.projectOf(t, "removed")
	require.NotZero(t, s.rowsOf(t, project))

	deleted := s.as("admin", "DELETE", "/admin/simple/accounts/", body)
	require.Equal(t, http.StatusNoContent, deleted.Code, deleted.Text)
	require.Empty(t, deleted.Text)
	// A request that was admitted before the deletion hands over its spans after it.
	raw := strings.NewReplacer("-", "").Replace(uuid.NewString())
	late := stream.Record{
		Project: project, User: uuid.New(), Trace: [16]byte{1, 2, 3}, Source: "otlp", Operation: stream.Reject, ReceivedAt: time.Now(),
		Value: []byte(`{"stage":"receive","reason":"late","trace_id":"` + raw + `"}`),
	}
	_, err := s.Producer.Publish(t.Context(), []stream.Record{late})
	require.NoError(t, err)

	eventually(t, "the key ends", func() bool { return s.as("removed", "GET", "/projects/current", "").Code == http.StatusUnauthorized })
	mark := s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+newTraceID()+`","spans":{"a":{"span_id":"1000000000000001"}}}}`)
	require.NotEmpty(t, mark.Header.Get(domain.TokenHeader))
	eventually(t, "its rows are gone", func() bool { return s.rowsOf(t, project) == 0 })
	tables := s.projectTables(t)
	require.Contains(t, tables, "secrets")
	for _, table := range tables {
		var n int
		require.NoError(t, s.Stores.Postgres.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE project_id = $1`, uuid.UUID(project)).Scan(&n))
		require.Zero(t, n, table)
	}
	require.InDelta(t, 1, s.ok(http.StatusOK, "GET", "/traces/"+id, "").at("count"), 0, "the other project keeps its trace of the same id")

	require.Equal(t, http.StatusNoContent, s.as("admin", "DELETE", "/admin/simple/accounts/", body).Code, "what is gone is gone")
	require.Equal(t, http.StatusOK, s.as("admin", "POST", "/admin/simple/accounts/", body).Code, "the address is free again")
}

// projectOf asks for the project of a key.
func (s *service) projectOf(t *testing.T, key string) domain.ProjectID {
	t.Helper()
	r := s.as(key, "GET", "/projects/current", "")
	text, _ := r.at("project_id").(string)
	id, err := uuid.Parse(text)
	require.NoError(t, err, r.Text)
	return domain.ProjectID(id)
}

// projectTables returns the tables of Postgres that hold something of a project. Its deletion and its audit log stay
// after it.
func (s *service) projectTables(t *testing.T) []string {
	t.Helper()
	rows, err := s.Stores.Postgres.Query(t.Context(), `SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'project_id' AND table_name NOT IN ('project_deletions', 'audit_log') ORDER BY 1`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Subset(t, tables, []string{"artifacts", "variants", "revisions", "environment_references", "api_keys", "memberships"})
	return tables
}

// rowsOf counts what ClickHouse holds of a project, in every table that has its projects apart.
func (s *service) rowsOf(t *testing.T, project domain.ProjectID) (sum uint64) {
	t.Helper()
	var tables []string
	require.NoError(t, s.Stores.ClickHouse.QueryRow(t.Context(), `SELECT groupUniqArray(table) FROM system.columns WHERE database = currentDatabase() AND name = 'project_id'`).Scan(&tables))
	require.Subset(t, tables, []string{
		schema.Spans, schema.SpanPayloads, schema.TraceIndex, schema.TraceTotals, schema.AnnotationIndex, schema.EvaluationIndex, schema.AttributeKeys, schema.RejectedSpans,
	})
	for _, table := range tables {
		var n uint64
		require.NoError(t, s.Stores.ClickHouse.QueryRow(t.Context(), "SELECT count() FROM "+table+" WHERE project_id = ?", project.String()).Scan(&n))
		sum += n
	}
	return sum
}

// eventually waits for what the service does by itself, as long as a busy machine may take.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, time.Minute, 20*time.Millisecond, what)
}

// TestDeletedProject walks contract §5.8: a project that is deleted alone takes
// its spans along, and leaves those of the account's other project.
func TestDeletedProject(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_AUTH_KEY=the-administration-key", "COLONNADE_SINK_PURGE_EVERY=50ms")
	s.keys["admin"] = "the-administration-key"
	made := s.as("admin", "POST", "/admin/accounts/", `{"options":{"seed_defaults":false},
"users":{"u":{"email":"u@example.com"}},"organizations":{"o":{"name":"O"}},"workspaces":{"w":{"name":"W","organization_ref":{"ref":"o"}}},
"projects":{"removed":{"name":"D","organization_ref":{"ref":"o"},"workspace_ref":{"ref":"w"}},"kept":{"name":"K","organization_ref":{"ref":"o"},"workspace_ref":{"ref":"w"}}},
"api_keys":{"removed":{"project_ref":{"ref":"removed"},"user_ref":{"ref":"u"}},"kept":{"project_ref":{"ref":"kept"},"user_ref":{"ref":"u"}}}}`)
	require.Equal(t, http.StatusOK, made.Code, made.Text)
	accounts, _ := made.at("accounts").([]any)
	require.Len(t, accounts, 1)
	account, _ := accounts[0].(map[string]any)
	id := newTraceID()
	for _, who := range []string{"removed", "kept"} {
		s.keys[who], _ = reply{Body: account}.at("api_keys", who, "value").(string)
		r := s.as(who, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
		require.Equal(t, http.StatusAccepted, r.Code, r.Text)
		r = s.as(who, "GET", "/traces/"+id, "")
		require.InDelta(t, 1, r.at("count"), 0)
	}
	project, kept := s.projectOf(t, "removed"), s.projectOf(t, "kept")
	require.NotZero(t, s.rowsOf(t, project))
	r := s.as("admin", "DELETE", "/admin/simple/accounts/projects/"+project.String(), "")
	require.Equal(t, http.StatusOK, r.Code, r.Text)
	eventually(t, "the key ends", func() bool { return s.as("removed", "GET", "/projects/current", "").Code == http.StatusUnauthorized })
	eventually(t, "its rows are gone", func() bool { return s.rowsOf(t, project) == 0 })
	require.NotZero(t, s.rowsOf(t, kept))
	r = s.as("kept", "GET", "/traces/"+id, "")
	require.InDelta(t, 1, r.at("count"), 0)
}
