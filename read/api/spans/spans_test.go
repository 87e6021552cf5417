package spans_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/api/spans"
)

// memory is a Reader over spans in memory: what the filter's reference meaning
// says, paged by the index of the last item.
type memory struct {
	spans   []trace.Span
	visible int64
	asked   domain.Window
	moved   bool
	// stream is what TraceByID returns if it is set.
	stream *trace.Stream
	// leases is how many leases are not released.
	leases int
}

func (m *memory) Wait(_ context.Context, token domain.Token) (pending domain.Token, err error) {
	for _, p := range token {
		if p.Offset >= m.visible {
			pending = pending.Add(p)
		}
	}
	return pending, nil
}

func (m *memory) Spans(_ context.Context, project domain.ProjectID, where filter.Expr, w domain.Window) (domain.Page[trace.Span], error) {
	var found []trace.Span
	for _, s := range m.of(project) {
		if filter.Match(where, &s) {
			found = append(found, s)
		}
	}
	return page(m, found, w), nil
}

func (m *memory) Records(ctx context.Context, project domain.ProjectID, where filter.Expr, w domain.Window) (domain.Page[trace.Span], error) {
	return m.Spans(ctx, project, where, w)
}

func (m *memory) Traces(_ context.Context, project domain.ProjectID, where filter.Expr, w domain.Window) (domain.Page[[]trace.Span], error) {
	var ids []trace.TraceID
	for _, s := range m.of(project) {
		if filter.Match(where, &s) && !slices.Contains(ids, s.TraceID) {
			ids = append(ids, s.TraceID)
		}
	}
	return page(m, m.byID(project, ids), w), nil
}

func page[T any](m *memory, items []T, w domain.Window) domain.Page[T] {
	m.asked = w
	from := int(w.Next[15])
	end := min(from+w.Limit, len(items))
	p := domain.Page[T]{Items: items[from:end], Moved: m.moved}
	if end < len(items) {
		p.Next = uuid.UUID{15: byte(end)}
	}
	return p
}

func (m *memory) of(project domain.ProjectID) []trace.Span {
	if project != testProject {
		return nil
	}
	return m.spans
}

func (m *memory) byID(project domain.ProjectID, ids []trace.TraceID) (traces [][]trace.Span) {
	for _, id := range ids {
		var spans []trace.Span
		for _, s := range m.of(project) {
			if s.TraceID == id {
				spans = append(spans, s)
			}
		}
		slices.SortFunc(spans, func(a, b trace.Span) int { return cmp.Compare(a.Start, b.Start) })
		if len(spans) > 0 {
			traces = append(traces, spans)
		}
	}
	return traces
}

func (m *memory) TracesByID(_ context.Context, project domain.ProjectID, ids []trace.TraceID) ([][]trace.Span, error) {
	return m.byID(project, ids), nil
}

func (m *memory) TraceByID(_ context.Context, project domain.ProjectID, id trace.TraceID) ([]trace.Span, *trace.Stream, error) {
	if m.stream != nil {
		return nil, m.stream, nil
	}
	if found := m.byID(project, []trace.TraceID{id}); len(found) > 0 {
		return found[0], nil, nil
	}
	return nil, nil, nil
}

func (m *memory) Lease(ctx context.Context) (held context.Context, release func()) {
	m.leases++
	return ctx, func() { m.leases-- }
}

func (m *memory) SpansByID(_ context.Context, project domain.ProjectID, traces []trace.TraceID, spans []trace.SpanID) (found []trace.Span, err error) {
	for _, s := range m.of(project) {
		if (len(traces) == 0 || slices.Contains(traces, s.TraceID)) && (len(spans) == 0 || slices.Contains(spans, s.SpanID)) {
			found = append(found, s)
		}
	}
	return found, nil
}

var testProject = domain.ProjectID{7}

// door is the routes behind the least engine: it keeps the error instead of rendering it.
type door struct {
	*gin.Engine
	operations []domain.Operation
	err        error
}

func (d *door) Handle(op domain.Operation, h func(*gin.Context) error) {
	d.operations = append(d.operations, op)
	d.Engine.Handle(op.Method, strings.TrimSuffix(op.Path, "/"), func(c *gin.Context) { d.err = h(c) })
}

