package spans_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/read/api/spans"
)

// openSimple is a door on three records and a span that is none.
func openSimple(t testing.TB) (*door, *memory) {
	t.Helper()
	record := func(f simple.Face, n byte, r simple.Record) trace.Span {
		r.TraceID, r.SpanID = trace.TraceID{n}, trace.SpanID{n}
		r.Data = map[string]any{"outputs": int64(n)}
		return simple.New(f, &r, int64(n))
	}
	m := &memory{visible: 10, spans: []trace.Span{
		record(simple.Trace, 1, simple.Record{Origin: simple.Human, Links: []simple.Link{{Name: "invocation", TraceID: trace.TraceID{9}, SpanID: trace.SpanID{9}}}}),
		record(simple.Annotation, 2, simple.Record{Origin: simple.Auto, Tags: map[string]any{"k": "v"}}),
		record(simple.Invocation, 3, simple.Record{Kind: simple.Eval}),
		{TraceID: trace.TraceID{4}, SpanID: trace.SpanID{4}, Type: trace.Annotation, Attributes: map[string]any{}},
		{TraceID: trace.TraceID{2}, SpanID: trace.SpanID{5}, ParentID: trace.SpanID{2}, Type: trace.Annotation, Start: 9, Attributes: map[string]any{"ag": map[string]any{"data": map[string]any{"outputs": "child"}}}},
	}}
	s, err := spans.New(spans.DefaultConfig(), m, nil, time.Now)
	require.NoError(t, err)
	gin.SetMode(gin.TestMode)
	d := &door{Engine: gin.New()}
	s.MountSimple(d)
	return d, m
}

