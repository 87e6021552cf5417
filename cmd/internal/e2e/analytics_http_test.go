//go:build embedded

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/activity"
	"colonnade/read/analytics"
	activityread "colonnade/read/api/activity"
	browseread "colonnade/read/api/browse"
	"colonnade/read/api/spans"
	"colonnade/read/browse"
	"colonnade/write/cost"
	"colonnade/write/stream"
)

// served puts the routes of spans and analytics on the store of a pipeline.
func (w *pipeline) served(t *testing.T, project domain.ProjectID, cfg analytics.Config) http.Handler {
	t.Helper()
	engine, err := server.New(server.DefaultConfig(), server.Deps{
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Now: time.Now, Allows: domain.Allows,
		Authenticate: func(context.Context, string) (domain.Principal, error) {
			return domain.Principal{Project: project, Role: "viewer"}, nil
		},
	})
	require.NoError(t, err)
	routes, err := spans.New(spans.DefaultConfig(), w.reader, nil, time.Now)
	require.NoError(t, err)
	analyst, err := analytics.New(cfg, w.reader, time.Now)
	require.NoError(t, err)
	routes.Mount(engine)
	spans.NewAnalytics(routes, analyst).Mount(engine)
	activityread.Mount(engine, activityread.Deps{Actors: activity.New(w.reader, analyst), Window: routes.Window, Caller: routes.Caller})
	prices, err := cost.LoadPrices(cost.DefaultConfig())
	require.NoError(t, err)
	browseread.Mount(engine, browseread.Deps{Reader: browse.New(w.reader, time.Now), Prices: prices, Caller: routes.Caller})
	return engine.Handler()
}

func post(t *testing.T, h http.Handler, target, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Authorization", "ApiKey x")
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	text, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	return out.Code, string(text)
}

func jsonReply(t *testing.T, h http.Handler, target, body string) (out map[string]any) {
	t.Helper()
	code, text := post(t, h, target, body)
	require.Equal(t, http.StatusOK, code, text)
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

// simple is a span of few words.
func simple(n, id, parent uint64, start time.Time, seconds float64, attributes map[string]any, events ...string) *tracepb.TracesData {
	s := &tracepb.Span{
		TraceId: traceIDOf(n), SpanId: idOf(id), Name: "s", StartTimeUnixNano: uint64(start.UnixNano()),
		EndTimeUnixNano: uint64(start.Add(time.Duration(seconds * float64(time.Second))).UnixNano()), Attributes: keyValues(attributes),
	}
	if parent > 0 {
		s.ParentSpanId = idOf(parent)
	}
	for _, e := range events {
		s.Events = append(s.Events, &tracepb.Span_Event{Name: e, TimeUnixNano: s.StartTimeUnixNano})
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{s}}}}}}
}