func open(t *testing.T, saved spans.SavedQuery) (*door, *memory) {
	t.Helper()
	a, b := trace.TraceID{0xa}, trace.TraceID{0xb}
	m := &memory{visible: 10, spans: []trace.Span{
		{TraceID: a, SpanID: trace.SpanID{1}, Type: trace.Invocation, Name: "root", Start: 1, Attributes: map[string]any{"ag": map[string]any{"data": map[string]any{"outputs": map[string]any{"__default__": "Paris"}}}}},
		{TraceID: a, SpanID: trace.SpanID{2}, ParentID: trace.SpanID{1}, Type: trace.Invocation, Name: "llm", Start: 2, Attributes: map[string]any{}},
		{TraceID: a, SpanID: trace.SpanID{3}, ParentID: trace.SpanID{1}, Type: trace.Invocation, Name: "llm", Start: 3, Attributes: map[string]any{}},
		{TraceID: b, SpanID: trace.SpanID{4}, Type: trace.Annotation, Name: "judge", Start: 4, Attributes: map[string]any{}},
	}}
	s, err := spans.New(spans.DefaultConfig(), m, saved, time.Now)
	require.NoError(t, err)
	gin.SetMode(gin.TestMode)
	d := &door{Engine: gin.New()}
	s.Mount(d)
	return d, m
}

func (d *door) do(t *testing.T, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx := domain.WithPrincipal(t.Context(), domain.Principal{Project: testProject})
	w := httptest.NewRecorder()
	d.err = nil
	d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body)))
	return w
}

const (
	idOfA = "0a000000000000000000000000000000"
	idOfB = "0b000000000000000000000000000000"
)

// outline keeps of a reply what tells its shape: ids and names.
func outline(t *testing.T, reply []byte) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(reply, &v), string(reply))
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k, e := range v {
				switch k {
				case "start_time", "end_time", "span_kind", "span_type", "status_code", "trace_type", "attributes", "span_name", "parent_id":
				default:
					out[k] = walk(e)
				}
			}
			if _, isSpan := v["span_id"]; isSpan {
				delete(out, "trace_id")
			}
			return out
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	text, err := json.Marshal(walk(v))
	require.NoError(t, err)
	return string(text)
}