func TestSimpleReplies(t *testing.T) {
	t.Parallel()
	const (
		one   = `"trace_id":"01000000000000000000000000000000"`
		two   = `"trace_id":"02000000000000000000000000000000"`
		three = `"trace_id":"03000000000000000000000000000000"`
	)
	tests := []struct {
		name, method, target, body string
		want                       []string
	}{
		{"a trace", "GET", "/simple/traces/" + strings.Repeat("01", 1) + strings.Repeat("0", 30), "", []string{`{"count":1,"trace":{` + one, `"origin":"human"`, `"links":{"invocation":{`}},
		{"a span without data", "GET", "/simple/traces/04000000000000000000000000000000", "", []string{`{"count":0}`}},
		{"nothing", "GET", "/annotations/05000000000000000000000000000000", "", []string{`{"count":0}`}},
		{"the root of several spans", "GET", "/annotations/02000000000000000000000000000000", "", []string{`"data":{"outputs":2}`}},
		{"a span of several", "GET", "/annotations/02000000000000000000000000000000?span_id=0500000000000000", "", []string{`"data":{"outputs":"child"}`}},
		{"a span of another trace", "GET", "/annotations/02000000000000000000000000000000?span_id=0100000000000000", "", []string{`{"count":0}`}},
		{"all traces", "POST", "/simple/traces/query", `{}`, []string{`{"count":3,"traces":[`, one, two, three}},
		{"all annotations", "POST", "/annotations/query", `{"annotation":null}`, []string{`{"count":2,"annotations":[`, one, two}},
		{"all invocations", "POST", "/invocations/query", `{"invocation":{"kind":"eval","references":{"application":null}}}`, []string{`{"count":1,"invocations":[`, three, `"kind":"eval"`}},
		{"a page", "POST", "/simple/traces/query", `{"windowing":{"limit":2}}`, []string{`{"count":2,`, `"windowing":{"next":"00000000-0000-0000-0000-000000000002","limit":2,"order":"descending"}`}},
		{"by link", "POST", "/simple/traces/query", `{"trace":{"links":{"any":{"trace_id":"09000000-0000-0000-0000-000000000000","span_id":null},"none":null}}}`, []string{`{"count":1,`, one}},
		{"by own link", "POST", "/annotations/query", `{"annotation_links":[{"trace_id":"02000000000000000000000000000000"}]}`, []string{`{"count":1,`, two}},
		{"by tags", "POST", "/annotations/query", `{"annotation":{"tags":{"k":"v"},"origin":"auto"}}`, []string{`{"count":1,`, two}},
		{"none", "POST", "/simple/traces/query", `{"trace":{"references":{"evaluator":{"slug":"x"}}}}`, []string{`{"count":0,"traces":[]}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, _ := openSimple(t)
			w := d.do(t, tt.method, tt.target, tt.body)
			require.NoError(t, d.err)
			require.Equal(t, http.StatusOK, w.Code)
			for _, want := range tt.want {
				require.Contains(t, w.Body.String(), want)
			}
		})
	}
}

func TestSimpleRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, target, body string
		kind                       domain.Kind
		says                       string
	}{
		{"no body", "POST", "/annotations/query", ``, domain.Invalid, "Field required"},
		{"an unknown key", "POST", "/annotations/query", `{"links":[]}`, domain.Invalid, "Extra inputs"},
		{"an unknown reference", "POST", "/annotations/query", `{"annotation":{"references":{"planet":{"slug":"x"}}}}`, domain.Invalid, "Extra inputs"},
		{"an unknown kind", "POST", "/annotations/query", `{"annotation":{"kind":"x"}}`, domain.Invalid, "'adhoc', 'eval' or 'play'"},
		{"links of text", "POST", "/annotations/query", `{"annotation":{"links":"x"}}`, domain.Invalid, "dictionary or list"},
		{"a link of text", "POST", "/annotations/query", `{"annotation":{"links":["x"]}}`, domain.Invalid, "valid dictionary"},
		{"a link's id that is none", "POST", "/annotations/query", `{"annotation":{"links":[{"trace_id":"x"}]}}`, domain.Invalid, "Invalid trace_id."},
		{"a link's id that is a number", "POST", "/annotations/query", `{"annotation":{"links":[{"span_id":1}]}}`, domain.Invalid, "valid string"},
		{"a link with more", "POST", "/annotations/query", `{"annotation":{"links":[{"name":"x"}]}}`, domain.Invalid, "Extra inputs"},
		{"an own link without its trace", "POST", "/annotations/query", `{"annotation_links":[{"span_id":"0100000000000000"}]}`, domain.Invalid, "Field required"},
		{"a malformed id", "GET", "/annotations/xyz", ``, domain.Rejected, "Invalid trace_id."},
		{"a malformed span id", "GET", "/annotations/01000000000000000000000000000000?span_id=x", ``, domain.Rejected, "Invalid span_id."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, _ := openSimple(t)
			d.do(t, tt.method, tt.target, tt.body)
			require.Equal(t, tt.kind, domain.KindOf(d.err), "%v", d.err)
			require.ErrorContains(t, d.err, tt.says)
		})
	}
}

func TestSimpleReadsWait(t *testing.T) {
	t.Parallel()
	d, _ := openSimple(t)
	ctx := domain.WithPrincipal(t.Context(), domain.Principal{Project: testProject})
	for _, r := range []*http.Request{
		httptest.NewRequestWithContext(ctx, http.MethodPost, "/simple/traces/query", strings.NewReader(`{}`)),
		httptest.NewRequestWithContext(ctx, http.MethodGet, "/simple/traces/01000000000000000000000000000000", nil),
	} {
		r.Header.Set(domain.TokenHeader, "0:9,1:10")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		require.NoError(t, d.err)
		require.Equal(t, "1:10", w.Header().Get(spans.TokenPendingHeader))
	}
}

func FuzzSimpleQuery(f *testing.F) {
	f.Add([]byte(`{"trace":{"origin":"human","links":[{"trace_id":"09000000000000000000000000000000"}],"tags":{"a.b":{"c":[1]}},"references":{"evaluator":{"slug":"x","version":"1"}}},"links":[{"trace_id":"01000000000000000000000000000000"}],"windowing":{"limit":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, _ := openSimple(t)
		w := d.do(t, http.MethodPost, "/simple/traces/query", string(body))
		if d.err != nil {
			require.Contains(t, []domain.Kind{domain.Invalid, domain.Rejected}, domain.KindOf(d.err), "%v", d.err)
			return
		}
		require.Contains(t, w.Body.String(), `"count":`)
	})
}