// The shapes of contract §3.6 and §3.7 on the wire, and what is refused.
func TestAnalyticsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	day := time.Now().UTC().Truncate(24 * time.Hour)
	at := func(minutes float64) time.Time {
		return day.Add(-24 * time.Hour).Add(time.Duration(minutes * float64(time.Minute)))
	}
	type attributes = map[string]any
	const total, session, user = "ag.metrics.tokens.incremental.total", "ag.session.id", "ag.user.id"
	w.write(
		project,
		simple(1, 1, 0, at(0), 1, attributes{session: "s1", user: "u1", "ag.type.span": "workflow"}),
		simple(1, 2, 1, at(0), 1, attributes{total: 10, "ag.flags.ok": true}, "exception", "other"),
		simple(2, 3, 0, at(1.5), 3, attributes{total: 30, session: "s2", user: "u1", "ag.meta.tags": []any{"a", "b"}}),
		simple(3, 4, 0, at(10), 2, attributes{session: "s1", "ag.flags.ok": false}),
	)
	window := `"oldest":"` + at(0).Format(time.RFC3339) + `","newest":"` + at(20).Format(time.RFC3339) + `"`

	t.Run("nothing asked", func(t *testing.T) {
		got := jsonReply(t, h, "/spans/analytics/query", "")
		require.EqualValues(t, 1, got["count"])
		bucket := got["buckets"].([]any)[0].(map[string]any)
		require.Equal(t, day.AddDate(0, 0, 1).AddDate(0, 0, -30).Format(time.RFC3339), bucket["timestamp"])
		require.EqualValues(t, 30*24*60, bucket["interval"])
		metrics := bucket["metrics"].(map[string]any)
		require.Len(t, got["specs"], 6)
		tokens := metrics["attributes.ag.metrics.tokens.cumulative.total"].(map[string]any)
		delete(tokens, "pcts")
		delete(tokens, "iqrs")
		delete(tokens, "pscs")
		want := map[string]any{
			"type": "numeric/continuous", "count": 2.0, "sum": 40.0, "mean": 20.0, "min": 10.0, "max": 30.0, "range": 20.0,
			"hist": []any{
				map[string]any{"bin": 1.0, "count": 1.0, "interval": []any{10.0, 20.0}, "density": .5},
				map[string]any{"bin": 2.0, "count": 1.0, "interval": []any{20.0, 30.0}, "density": .5},
			},
		}
		require.Empty(t, cmp.Diff(want, tokens))
		want = map[string]any{
			"type": "categorical/single", "count": 3.0, "uniq": []any{"invocation"},
			"freq": []any{map[string]any{"value": "invocation", "count": 3.0, "density": 1.0}},
		}
		require.Empty(t, cmp.Diff(want, metrics["attributes.ag.type.trace"]))
		require.Equal(t, []any{"workflow"}, metrics["attributes.ag.type.span"].(map[string]any)["uniq"])
		require.EqualValues(t, 1, metrics["attributes.ag.metrics.errors.cumulative"].(map[string]any)["sum"])
		require.EqualValues(t, 6000, metrics["attributes.ag.metrics.duration.cumulative"].(map[string]any)["sum"])
		query := got["query"].(map[string]any)
		require.Equal(t, map[string]any{"focus": "trace"}, query["formatting"])
		require.Equal(t, "start_time", query["bucket_by"])
	})
	t.Run("buckets with data only, chronological", func(t *testing.T) {
		got := jsonReply(t, h, "/preview/spans/analytics/query", `{`+window+`,"interval":1,"specs":[{"type":"string","path":"attributes.ag.session.id"}]}`)
		var starts []any
		for _, b := range got["buckets"].([]any) {
			starts = append(starts, b.(map[string]any)["timestamp"])
		}
		require.Equal(t, []any{at(0).Format(time.RFC3339), at(1).Format(time.RFC3339), at(10).Format(time.RFC3339)}, starts)
	})
	t.Run("focus span, flat keys in the query string", func(t *testing.T) {
		got := jsonReply(t, h, `/tracing/analytics/query?focus=span&interval=1440&specs=[{"type":"binary","path":"attributes.ag.flags.ok"},{"type":"categorical/multiple","path":"attributes.ag.meta.tags"}]`, "")
		metrics := got["buckets"].([]any)[0].(map[string]any)["metrics"]
		want := map[string]any{
			"attributes.ag.flags.ok": map[string]any{"type": "binary", "count": 2.0, "uniq": []any{true, false}, "freq": []any{
				map[string]any{"value": true, "count": 1.0, "density": .5}, map[string]any{"value": false, "count": 1.0, "density": .5},
			}},
			"attributes.ag.meta.tags": map[string]any{"type": "categorical/multiple", "count": 2.0, "uniq": []any{"a", "b"}, "freq": []any{
				map[string]any{"value": "a", "count": 1.0, "density": .5}, map[string]any{"value": "b", "count": 1.0, "density": .5},
			}},
		}
		require.Empty(t, cmp.Diff(want, metrics))
	})
	t.Run("by the time of receipt", func(t *testing.T) {
		require.Zero(t, jsonReply(t, h, "/spans/analytics/query", `{`+window+`,"bucket_by":"created_at"}`)["count"].(float64))
		require.EqualValues(t, 1, jsonReply(t, h, "/spans/analytics/query", `{"bucket_by":"created_at"}`)["count"])
	})
	t.Run("the interval grows until the buckets are 1024 at most", func(t *testing.T) {
		got := jsonReply(t, h, "/spans/analytics/query", `{"interval":1}`)
		require.EqualValues(t, 60, got["query"].(map[string]any)["windowing"].(map[string]any)["interval"])
	})
	t.Run("every bucket of the legacy form", func(t *testing.T) {
		got := jsonReply(t, h, "/tracing/spans/analytics", `{`+window+`,"interval":5}`)
		none := map[string]any{"count": 0.0, "duration": 0.0, "costs": 0.0, "tokens": 0.0}
		want := []any{
			map[string]any{"timestamp": at(0).Format(time.RFC3339), "interval": 5.0, "total": map[string]any{"count": 2.0, "duration": 4000.0, "costs": 0.0, "tokens": 40.0}, "errors": none},
			map[string]any{"timestamp": at(5).Format(time.RFC3339), "interval": 5.0, "total": none, "errors": none},
			map[string]any{"timestamp": at(10).Format(time.RFC3339), "interval": 5.0, "total": map[string]any{"count": 1.0, "duration": 2000.0, "costs": 0.0, "tokens": 0.0}, "errors": none},
			map[string]any{"timestamp": at(15).Format(time.RFC3339), "interval": 5.0, "total": none, "errors": none},
		}
		require.Empty(t, cmp.Diff(want, got["buckets"]))
		got = jsonReply(t, h, "/preview/tracing/spans/analytics", `{`+window+`,"focus":"span"}`)
		bucket := got["buckets"].([]any)[0].(map[string]any)
		require.Equal(t, map[string]any{"count": 4.0, "duration": 7000.0, "costs": 0.0, "tokens": 40.0}, bucket["total"])
		require.Equal(t, map[string]any{"count": 1.0, "duration": 1000.0, "costs": 0.0, "tokens": 10.0}, bucket["errors"])
	})
	t.Run("all of time", func(t *testing.T) {
		const ever = `"oldest":"0001-01-01T00:00:00Z","newest":"9999-12-31T23:59:59.999999Z"`
		for _, interval := range []string{"", `,"interval":60`} {
			got := jsonReply(t, h, "/spans/analytics/query", `{`+ever+interval+`,"specs":[{"type":"numeric/continuous","path":"attributes.ag.metrics.duration.cumulative"}]}`)
			require.EqualValues(t, 1, got["count"])
			metric := got["buckets"].([]any)[0].(map[string]any)["metrics"].(map[string]any)["attributes.ag.metrics.duration.cumulative"]
			require.EqualValues(t, 3, metric.(map[string]any)["count"])
			count := 0.0
			for _, b := range jsonReply(t, h, "/tracing/spans/analytics", `{`+ever+interval+`}`)["buckets"].([]any) {
				count += b.(map[string]any)["total"].(map[string]any)["count"].(float64)
			}
			require.Equal(t, 3, int(count))
		}
		got := jsonReply(t, h, "/spans/sessions/query", `{"windowing":{`+ever+`}}`)
		require.Equal(t, []any{"s2", "s1"}, got["session_ids"])
	})
	t.Run("groups", func(t *testing.T) {
		got := jsonReply(t, h, "/spans/analytics/query", `{`+window+`,"focus":"span","group_by":["session_id"],"top":1,"stats":["count"],"specs":[{"type":"numeric/continuous","path":"attributes.ag.metrics.duration.cumulative"}],
			"order_by":{"path":"attributes.ag.metrics.duration.cumulative","stat":"count"}}`)
		bucket, _ := got["buckets"].([]any)[0].(map[string]any)
		counts := 0.0
		for i, of := range bucket["groups"].([]any) {
			group := of.(map[string]any)
			require.Equal(t, i == 0, group["key"] != nil, "the others have no key")
			counts += group["metrics"].(map[string]any)["attributes.ag.metrics.duration.cumulative"].(map[string]any)["count"].(float64)
		}
		require.Len(t, bucket["groups"], 2)
		require.InDelta(t, bucket["metrics"].(map[string]any)["attributes.ag.metrics.duration.cumulative"].(map[string]any)["count"], counts, 0)
	})
	t.Run("sessions and users", func(t *testing.T) {
		got := jsonReply(t, h, "/spans/sessions/query", `{}`)
		require.Equal(t, map[string]any{"count": 2.0, "session_ids": []any{"s2", "s1"}}, got)
		got = jsonReply(t, h, "/tracing/sessions/query", `{"realtime":true,"windowing":{"limit":1}}`)
		next := got["windowing"].(map[string]any)
		require.Equal(t, []any{"s1"}, got["session_ids"])
		cursor := next["next"]
		require.Equal(t, map[string]any{"newest": at(10).Format(time.RFC3339), "limit": 1.0, "order": "descending", "next": cursor}, next)
		text, err := json.Marshal(map[string]any{"realtime": true, "windowing": next})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"count": 1.0, "session_ids": []any{"s2"}}, jsonReply(t, h, "/spans/sessions/query", string(text)))
		for target, body := range map[string]string{
			"/spans/sessions/query": `{"windowing":{"next":"%s"}}`, "/spans/users/query": `{"realtime":true,"windowing":{"next":"%s"}}`,
			"/tracing/sessions/query": `{"realtime":true,"windowing":{"order":"ascending","next":"%s"}}`,
		} {
			code, text := post(t, h, target, fmt.Sprintf(body, cursor))
			require.Equal(t, http.StatusBadRequest, code, text)
			require.Contains(t, text, "windowing.next is a cursor of a", "a cursor is of one list")
		}
		got = jsonReply(t, h, "/spans/users/query", `{"windowing":{"order":"ascending"}}`)
		require.Equal(t, map[string]any{"count": 1.0, "user_ids": []any{"u1"}}, got)
		require.Equal(t, map[string]any{"count": 0.0, "user_ids": []any{}}, jsonReply(t, h, "/tracing/users/query", `{"windowing":{"newest":"2001-01-01T00:00:00Z"}}`))
	})
	t.Run("refused", func(t *testing.T) {
		tests := []struct {
			target, body string
			code         int
			say          string
		}{
			{"/spans/analytics/query", `{"spec":[]}`, 422, "extra_forbidden"},
			{"/spans/analytics/query", `{"specs":[{"type":"number","path":"attributes.a"}]}`, 422, "numeric/continuous"},
			{"/spans/analytics/query", `{"specs":[{"type":"string","path":"ag.session.id"}]}`, 422, "attributes."},
			{"/spans/analytics/query", `{"specs":[{"type":"string","path":"attributes.a"},{"type":"json","path":"attributes.a"}]}`, 422, "already"},
			{"/spans/analytics/query", `{"specs":[{"type":"numeric/discrete","path":"attributes.a","bins":0}]}`, 422, "bins"},
			{"/spans/analytics/query", `{"specs":[{"type":"numeric/discrete","path":"attributes.a","vmin":2,"vmax":1}]}`, 422, "vmin"},
			{"/spans/analytics/query", `{"bucket_by":"end_time"}`, 422, "created_at"},
			{"/spans/analytics/query", `{"oldest":"2026-01-02T00:00:00Z","newest":"2026-01-01T00:00:00Z"}`, 400, "before"},
			{"/spans/analytics/query", `{"filtering":{"conditions":[{"field":"nonsense","value":1}]}}`, 400, "nonsense"},
			{"/spans/analytics/query", `{"windowing":{"rate":2}}`, 422, "between 0 and 1"},
			{"/spans/analytics/query", `{"group_by":["start_time"]}`, 422, "group_by"},
			{"/spans/analytics/query", `{"group_by":["model","model"]}`, 422, "group_by"},
			{"/spans/analytics/query", `{"group_by":["model","service","user_id"]}`, 422, "at most 2"},
			{"/spans/analytics/query", `{"group_by":["model"],"top":51}`, 422, "top"},
			{"/spans/analytics/query", `{"top":5}`, 422, "group_by"},
			{"/spans/analytics/query", `{"group_by":["model"],"order_by":{"path":"attributes.none","stat":"sum"}}`, 422, "specs"},
			{"/spans/analytics/query", `{"group_by":["model"],"order_by":{"path":"attributes.ag.metrics.duration.cumulative","stat":"hist"}}`, 422, "count_positive"},
			{"/tracing/spans/analytics", `{"specs":[]}`, 422, "extra_forbidden"},
			{"/spans/sessions/query", ``, 422, "missing"},
			{"/spans/users/query", `{"windowing":{"next":"01890a5d-ac96-774b-bcce-b302099a8057"}}`, 400, "not a cursor of this list"},
			{"/spans/users/query", `{"windowing":{"rate":0.5}}`, 400, "oldest, newest"},
		}
		for _, tt := range tests {
			code, text := post(t, h, tt.target, tt.body)
			require.Equal(t, tt.code, code, "%s %s: %s", tt.target, tt.body, text)
			require.Contains(t, text, tt.say, tt.body)
		}
		small := analytics.Config{ChunkRows: 1, MaxValues: 1, MaxDistinct: 1, MaxCandidates: 1, MaxExamined: 1, MaxTraceSpans: 1}
		bounded := w.served(t, project, small)
		for _, body := range []string{
			`{"specs":[{"type":"numeric/continuous","path":"attributes.ag.metrics.duration.cumulative"}]}`,
			`{"specs":[{"type":"categorical/single","path":"attributes.ag.session.id"}]}`,
			`{"focus":"span"}`,
			`{"focus":"span","filtering":{"conditions":[{"field":"content","operator":"contains","value":"exception"}]}}`,
			`{"focus":"span","filtering":{"conditions":[{"field":"attributes","key":"ag.metrics.tokens.cumulative.total","operator":"gt","value":1}]}}`,
		} {
			code, text := post(t, bounded, "/spans/analytics/query", body)
			require.Equal(t, http.StatusBadRequest, code, "%s: %s", body, text)
			require.Regexp(t, "(?i)narrow", text)
		}
	})
}

