//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A project keeps spans and payloads for the days that it sets, other projects keep theirs.
func TestRetention(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	s := newService(t, "COLONNADE_SINK_EXPIRE_EVERY=200ms", "COLONNADE_SINK_FINALIZE_AFTER=500ms", "COLONNADE_SINK_FINALIZE_EVERY=100ms")
	ages := map[string]int{"today": 0, "of 10 days": 10, "of 40 days": 40}
	ids := map[string]string{}
	for name, age := range ages {
		ids[name] = newTraceID()
		start := time.Now().UTC().AddDate(0, 0, -age).Format(time.RFC3339)
		for _, who := range []string{"ours owner", "theirs owner"} {
			r := s.as(who, "POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%q,"spans":{"kept":{"span_id":"1000000000000001","start_time":%q,"end_time":%[2]q,"session_id":"s",
				"attributes":{"ag":{"type":{"span":"chat"},"meta":{"word":"attribute-stays"},"data":{"inputs":{"text":"payload-goes"},"outputs":"payload-goes"},"metrics":{"tokens":{"incremental":{"total":10}}}}}}}}}`, ids[name], start))
			require.Equal(t, http.StatusAccepted, r.Code, r.Text)
		}
	}
	trace := func(who, name string) reply { return s.as(who, "GET", "/traces/"+ids[name], "") }
	for name := range ages {
		require.Contains(t, trace("ours owner", name).Text, "payload-goes")
	}
	s.ok(http.StatusUnprocessableEntity, "PUT", "/projects/current/retention", `{"days":5,"payload_days":6}`)
	s.ok(http.StatusUnprocessableEntity, "PUT", "/projects/current/retention", `{"days":-1}`)
	require.Equal(t, http.StatusForbidden, s.as("ours viewer", "PUT", "/projects/current/retention", `{"days":1}`).Code)
	r := s.ok(http.StatusOK, "GET", "/projects/current/retention", "")
	require.Equal(t, []any{0.0, 0.0, 0.0, 0.0}, []any{r.at("days"), r.at("payload_days"), r.at("deletes", "spans"), r.at("deletes", "payloads")}, "everything is kept")
	r = s.ok(http.StatusOK, "GET", "/projects/current/retention?days=30&payload_days=5", "")
	require.Equal(t, []any{1.0, 2.0}, []any{r.at("deletes", "spans"), r.at("deletes", "payloads")})

	s.ok(http.StatusOK, "PUT", "/projects/current/retention", `{"days":30,"payload_days":5}`)
	eventually(t, "the old trace is gone", func() bool { return trace("ours owner", "of 40 days").at("count") == 0.0 })
	project := uuid.UUID(s.accounts["ours"].Project.ID).String()
	eventually(t, "nothing is left of it in any table", func() bool {
		var n uint64
		for table, column := range map[string]string{
			"spans": "start_time", "span_payloads_packed": "start_time", "span_cumulative": "start_time", "trace_totals": "start_time",
			"trace_metrics_1m": "minute", "trace_index": "max_start", "span_payload_ngrams": "max_start",
		} {
			var rows uint64
			require.NoError(t, s.Stores.ClickHouse.QueryRow(t.Context(), "SELECT count() FROM "+table+" WHERE project_id = ? AND "+column+" < now() - INTERVAL 31 DAY", project).Scan(&rows))
			n += rows
		}
		return n == 0
	})
	eventually(t, "the payloads of the second are empty", func() bool {
		var n uint64
		require.NoError(t, s.Stores.ClickHouse.QueryRow(t.Context(), "SELECT count() FROM span_payloads WHERE project_id = ? AND inputs != ''", project).Scan(&n))
		return n == 1
	})
	r = trace("ours owner", "of 10 days")
	require.Equal(t, http.StatusOK, r.Code, r.Text)
	require.NotContains(t, r.Text, "payload-goes")
	require.Contains(t, r.Text, "attribute-stays")
	require.Contains(t, r.Text, `"total":10`)
	r = s.ok(http.StatusOK, "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"attributes","key":"ag.meta.word","value":"attribute-stays"}]}}`)
	require.InDelta(t, 2, r.at("count"), 0, r.Text)
	r = s.ok(http.StatusOK, "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"content","operator":"contains","value":"payload-goes"}]}}`)
	require.InDelta(t, 1, r.at("count"), 0, r.Text)
	require.Contains(t, trace("ours owner", "today").Text, "payload-goes")
	for name := range ages {
		require.Contains(t, trace("theirs owner", name).Text, "payload-goes", "another project keeps its own")
	}
	r = s.as("theirs owner", "GET", "/projects/current/retention", "")
	require.InDelta(t, 0, r.at("days"), 0, "of another project")
	r = s.ok(http.StatusOK, "GET", "/projects/current/retention", "")
	require.Equal(t, []any{0.0, 0.0}, []any{r.at("deletes", "spans"), r.at("deletes", "payloads")}, "it is done")
}
