//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A project that has used a quota is refused with the reason; its usage is shown to it alone.
func TestQuotas(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	s := newService(t, "COLONNADE_PROJECTS_QUOTAS_SPANS_PER_DAY=5", "COLONNADE_PROJECTS_QUOTAS_ENTITIES=6")
	send := func(who string) reply {
		return s.as(who, "POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%q,"spans":{
			"a":{"span_id":"1000000000000001","start_time":"2026-11-01T10:00:00Z","attributes":{"ag":{"data":{"inputs":{"a":"b"}}}},
			"spans":{"b":{"span_id":"1000000000000002","start_time":"2026-11-01T10:00:00Z"}}}}}}`, newTraceID()))
	}
	for range 2 {
		require.Equal(t, http.StatusAccepted, send("ours owner").Code)
		require.NoError(t, s.Quotas.Store(t.Context()))
	}
	last := send("ours owner")
	require.Equal(t, http.StatusAccepted, last.Code, "4 of 5")
	refused := send("ours owner")
	require.Equal(t, http.StatusTooManyRequests, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "This project may send 5 spans a day")
	seconds, err := strconv.Atoi(refused.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, seconds)
	require.LessOrEqual(t, seconds, 24*60*60+1)
	require.Equal(t, http.StatusAccepted, send("theirs owner").Code)
	require.NoError(t, s.Quotas.Store(t.Context()))

	s.ok(http.StatusOK, "POST", "/simple/queries/", `{"query":{"slug":"first","data":{"filtering":{}}}}`)
	before := int(s.ok(http.StatusOK, "GET", "/projects/current/usage", "").at("entities").(float64))
	require.Positive(t, before)
	for i := before; i < 6; i++ {
		s.ok(http.StatusOK, "POST", "/queries/", fmt.Sprintf(`{"query":{"slug":"q%d"}}`, i))
	}
	refused = s.do("POST", "/queries/", `{"query":{"slug":"beyond"}}`)
	require.Equal(t, http.StatusForbidden, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "This project may have 6 entities")

	token := last.Header.Get("Colonnade-Token")
	require.Equal(t, http.StatusOK, s.as("ours owner", "POST", "/spans/query", `{}`, "Colonnade-Token", token).Code, "the spans are visible")
	usage := s.ok(http.StatusOK, "GET", "/projects/current/usage", "")
	require.Equal(t, []any{6.0, 6.0, 6.0}, []any{usage.at("spans_today"), usage.at("spans"), usage.at("entities")}, usage.Text)
	require.Equal(t, []any{5.0, 6.0, 4.0}, []any{usage.at("quotas", "spans_per_day"), usage.at("quotas", "entities"), usage.at("limits", "sql_statements")})
	require.Positive(t, usage.at("payload_bytes"))
	theirs := s.as("theirs owner", "GET", "/projects/current/usage", "")
	require.InDelta(t, 2, theirs.at("spans_today"), 0, theirs.Text)
}

// The stored payloads of a project are counted in the background, and refused beyond its
// quota until some are deleted.
func TestQuotaOfPayloads(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	s := newService(t, "COLONNADE_PROJECTS_QUOTAS_PAYLOAD_BYTES=2000")
	send := func() reply {
		return s.do("POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%q,"spans":{"a":{"span_id":"1000000000000001","start_time":"2026-11-01T10:00:00Z","attributes":{"ag":{"data":{"inputs":{"a":%q}}}}}}}}`,
			newTraceID(), fmt.Sprintf("%01500d", 0)))
	}
	first := send()
	require.Equal(t, http.StatusAccepted, first.Code)
	require.Equal(t, http.StatusAccepted, send().Code)
	require.NoError(t, s.Quotas.Store(t.Context()))
	refused := send()
	require.Equal(t, http.StatusForbidden, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "may store 2000 bytes of payloads")

	id, _ := first.at("trace_id").(string)
	s.ok(http.StatusOK, "GET", "/traces/"+id, "")
	deleted := s.do("DELETE", "/traces/"+id, "")
	require.Less(t, deleted.Code, 300, deleted.Text)
	eventually(t, "the deleted trace is not counted", func() bool {
		_, err := s.Stores.Postgres.Exec(t.Context(), `UPDATE project_usage SET measured_at = NULL`)
		require.NoError(t, err)
		require.NoError(t, s.Quotas.Measure(t.Context()))
		require.NoError(t, s.Quotas.Store(t.Context()))
		return send().Code == http.StatusAccepted
	})
}