// Numbers that no sum holds break no answer: what they come to is left out, in
// traces that are finalized and in those that are not.
func TestAnalyticsOfAbsurdNumbers(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	at := func(minutes int) time.Time {
		return time.Now().UTC().Truncate(24 * time.Hour).Add(-24*time.Hour + time.Duration(minutes)*time.Minute)
	}
	costs := func(v float64) map[string]any {
		return map[string]any{"ag.type.span": "chat", "ag.metrics.costs.incremental.total": v, "ag.meta.score": v}
	}
	w.write(
		project,
		simple(1, 1, 0, at(0), 1, costs(1.7e308)), // sums to more than there is
		simple(1, 2, 1, at(0), 1, costs(1.7e308)),
		simple(2, 3, 0, at(0), 1, costs(3)),
		simple(3, 4, 0, at(1), 1, costs(1.7e308)), // two of a bucket do
		simple(4, 5, 0, at(1), 1, costs(1.7e308)),
		simple(5, 6, 0, at(2), 1, costs(5)),
	)
	check := func(t *testing.T) {
		t.Helper()
		window := `"oldest":"` + at(0).Format(time.RFC3339) + `","newest":"` + at(3).Format(time.RFC3339) + `","interval":1`
		buckets := jsonReply(t, h, "/tracing/spans/analytics", `{`+window+`}`)["buckets"].([]any)
		require.Len(t, buckets, 3)
		total := func(n int) map[string]any { return buckets[n].(map[string]any)["total"].(map[string]any) }
		require.Equal(t, map[string]any{"count": 2.0, "duration": 2000.0, "tokens": 0.0}, total(0))
		require.Equal(t, map[string]any{"count": 2.0, "duration": 2000.0, "tokens": 0.0}, total(1))
		require.Equal(t, map[string]any{"count": 1.0, "duration": 1000.0, "tokens": 0.0, "costs": 5.0}, total(2))

		const path = "attributes.ag.metrics.costs.cumulative.total"
		buckets = jsonReply(t, h, "/spans/analytics/query", `{`+window+`,"specs":[{"type":"numeric/discrete","path":"`+path+`"},{"type":"*","path":"attributes.ag.meta.score"}]}`)["buckets"].([]any)
		require.Len(t, buckets, 3)
		of := func(n int) map[string]any {
			return buckets[n].(map[string]any)["metrics"].(map[string]any)[path].(map[string]any)
		}
		require.EqualValues(t, 1, of(0)["count"])
		require.EqualValues(t, 3, of(0)["max"])
		require.EqualValues(t, 3, of(0)["pcts"].(map[string]any)["p99"])
		require.EqualValues(t, 2, of(1)["count"])
		require.NotContains(t, of(1), "sum")
		require.InEpsilon(t, 1.7e308, of(1)["mean"], 1e-9)
		require.EqualValues(t, 5, of(2)["sum"])
		jsonReply(t, h, "/spans/analytics/query", "")
	}
	check(t)
	w.finalized(t, project)
	check(t)
}