func TestReplies(t *testing.T) {
	t.Parallel()
	const treeA = `{"root":{"span_id":"01","spans":{"llm":[{"span_id":"02"},{"span_id":"03"}]}}}`
	tests := []struct{ name, method, target, body, want string }{
		{"spans", "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"span_name","value":"llm"}]}}`, `{"count":2,"spans":[{"span_id":"02"},{"span_id":"03"}]}`},
		{"spans, nothing asked", "POST", "/spans/query", `{}`, `{"count":4,"spans":[{"span_id":"01"},{"span_id":"02"},{"span_id":"03"},{"span_id":"04"}]}`},
		{"spans, none found", "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"span_name","value":"x"}]}}`, `{"count":0,"spans":[]}`},
		{"traces", "POST", "/traces/query", `{"filtering":{"conditions":[{"field":"span_name","value":"llm"}]}}`, `{"count":1,"traces":[{"spans":` + treeA + `,"trace_id":"0a0000"}]}`},
		{"traces, the flat keys", "POST", "/traces/query", `{"filter":{"conditions":[{"field":"trace_type","value":"annotation"}]},"limit":5,"focus":"trace"}`, `{"count":1,"traces":[{"spans":{"judge":{"span_id":"04"}},"trace_id":"0b0000"}]}`},
		{"traces by id, whatever the window", "POST", "/traces/query", `{"filtering":{"conditions":[{"field":"trace_id","operator":"in","value":["` + idOfB + `"]}]},"windowing":{"limit":1,"next":"00000000-0000-0000-0000-000000000009"}}`, `{"count":1,"traces":[{"spans":{"judge":{"span_id":"04"}},"trace_id":"0b0000"}]}`},
		{"spans by trace id", "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"trace_id","value":"` + idOfB + `"}]},"limit":1}`, `{"count":1,"spans":[{"span_id":"04"}]}`},
		{"a filter as text", "POST", "/spans/query", `{"filter":"{\"conditions\":[{\"field\":\"span_name\",\"value\":\"judge\"}]}"}`, `{"count":1,"spans":[{"span_id":"04"}]}`},
		{"a trace", "GET", "/traces/0x" + idOfA, "", `{"count":1,"trace":{"spans":` + treeA + `,"trace_id":"0a0000"}}`},
		{"no trace", "GET", "/traces/00000000-0000-0000-0000-000000000001", "", `{"count":0}`},
		{"traces by id", "GET", "/traces?trace_id=" + idOfB + "&trace_ids=" + idOfB + "," + idOfA, "", `{"count":2,"traces":[{"spans":{"judge":{"span_id":"04"}},"trace_id":"0b0000"},{"spans":` + treeA + `,"trace_id":"0a0000"}]}`},
		{"spans by ids", "GET", "/spans?trace_id=" + idOfA + "&span_ids=0200000000000000,0400000000000000", "", `{"count":1,"spans":[{"span_id":"02"}]}`},
		{"spans by span id", "GET", "/spans?span_id=0400000000000000", "", `{"count":1,"spans":[{"span_id":"04"}]}`},
		{"a span", "GET", "/spans/" + idOfA + "/0200000000000000", "", `{"count":1,"span":{"span_id":"02"}}`},
		{"no span", "GET", "/spans/" + idOfA + "/0400000000000000", "", `{"count":0}`},
		{"deprecated, no body", "POST", "/tracing/spans/query?limit=1", "", `{"count":1,"traces":{"0a0000":{"spans":` + treeA + `}},"windowing":{"limit":1,"next":"00000000-0000-0000-0000-000000000001","order":"descending"}}`},
		{"deprecated, of spans", "POST", "/tracing/spans/query", `{"focus":"span","limit":1}`, `{"count":1,"spans":[{"span_id":"01"}],"windowing":{"limit":1,"next":"00000000-0000-0000-0000-000000000001","order":"descending"}}`},
		{"deprecated, flat", "POST", "/tracing/spans/query?format=opentelemetry&filter=" + `{"conditions":[{"field":"span_name","value":"llm"}]}`, ``, `{"count":3,"spans":[{"span_id":"01"},{"span_id":"02"},{"span_id":"03"}]}`},
		{"deprecated, traces", "POST", "/tracing/traces/query", `{"filtering":{"conditions":[{"field":"span_name","value":"judge"}]}}`, `{"count":1,"traces":{"0b0000":{"spans":{"judge":{"span_id":"04"}}}}}`},
		{"deprecated, one trace", "GET", "/tracing/traces/" + idOfB, ``, `{"count":1,"traces":{"0b0000":{"spans":{"judge":{"span_id":"04"}}}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, _ := open(t, nil)
			target := strings.NewReplacer(`"`, "%22", "{", "%7B", "}", "%7D").Replace(tt.target)
			w := d.do(t, tt.method, target, tt.body)
			require.NoError(t, d.err)
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			require.JSONEq(t, squeeze(tt.want), squeeze(outline(t, w.Body.Bytes())))
		})
	}
}

// squeeze drops zero bytes out of ids, so that expectations stay readable.
func squeeze(s string) string {
	for strings.Contains(s, "00") {
		s = strings.ReplaceAll(s, "00", "")
	}
	return s
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, target, body string
		kind                       domain.Kind
		says                       string
	}{
		{"an empty body", "POST", "/traces/query", "", domain.Invalid, "Field required"},
		{"an unknown key", "POST", "/traces/query", `{"filters":{}}`, domain.Invalid, "Extra"},
		{"an unknown key of the window", "POST", "/traces/query", `{"windowing":{"page":1}}`, domain.Invalid, "Extra"},
		{"an unknown field", "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"colour","value":"red"}]}}`, domain.Rejected, "colour"},
		{"an unknown operator", "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"span_name","operator":"~","value":"red"}]}}`, domain.Invalid, "~"},
		{"too many at once", "POST", "/spans/query", `{"windowing":{"limit":1001}}`, domain.Invalid, "less than or equal to 1000"},
		{"an unknown order", "POST", "/spans/query", `{"windowing":{"order":"random"}}`, domain.Invalid, "'ascending' or 'descending'"},
		{"an unknown focus", "POST", "/tracing/spans/query?focus=x", `{}`, domain.Invalid, "focus"},
		{"a cursor that is none", "POST", "/spans/query", `{"windowing":{"next":"x"}}`, domain.Invalid, "UUID"},
		{"a rate beyond all", "POST", "/spans/query", `{"windowing":{"rate":1.5}}`, domain.Invalid, "between"},
		{"two filters", "POST", "/spans/query", `{"filtering":{},"filter":{}}`, domain.Rejected, "not both"},
		{"two windows", "POST", "/spans/query", `{"windowing":{},"limit":1}`, domain.Rejected, "not both"},
		{"the other focus", "POST", "/spans/query", `{"focus":"trace"}`, domain.Rejected, "focus span"},
		{"a saved query where there are none", "POST", "/spans/query", `{"query_ref":{"slug":"q"}}`, domain.Rejected, "Saved queries"},
		{"a malformed trace id", "GET", "/traces/xyz", "", domain.Rejected, "Invalid trace_id."},
		{"a malformed span id", "GET", "/spans/" + idOfA + "/xyz", "", domain.Rejected, "Invalid span_id."},
		{"no trace ids", "GET", "/traces", "", domain.Rejected, "At least one trace_id query parameter is required."},
		{"no ids", "GET", "/spans", "", domain.Rejected, "At least one trace_id or span_id query parameter is required."},
		{"a bad limit in the query string", "POST", "/tracing/spans/query?limit=x", "", domain.Invalid, "limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, _ := open(t, nil)
			w := d.do(t, tt.method, tt.target, tt.body)
			require.Equal(t, tt.kind, domain.KindOf(d.err), "%v", d.err)
			require.ErrorContains(t, d.err, tt.says)
			require.Zero(t, w.Body.Len())
		})
	}
}

// What is wrong in a query string is said of the query string.
func TestWhereAQueryStringIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, target, body string
		want               []any // nil where nothing is wrong
	}{
		{"a rate beyond all", "/tracing/spans/query?rate=2", "", []any{"query", "rate"}},
		{"a rate below all", "/tracing/traces/query?rate=-0.1", "", []any{"query", "rate"}},
		{"no number", "/tracing/spans/query?rate=NaN", "", []any{"query", "rate"}},
		{"no number, in small letters", "/tracing/spans/query?rate=nan", `{}`, []any{"query", "rate"}},
		{"more than any number", "/tracing/spans/query?rate=Inf", "", []any{"query", "rate"}},
		{"a rate of analytics", "/spans/analytics/query?rate=NaN", "", []any{"query", "rate"}},
		{"a rate of totals", "/tracing/spans/analytics?rate=%2BInf", "", []any{"query", "rate"}},
		{"a rate of analytics beyond all", "/tracing/analytics/query?rate=2", "", []any{"query", "rate"}},
		{"a limit", "/tracing/spans/query?limit=1001", "", []any{"query", "limit"}},
		{"an interval", "/tracing/spans/query?interval=0", "", []any{"query", "interval"}},
		{"a filter as text", "/tracing/spans/query?filter=%22%7B%5C%22x%5C%22:1%7D%22", "", []any{"query", "filter", "x"}},
		{"a filter of an unknown key", "/tracing/spans/query?filter=%7B%22x%22:1%7D", "", []any{"query", "filter", "x"}},
		{"specs that are none", "/spans/analytics/query?specs=bad", "", []any{"query", "specs", 1}},
		{"a spec of an unknown type", "/spans/analytics/query?specs=%5B%7B%22type%22:%22x%22%7D%5D", "", []any{"query", "specs", 0, "type"}},
		{"a spec of no path", "/spans/analytics/query?specs=%5B%7B%22type%22:%22string%22%7D%5D", "", []any{"query", "specs", 0, "path"}},
		{"the body's own rate", "/tracing/spans/query?limit=1", `{"rate":2}`, []any{"body", "rate"}},
		{"a spec of a long path", "/spans/analytics/query", `{"specs":[{"type":"string","path":"attributes` + strings.Repeat(".0", 600) + `"}]}`, []any{"body", "specs", 0, "path"}},
		{"the body's own specs", "/spans/analytics/query", `{"specs":[{"type":"string"}]}`, []any{"body", "specs", 0, "path"}},
		{"the body's own filter", "/tracing/spans/query", `{"filter":{"x":1}}`, []any{"body", "filter", "x"}},
		{"the whole of it", "/tracing/spans/query?rate=1&limit=1000&interval=1&filter=%7B%7D", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, m := open(t, nil)
			s, err := spans.New(spans.DefaultConfig(), m, nil, time.Now)
			require.NoError(t, err)
			spans.NewAnalytics(s, nil).Mount(d) // there is nobody to ask: all of it is refused before
			d.do(t, http.MethodPost, tt.target, tt.body)
			if tt.want == nil {
				require.NoError(t, d.err)
				return
			}
			require.Equal(t, domain.Invalid, domain.KindOf(d.err), "%v", d.err)
			failed, ok := errors.AsType[*domain.Error](d.err)
			require.True(t, ok)
			require.Equal(t, tt.want, failed.Fields[0].Loc)
			_, err = json.Marshal(failed.Fields)
			require.NoError(t, err)
		})
	}
}

