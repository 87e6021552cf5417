//go:build embedded

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/analytics"
	"colonnade/read/browse"
)

// fetch requests a path, with an ETag if one is given.
func fetch(t *testing.T, h http.Handler, target, tag string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.Header.Set("Authorization", "ApiKey x")
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out
}

// numberAt returns a number of the attributes of a span, nil without one.
func numberAt(s *trace.Span, path ...string) *float64 {
	var v any = s.Attributes
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	text, err := json.Marshal(v)
	if err != nil || string(text) == "null" {
		return nil
	}
	var n float64
	if json.Unmarshal(text, &n) != nil {
		return nil
	}
	return &n
}

// The outline of a trace says what the trace itself says, in one page and in many.
func TestOutlineOracle(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	r := rand.New(rand.NewPCG(1, 2))
	start := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	var all []*tracepb.TracesData
	for n := range uint64(6) {
		for i := range uint64(1 + r.IntN(40)) {
			id, parent := 100*n+i+1, uint64(0)
			switch {
			case i > 0 && r.IntN(10) == 0:
				parent = 999_999 // an orphan
			case i > 0:
				parent = 100*n + 1 + r.Uint64N(i)
			}
			attributes := map[string]any{"ag.type.span": "chat", "ag.meta.response.model": fmt.Sprintf("model-%d", r.IntN(3))}
			if r.IntN(2) == 0 {
				attributes["ag.metrics.costs.incremental.total"] = float64(1+r.IntN(64)) / 64
				attributes["ag.metrics.tokens.incremental.prompt"] = 1 + r.IntN(100)
			}
			var events []string
			if r.IntN(5) == 0 {
				events = []string{"exception"}
			}
			all = append(all, simple(n, id, parent, start.Add(time.Duration(r.IntN(1000))*time.Millisecond+time.Duration(r.IntN(1000))), r.Float64(), attributes, events...))
		}
	}
	w.write(project, all...)
	for n := range uint64(6) {
		id := trace.TraceID(traceIDOf(n))
		stored, err := w.reader.TracesByID(t.Context(), project, []trace.TraceID{id})
		require.NoError(t, err)
		want := stored[0]
		for i := range want {
			jsonvalue.Expand(want[i].Attributes)
		}
		whole := fetch(t, h, "/traces/"+id.String()+"/outline", "")
		require.Equal(t, http.StatusOK, whole.Code, whole.Body.String())
		require.Equal(t, http.StatusNotModified, fetch(t, h, "/traces/"+id.String()+"/outline", whole.Header().Get("ETag")).Code)
		var got browse.Outline
		require.NoError(t, json.Unmarshal(whole.Body.Bytes(), &got))
		require.True(t, got.Complete)
		compareOutline(t, want, &got, 0)
		require.Len(t, got.Columns.SpanID, len(want))

		for from := 0; ; {
			page := fetch(t, h, fmt.Sprintf("/traces/%s/outline?limit=7&next=%d", id, from), "")
			var part browse.Outline
			require.NoError(t, json.Unmarshal(page.Body.Bytes(), &part))
			require.Equal(t, got.Totals, part.Totals)
			compareOutline(t, want, &part, from)
			if part.Next == nil {
				require.True(t, part.Complete)
				require.Equal(t, len(want), from+len(part.Columns.SpanID))
				break
			}
			require.Len(t, part.Columns.SpanID, 7)
			from = *part.Next
		}
	}
	require.Equal(t, http.StatusNotFound, fetch(t, h, "/traces/"+trace.TraceID{9}.String()+"/outline", "").Code)
}