// A few spans, and a question about them, do not make an answer without end: what
// would is refused, and says what to ask for instead.
func TestAnalyticsAnswersAreBounded(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	cfg := analytics.DefaultConfig()
	cfg.MaxDistinct = 50
	h := w.served(t, project, cfg)
	at := time.Now().UTC().Truncate(time.Minute).Add(-3 * time.Hour)
	var all []*tracepb.TracesData
	for n := range uint64(120) { // two of each minute
		all = append(all, simple(n, n+1, 0, at.Add(time.Duration(n/2)*time.Minute), 1, map[string]any{"ag.meta.score": float64(n) / 7, "ag.meta.rank": float64(n)}))
	}
	w.write(project, all...)
	const of = `"path":"attributes.ag.meta.score"`
	window := func(interval int) string {
		return fmt.Sprintf(`"oldest":%q,"newest":%q,"interval":%d`, at.Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339), interval)
	}
	for _, tt := range []struct{ name, body, words string }{
		{"bins of many buckets", `{` + window(1) + `,"specs":[{"type":"numeric/continuous",` + of + `,"bins":10000},{"type":"numeric/continuous","path":"attributes.ag.meta.rank","bins":10000}]}`, "bins"},
		{"as many different numbers as spans", `{` + window(60) + `,"specs":[{"type":"numeric/discrete",` + of + `}]}`, "different values"},
		{"more specs than a statement holds", `{"specs":[` + strings.Repeat(`{"type":"none"},`, 4000) + `{"type":"none"}]}`, "specs"},
	} {
		code, text := post(t, h, "/spans/analytics/query", tt.body)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, code, "%s: %s", tt.name, text)
		require.Contains(t, text, tt.words, tt.name)
	}
	require.EqualValues(t, 60, jsonReply(t, h, "/spans/analytics/query", `{`+window(1)+`,"specs":[{"type":"numeric/continuous",`+of+`,"bins":1000}]}`)["count"])
	require.EqualValues(t, 60, jsonReply(t, h, "/spans/analytics/query", `{`+window(1)+`,"specs":[{"type":"numeric/discrete",`+of+`}]}`)["count"])

	// As many specs as are taken: the store plans them in time.
	specs := make([]string, analytics.MaxSpecs)
	for i := range specs {
		specs[i] = fmt.Sprintf(`{"type":"numeric/continuous","path":"attributes.ag.meta.some.rather.long.path.number.%d"}`, i)
	}
	require.EqualValues(t, 0, jsonReply(t, h, "/spans/analytics/query", `{`+window(60)+`,"specs":[`+strings.Join(specs, ",")+`]}`)["count"])
}