// Bounds beyond all spans are open ones (contract §3.3): no time is refused for its year.
func TestOpenBounds(t *testing.T) {
	t.Parallel()
	first, last := time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, ask := range [][2]string{
		{"/spans/query", `{"windowing":{"oldest":"0001-01-01T00:00:00Z","newest":"9999-12-31T23:59:59.999999Z"}}`},
		{"/spans/query", `{"oldest":"0001-01-01","newest":"2300-01-01"}`},
		{"/tracing/spans/query?oldest=00010101T000000Z&newest=9999-12-31t23:59:59z", ``},
	} {
		d, m := open(t, nil)
		d.do(t, http.MethodPost, ask[0], ask[1])
		require.NoError(t, d.err)
		require.Equal(t, first, m.asked.Oldest)
		require.Equal(t, last, m.asked.Newest)
	}
	d, _ := open(t, nil)
	d.do(t, http.MethodPost, "/spans/query", `{"windowing":{"oldest":"10000-01-01T00:00:00Z"}}`)
	require.Equal(t, domain.Invalid, domain.KindOf(d.err))
}

// The focus that one caller chose is not the next one's (contract §3.1).
func TestFocusIsOfOneRequest(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	for _, body := range []string{`{"limit":1}`, `{"limit":1,"focus":"span"}`, `{"limit":1}`} {
		of := "traces"
		if strings.Contains(body, "span") {
			of = "spans"
		}
		w := d.do(t, http.MethodPost, "/tracing/spans/query", body)
		require.NoError(t, d.err)
		require.Contains(t, w.Body.String(), `"`+of+`":`)
	}
}