// compareOutline compares the columns of a page that begins at a position with the spans of the trace.
func compareOutline(t *testing.T, want []trace.Span, got *browse.Outline, from int) {
	t.Helper()
	c := got.Columns
	index := func(d []string, i int) string {
		if i < 0 {
			return ""
		}
		return d[i]
	}
	for i, id := range c.SpanID {
		s := &want[from+i]
		require.Equal(t, s.SpanID.String(), id)
		parent := slices.IndexFunc(want, func(p trace.Span) bool { return p.SpanID == s.ParentID })
		require.Equal(t, parent, c.Parent[i])
		require.Equal(t, !s.ParentID.IsZero() && parent < 0, c.Orphan[i] == 1)
		require.Equal(t, s.Start-want[0].Start, c.StartNS[i])
		require.Equal(t, s.End-s.Start, c.DurationNS[i])
		require.Equal(t, s.Name, index(got.Dictionaries.Name, c.Name[i]))
		require.Equal(t, s.EffectiveType().String(), index(got.Dictionaries.Type, c.Type[i]))
		require.Equal(t, numberAt(s, "ag", "metrics", "costs", "cumulative", "total"), c.TotalCost[i])
		require.Equal(t, numberAt(s, "ag", "metrics", "costs", "incremental", "total"), c.Cost[i])
		require.Equal(t, numberAt(s, "ag", "metrics", "tokens", "incremental", "prompt"), c.TokensPrompt[i])
		require.Equal(t, len(s.Events), c.Events[i])
	}
}

// Paths and values are those of the spans, of this project alone.
func TestFieldsAndValues(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project, other := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	start := time.Now().UTC().Add(-time.Hour)
	var all []*tracepb.TracesData
	for n := range uint64(9) {
		all = append(all, simple(n, n+1, 0, start, 1, map[string]any{"ag.data.inputs.country": []string{"France", "Fiji", "Ghana"}[min(n/2, 2)], "ag.data.inputs.size": int(n % 2), "ag.session.id": "s"}))
	}
	w.write(project, all...)
	w.write(other, simple(77, 1, 0, start, 1, map[string]any{"ag.data.inputs.secret": "theirs"}))

	var fields struct{ Fields []browse.Field }
	require.NoError(t, json.Unmarshal(fetch(t, h, "/spans/fields?prefix=ag.data.inputs.", "").Body.Bytes(), &fields))
	require.Len(t, fields.Fields, 2)
	require.Equal(t, "ag.data.inputs.country", fields.Fields[0].Path)
	require.Equal(t, "string", fields.Fields[0].Type)
	require.NotEmpty(t, fields.Fields[0].Sample)
	require.Equal(t, "number", fields.Fields[1].Type)
	require.Equal(t, http.StatusUnprocessableEntity, fetch(t, h, "/spans/fields?limit=0", "").Code)

	values := func(body string) []any {
		found, _ := jsonReply(t, h, "/spans/values", body)["values"].([]any)
		return found
	}
	value := func(text string, n float64) any { return map[string]any{"value": text, "count": n} }
	require.Equal(t, []any{value("Ghana", 5), value("Fiji", 2), value("France", 2)}, values(`{"field":"attributes","key":"ag.data.inputs.country"}`))
	require.Equal(t, []any{value("Fiji", 2)}, values(`{"field":"attributes","key":"ag.data.inputs.country","prefix":"Fi"}`))
	require.Equal(t, []any{value("0", 5), value("1", 4)}, values(`{"field":"attributes","key":"ag.data.inputs.size"}`))
	require.Equal(t, []any{value("s", 9)}, values(`{"field":"session_id"}`))
	require.Equal(t, []any{value("task", 9)}, values(`{"field":"span_type","windowing":{"limit":1}}`))
	require.Empty(t, values(`{"field":"session_id","windowing":{"newest":"2020-01-01T00:00:00Z"}}`))
	code, text := post(t, h, "/spans/values", `{"field":"created_at"}`)
	require.Equal(t, http.StatusUnprocessableEntity, code, text)
}

