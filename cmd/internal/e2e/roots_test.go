//go:build embedded

package e2e_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/read/activity"
	"colonnade/read/analytics"
	"colonnade/read/order"
	"colonnade/write/sink"
)

// A service behind a gateway sends traces whose first span has a parent that nobody
// sends: they are in sessions, users and statistics as all others are.
func TestTracesUnderAForeignParent(t *testing.T) {
	t.Parallel()
	w := newPipeline(t, func(c *sink.Config) { c.FinalizeAfter, c.FinalizeEvery = 300*time.Millisecond, 50*time.Millisecond })
	project := domain.ProjectID(uuid.New())
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	call := map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
	for n := range uint64(4) {
		call := maps.Clone(call)
		parent, session, user := uint64(0xf0e1), "sess-o", "u-o"
		if n == 3 {
			parent, session, user = 0, "sess-r", "u-r"
		}
		if n == 1 { // named by a descendant alone
			call["user.id"], user = "u-o", ""
		}
		w.write(project, simple(n, 2*n+2, 2*n+1, at, 1, call)) // children are exported before their parents
		w.write(project, simple(n, 2*n+1, parent, at, 1, map[string]any{"session.id": session, "user.id": user, "ag.data.inputs": map[string]any{"q": "weather in Lisbon"}}))
	}
	w.finalized(t, project)

	for _, tt := range []struct {
		conditions string
		want       int
	}{
		{`{"field":"root","value":true}`, 4},
		{`{"field":"root","value":false}`, 4},
		{`{"field":"parent_id","value":null}`, 1},
		{`{"field":"session_id","value":"sess-o"}`, 3},
		{`{"field":"user_id","value":"u-o"}`, 3},
		{`{"field":"user_id","value":"u-o"},{"field":"content","operator":"contains","value":"lisbon"}`, 3},
		{`{"field":"root","value":true},{"field":"content","operator":"contains","value":"lisbon"}`, 4},
		{`{"field":"root","operator":"is_not","value":true},{"field":"content","operator":"contains","value":"lisbon"}`, 0},
		{`{"field":"root","value":true},{"field":"attributes","key":"ag.metrics.tokens.cumulative.total","operator":"eq","value":110}`, 4},
	} {
		e, err := filterjson.Parse([]byte(`{"conditions":[` + tt.conditions + `]}`))
		require.NoError(t, err)
		page, err := w.reader.Spans(t.Context(), project, e, domain.Window{Limit: 50})
		require.NoError(t, err)
		require.Len(t, page.Items, tt.want, tt.conditions)
		traces, err := w.reader.Traces(t.Context(), project, e, domain.Window{Limit: 50})
		require.NoError(t, err)
		require.Len(t, traces.Items, min(tt.want, 4), tt.conditions)
		if strings.Contains(tt.conditions, `"root","value":true`) {
			for i := range page.Items {
				require.True(t, page.Items[i].Root)
			}
		}
	}

	reader, err := analytics.New(analytics.DefaultConfig(), w.reader, time.Now)
	require.NoError(t, err)
	for actor, want := range map[order.Actor][]string{order.Session: {"sess-o", "sess-r"}, order.User: {"u-o", "u-r"}} {
		active, err := activity.New(w.reader, reader).List(t.Context(), project, actor, false, domain.Window{Limit: 10})
		require.NoError(t, err)
		require.ElementsMatch(t, want, active.IDs)
	}
	got, err := reader.Query(t.Context(), project, analytics.Question{Roots: true, Oldest: at, Newest: at.Add(time.Minute), Specs: analytics.DefaultSpecs()})
	require.NoError(t, err)
	require.Len(t, got.Buckets, 1)
	require.InDelta(t, 440, *got.Buckets[0].Metrics["attributes.ag.metrics.tokens.cumulative.total"].Sum, 0)
	require.InDelta(t, 0.0014, *got.Buckets[0].Metrics["attributes.ag.metrics.costs.cumulative.total"].Sum, 1e-12)

	// The span that was missing takes the root's place, with its session and user.
	w.write(project, simple(0, 0xf0e1, 0, at.Add(-time.Minute), 90, nil))
	w.finalized(t, project)
	e, err := filterjson.Parse([]byte(`{"conditions":[{"field":"root","value":true},{"field":"session_id","value":"sess-o"}]}`))
	require.NoError(t, err)
	page, err := w.reader.Spans(t.Context(), project, e, domain.Window{Limit: 50})
	require.NoError(t, err)
	require.Len(t, page.Items, 3)
	starts := 0
	for i := range page.Items {
		if page.Items[i].IsRoot() {
			starts++
		}
	}
	require.Equal(t, 1, starts, "the parent of the trace is its root now")
}