// A limit below one is refused (contract §0 row 53).
func TestLimitIsOneAtLeast(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"0", "-7"} {
		d, _ := open(t, nil)
		d.do(t, http.MethodPost, "/spans/query", `{"windowing":{"limit":`+limit+`}}`)
		require.ErrorContains(t, d.err, "greater than or equal to 1")
		require.Equal(t, domain.Invalid, domain.KindOf(d.err))
	}
}

// The bound that was the caller's position is no part of the window of the next page.
func TestAMovedBoundIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"ascending", "descending"} {
		d, m := open(t, nil)
		m.moved = true
		w := d.do(t, http.MethodPost, "/spans/query", `{"windowing":{"limit":1,"order":"`+order+`","newest":"2026-01-01T00:00:00Z","oldest":"2025-01-01T00:00:00Z"}}`)
		require.NoError(t, d.err)
		var reply struct{ Windowing map[string]any }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
		require.Equal(t, order == "descending", reply.Windowing["newest"] == nil)
		require.Equal(t, order == "ascending", reply.Windowing["oldest"] == nil)
	}
}

func TestPagesLeadOn(t *testing.T) {
	t.Parallel()
	d, m := open(t, nil)
	seen, next := 0, ""
	for range 4 {
		w := d.do(t, http.MethodPost, "/spans/query", `{"windowing":{"limit":3,"order":"ascending","oldest":"2025-01-01T00:00:00Z"`+next+`}}`)
		require.NoError(t, d.err)
		require.Equal(t, domain.Ascending, m.asked.Order)
		var reply struct {
			Count     int
			Windowing *struct {
				Next   string
				Limit  int
				Oldest time.Time
			}
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &reply))
		seen += reply.Count
		if reply.Windowing == nil {
			break
		}
		require.Equal(t, 3, reply.Windowing.Limit)
		require.Equal(t, 2025, reply.Windowing.Oldest.Year())
		next = `,"next":"` + reply.Windowing.Next + `"`
	}
	require.Equal(t, 4, seen)
}

func TestOutputsAreUnwrapped(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	w := d.do(t, http.MethodGet, "/spans/"+idOfA+"/0100000000000000", "")
	require.NoError(t, d.err)
	require.Contains(t, w.Body.String(), `"outputs":"Paris"`)
}

func TestAnotherProjectSeesNothing(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	w := httptest.NewRecorder()
	ctx := domain.WithPrincipal(t.Context(), domain.Principal{Project: domain.ProjectID{8}})
	d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/traces/"+idOfA, nil))
	require.NoError(t, d.err)
	require.JSONEq(t, `{"count":0}`, w.Body.String())
}