// Rejected spans come once each over all pages, with their counts.
func TestRejectedSpans(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	for i := range 25 {
		of := project
		if i%5 == 4 {
			of = domain.ProjectID(uuid.New())
		}
		require.NoError(t, w.conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO rejected_spans (project_id, rejected_at, source, stage, reason, span_id, stream_offset) VALUES ('%s', fromUnixTimestamp64Micro(%d), 'otlp', 'receive', 'reason %d', '%d', %d)",
			of, time.Date(2026, 3, 1, 0, 0, i/10, 0, time.UTC).UnixMicro(), i%2, i, i)))
	}
	seen := map[string]bool{}
	for next := ""; ; {
		var page struct {
			RejectedSpans []browse.RejectedSpan `json:"rejected_spans"`
			Next          string
		}
		out := fetch(t, h, "/rejected-spans?limit=3&next="+url.QueryEscape(next), "")
		require.Equal(t, http.StatusOK, out.Code, out.Body.String())
		require.NoError(t, json.Unmarshal(out.Body.Bytes(), &page))
		for _, s := range page.RejectedSpans {
			require.False(t, seen[s.SpanID])
			seen[s.SpanID] = true
		}
		if next = page.Next; next == "" {
			break
		}
	}
	require.Len(t, seen, 20)
	var summary struct {
		Count   int
		Reasons []browse.RejectedReason
	}
	require.NoError(t, json.Unmarshal(fetch(t, h, "/rejected-spans/summary", "").Body.Bytes(), &summary))
	require.Equal(t, 20, summary.Count)
	require.Len(t, summary.Reasons, 2)
	require.NoError(t, json.Unmarshal(fetch(t, h, "/rejected-spans/summary?reason=reason+0&newest=2026-03-01T00:00:01Z", "").Body.Bytes(), &summary))
	require.Equal(t, 4, summary.Count)
	require.Equal(t, http.StatusUnprocessableEntity, fetch(t, h, "/rejected-spans?next=x", "").Code)
}

// The scores of a trace are those of all annotations on any of its spans, those of a span
// are of the annotations on it; an annotation without a score counts with its success.
func TestScoresInColumns(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id, token := newTraceID(), ""
	send := func(path, body string) {
		t.Helper()
		sent := s.do(http.MethodPost, path, body)
		require.Less(t, sent.Code, 300, sent.Text)
		token = sent.Header.Get("Colonnade-Token")
	}
	send("/traces/", `{"trace":{"trace_id":"`+id+`","spans":{"top":{"span_id":"00000000000000a1","span_name":"top","start_time":"2026-11-01T10:00:00Z",
		"spans":{"below":{"span_id":"00000000000000a2","parent_id":"00000000000000a1","span_name":"below","start_time":"2026-11-01T10:00:01Z"}}}}}}`)
	annotate := func(evaluator, span, outputs string) {
		t.Helper()
		send("/annotations/", `{"annotation":{"data":{"outputs":`+outputs+`},"references":{"evaluator":{"slug":"`+evaluator+`"}},"links":{"invocation":{"trace_id":"`+id+`","span_id":"`+span+`"}}}}`)
		require.Equal(t, http.StatusOK, s.as("ours owner", http.MethodPost, "/spans/query", `{"windowing":{"limit":1}}`, "Colonnade-Token", token).Code)
	}
	annotate("quality", "00000000000000a1", `{"score":0.5}`)
	annotate("quality", "00000000000000a1", `{"Score":1,"success":false}`)
	annotate("quality", "00000000000000a2", `{"score":0}`)
	annotate("passed", "00000000000000a2", `{"success":true}`)
	annotate("words", "00000000000000a1", `{"comment":"fine"}`)
	columns := func(path string) map[string]any {
		t.Helper()
		r := s.ok(http.StatusOK, http.MethodPost, path, `{"select":["span_id","score.quality","score.passed","score.words","score.nobody"],"filtering":{"conditions":[{"field":"trace_id","operator":"in","value":["`+id+`"]}]}}`)
		out, _ := r.at("columns").(map[string]any)
		return out
	}
	none := []any{nil}
	require.Equal(t, map[string]any{"span_id": []any{"00000000000000a1"}, "score.quality": []any{0.5}, "score.passed": []any{1.0}, "score.words": none, "score.nobody": none}, columns("/traces/query"))
	spans := columns("/spans/query")
	for i, id := range spans["span_id"].([]any) {
		want := map[any][2]any{"00000000000000a1": {0.75, nil}, "00000000000000a2": {0.0, 1.0}}[id]
		require.Equal(t, want, [2]any{spans["score.quality"].([]any)[i], spans["score.passed"].([]any)[i]}, id)
	}
	require.Len(t, spans["span_id"], 2)
	roots := s.ok(http.StatusOK, http.MethodPost, "/spans/query", `{"select":["span_name"],"filtering":{"conditions":[{"field":"trace_id","operator":"in","value":["`+id+`"]},{"field":"root","value":true}]}}`)
	require.Equal(t, []any{"top"}, roots.at("columns", "span_name"))
	theirs := s.as("theirs owner", http.MethodPost, "/traces/query", `{"select":["score.quality"]}`)
	require.Equal(t, http.StatusOK, theirs.Code, theirs.Text)
	require.InDelta(t, 0, theirs.at("count"), 0)
}