// What was sent twice, replaced, moved in time or deleted counts as it stands
// now, from the moment that the caller's write is visible.
func TestAnalyticsAfterEdits(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	at := time.Now().UTC().Add(-time.Hour)
	send := func(operation stream.Operation, data *tracepb.TracesData) {
		value, err := proto.Marshal(data)
		require.NoError(t, err)
		token, err := w.producer.Publish(t.Context(), []stream.Record{{
			Project: project, User: uuid.UUID{1}, Trace: trace.TraceID(data.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceId), Source: "otlp",
			Operation: operation, ReceivedAt: time.Now().UTC().Truncate(time.Microsecond), Value: value,
		}})
		require.NoError(t, err)
		pending, err := w.reader.Wait(t.Context(), token)
		require.NoError(t, err)
		require.Empty(t, pending)
	}
	totals := func() any {
		return jsonReply(t, h, "/tracing/spans/analytics", `{}`)["buckets"].([]any)[0].(map[string]any)["total"]
	}
	of := func(count, seconds, tokens float64) any {
		return map[string]any{"count": count, "duration": seconds * 1000, "costs": 0.0, "tokens": tokens}
	}
	const total = "ag.metrics.tokens.incremental.total"
	first := simple(1, 1, 0, at, 1, map[string]any{total: 5})
	send(stream.Upsert, first)
	send(stream.Upsert, first)
	send(stream.Upsert, simple(2, 1, 0, at, 1, map[string]any{total: 7}))
	require.Equal(t, of(2, 2, 12), totals())
	send(stream.Upsert, simple(1, 1, 0, at.Add(time.Minute), 3, map[string]any{total: 50}))
	require.Equal(t, of(2, 4, 57), totals())
	send(stream.Edit, simple(2, 9, 0, at.Add(-time.Minute), 2, map[string]any{total: 1}))
	require.Equal(t, of(2, 5, 51), totals())
	send(stream.Delete, simple(1, 1, 0, at, 1, nil))
	require.Equal(t, of(1, 2, 1), totals())
}