func TestTokensAreWaitedFor(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	ctx := domain.WithPrincipal(t.Context(), domain.Principal{Project: testProject})
	for token, pending := range map[string]string{"0:9": "", "0:9,1:10": "1:10"} {
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/spans/query", strings.NewReader(`{}`))
		req.Header.Set(domain.TokenHeader, token)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, req)
		require.NoError(t, d.err)
		require.Equal(t, pending, w.Header().Get(spans.TokenPendingHeader))
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/spans/query", strings.NewReader(`{}`))
	req.Header.Set(domain.TokenHeader, "soon")
	d.ServeHTTP(httptest.NewRecorder(), req)
	require.Equal(t, domain.Rejected, domain.KindOf(d.err))
}

func TestSavedQueries(t *testing.T) {
	t.Parallel()
	d, m := open(t, func(_ context.Context, project domain.ProjectID, query, _, revision domain.Reference) (json.RawMessage, bool, error) {
		require.Equal(t, testProject, project)
		if query.Slug != "judges" && revision.Version != "2" {
			return nil, false, nil
		}
		return json.RawMessage(`{"formatting":{"focus":"span"},"filtering":{"conditions":[{"field":"span_name","value":"judge"}]},
			"windowing":{"order":"ascending","limit":7},"trace_ids":["` + idOfA + `"]}`), true, nil
	})
	w := d.do(t, http.MethodPost, "/spans/query", `{"query_ref":{"slug":"judges"},"windowing":{"limit":3}}`)
	require.NoError(t, d.err)
	require.Equal(t, domain.Window{Limit: 3, Order: domain.Ascending}, m.asked)
	require.Contains(t, w.Body.String(), `"span_name":"judge"`)

	w = d.do(t, http.MethodPost, "/spans/query", `{"query_ref":{"slug":"nobody"}}`)
	require.NoError(t, d.err)
	require.JSONEq(t, `{"count":0,"spans":[]}`, w.Body.String())

	d.do(t, http.MethodPost, "/traces/query", `{"query_revision_ref":{"version":"2"}}`)
	require.Equal(t, domain.Conflict, domain.KindOf(d.err))
	d.do(t, http.MethodPost, "/spans/query", `{"query_ref":{"slug":"judges"},"windowing":{"order":"descending"}}`)
	require.Equal(t, domain.Rejected, domain.KindOf(d.err))
}

// A reply larger than the buffer goes out in parts and is still one document.
func TestLargeRepliesAreWhole(t *testing.T) {
	t.Parallel()
	d, m := open(t, nil)
	m.spans = nil
	for i := range 300 {
		m.spans = append(m.spans, trace.Span{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1, byte(i), byte(i >> 8)}, Name: strings.Repeat("n", 5000), Attributes: map[string]any{}})
	}
	w := d.do(t, http.MethodPost, "/spans/query", `{"limit":1000}`)
	require.NoError(t, d.err)
	var reply struct{ Spans []struct{ SpanID string } }
	require.NoError(t, json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&reply))
	require.Len(t, reply.Spans, 300)
}

func TestOperations(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	require.Len(t, d.operations, 9)
	for _, op := range d.operations {
		require.Equal(t, domain.ViewSpans, op.Permission, op.Path)
		require.True(t, op.Preview, op.Path)
		require.Equal(t, strings.HasPrefix(op.Path, "/tracing"), op.Deprecated, op.Path)
		require.NotEmpty(t, op.Summary, op.Path)
	}
}

func BenchmarkSpansReply(b *testing.B) {
	m := &memory{}
	attributes := map[string]any{"ag": map[string]any{"data": map[string]any{"inputs": map[string]any{"prompt": strings.Repeat("text ", 300)}}}}
	for i := range 50 {
		m.spans = append(m.spans, trace.Span{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(i + 1)}, Name: "span", Attributes: attributes})
	}
	s, err := spans.New(spans.DefaultConfig(), m, nil, time.Now)
	require.NoError(b, err)
	gin.SetMode(gin.ReleaseMode)
	d := &door{Engine: gin.New()}
	s.Mount(d)
	ctx := domain.WithPrincipal(b.Context(), domain.Principal{Project: testProject})
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/spans/query", strings.NewReader(`{}`)))
		b.SetBytes(int64(w.Body.Len()))
	}
}