// The price table is listed with its version, a name resolves as it does for spans, and the
// models of calls without a cost are named.
func TestPrices(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	list := func(path string) (reply struct {
		Version, Source string
		Count           int
		Prices          []struct {
			Model      string
			Prompt     *float64
			Completion *float64
		}
		Models []browse.UnpricedModel
	},
	) {
		out := fetch(t, h, path, "")
		require.Equal(t, http.StatusOK, out.Code, "%s: %s", path, out.Body)
		require.NoError(t, json.Unmarshal(out.Body.Bytes(), &reply))
		return reply
	}
	whole := list("/prices")
	require.Greater(t, whole.Count, 1000)
	require.Len(t, whole.Prices, whole.Count)
	require.Regexp(t, `^\d{4}-\d{2}-\d{2}$`, whole.Version)
	require.Contains(t, whole.Source, "litellm")
	for name, want := range map[string]string{"gpt-4o": "gpt-4o", "ft:gpt-4o-mini-2024-07-18:acme::abc": "ft:gpt-4o-mini-2024-07-18", "anthropic/claude-sonnet-4.5": "claude-sonnet-4-5"} {
		one := list("/prices?model=" + url.QueryEscape(name))
		require.Equal(t, 1, one.Count, name)
		require.Equal(t, want, one.Prices[0].Model)
		require.NotNil(t, one.Prices[0].Prompt)
	}
	require.Equal(t, 1, list("/prices?model=mistral-large-latest&provider=mistral_ai").Count)
	require.Zero(t, list("/prices?model=nothing-of-this-name").Count)

	start := time.Now().UTC().Add(-time.Hour)
	call := func(n uint64, at time.Time, more map[string]any) *tracepb.TracesData {
		attributes := map[string]any{"ag.type.span": "chat", "ag.metrics.tokens.incremental.prompt": 7}
		maps.Copy(attributes, more)
		return simple(n, n, 0, at, 1, attributes)
	}
	model := func(name string) map[string]any { return map[string]any{"ag.meta.response.model": name} }
	w.write(project,
		call(1, start, model("ours-1")), call(2, start.Add(time.Second), model("ours-1")),
		call(3, start, model("gpt-4o")), call(4, start.Add(-48*time.Hour), model("ours-of-old")),
		call(5, start, map[string]any{"ag.meta.response.model": "ours-paid", "ag.metrics.costs.incremental.total": 0.5}),
		call(6, start, map[string]any{"ag.meta.response.model": "ours-agent", "ag.type.span": "agent"}),
		call(7, start, nil))
	missing := list("/prices/missing").Models
	require.Len(t, missing, 1, "%v", missing)
	require.Equal(t, browse.UnpricedModel{Model: "ours-1", Spans: 2, Tokens: 14, SeenAt: start.Add(time.Second).Truncate(time.Microsecond)}, missing[0])
	require.Len(t, list("/prices/missing?oldest="+url.QueryEscape(start.Add(-72*time.Hour).Format(time.RFC3339))).Models, 2)
	require.Equal(t, http.StatusUnprocessableEntity, fetch(t, h, "/prices/missing?oldest=x", "").Code)
}