// sessionPages walks a list of sessions, with what a caller makes of a reply's windowing.
func sessionPages(t *testing.T, h http.Handler, realtime bool, windowing map[string]any, asks func(windowing map[string]any)) (pages [][]any) {
	t.Helper()
	for windowing != nil {
		text, err := json.Marshal(map[string]any{"realtime": realtime, "windowing": windowing})
		require.NoError(t, err)
		page := jsonReply(t, h, "/spans/sessions/query", string(text))
		pages = append(pages, page["session_ids"].([]any))
		require.Less(t, len(pages), 5000, "it ends")
		if windowing, _ = page["windowing"].(map[string]any); windowing != nil {
			require.NotEmpty(t, windowing["next"])
			asks(windowing)
		}
	}
	return pages
}

// times counts how often each id comes.
func times(pages [][]any) map[any]int {
	out := map[any]int{}
	for _, id := range slices.Concat(pages...) {
		out[id]++
	}
	return out
}

// Walking gives each id once, in both orders, by first and by last activity,
// in pages as long as the limit; a caller who leaves next out misses none.
func TestActivityPages(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	start := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	var all []*tracepb.TracesData
	for n := range uint64(40) {
		id := string(rune('a'+n%13)) + "é"
		all = append(all, simple(n, n+1, 0, start.Add(time.Duration(n%5)*time.Second), 1, map[string]any{"ag.session.id": id}))
	}
	w.write(project, all...)
	h := w.served(t, project, analytics.DefaultConfig())
	for _, realtime := range []bool{false, true} {
		for _, order := range []string{"ascending", "descending"} {
			for _, limit := range []int{1, 2, 3, 5, 13, 100} {
				text := fmt.Sprintf("%v %s %d", realtime, order, limit)
				first := map[string]any{"limit": limit, "order": order}
				pages := sessionPages(t, h, realtime, first, func(map[string]any) {})
				require.Len(t, slices.Concat(pages...), 13, text)
				require.Len(t, times(pages), 13, text)
				for _, page := range pages[:len(pages)-1] {
					require.Len(t, page, limit, text)
				}
				pages = sessionPages(t, h, realtime, first, func(w map[string]any) { delete(w, "next") })
				require.Len(t, times(pages), 13, text)
				for _, page := range pages[:len(pages)-1] {
					require.GreaterOrEqual(t, len(page), limit, text)
				}
				pages = sessionPages(t, h, realtime, first, func(w map[string]any) { delete(w, "newest"); delete(w, "oldest") })
				require.Len(t, slices.Concat(pages...), 13, text)
				require.Len(t, times(pages), 13, text)
			}
		}
	}
}

// Fifteen hundred sessions that begin at one microsecond come in pages like
// all others. A time does not part them: a caller without next gets them together.
func TestActivityOfOneMoment(t *testing.T) {
	t.Parallel()
	const sessions = 1500
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	all := []*tracepb.TracesData{
		simple(1, 1, 0, at.Add(-time.Second), 1, map[string]any{"ag.session.id": "before"}),
		simple(2, 2, 0, at.Add(time.Second), 1, map[string]any{"ag.session.id": "after"}),
	}
	for n := range uint64(sessions) {
		all = append(all, simple(10+n, 10+n, 0, at, 1, map[string]any{"ag.session.id": fmt.Sprint("s", n)}))
	}
	w.write(project, all...)
	h := w.served(t, project, analytics.DefaultConfig())
	one := jsonReply(t, h, "/spans/sessions/query", `{"windowing":{"limit":2}}`)
	require.EqualValues(t, 2, one["count"])
	require.NotEmpty(t, one["windowing"])
	for _, order := range []string{"ascending", "descending"} {
		first := map[string]any{"limit": 400, "order": order}
		pages := sessionPages(t, h, false, first, func(map[string]any) {})
		require.Len(t, pages, 4, order)
		for i, want := range []int{400, 400, 400, sessions + 2 - 1200} {
			require.Len(t, pages[i], want, order)
		}
		require.Len(t, times(pages), sessions+2, order)

		pages = sessionPages(t, h, false, first, func(w map[string]any) { delete(w, "next") })
		require.Len(t, times(pages), sessions+2, "%s: nothing is lost", order)
		require.Len(t, pages, 3, "%s: some of it, all of it, and the rest", order)
		require.Len(t, pages[1], sessions, order)
	}
}
