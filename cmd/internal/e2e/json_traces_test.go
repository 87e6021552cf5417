//go:build embedded

package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

// TestJSONDoors walks interface.md §4.1 and contract §1.11 over the routes, on
// running stores: what goes in as JSON, what replaces it, what removes it.
func TestJSONDoors(t *testing.T) {
	t.Parallel()
	s := newService(t)
	t.Run("§4.1 POST /traces/", s.postTrace)
	t.Run("§1.7 an empty list of links", s.emptyLinks)
	t.Run("§4.1 PUT /traces/{trace_id}", s.putTrace)
	t.Run("DELETE /traces/{trace_id}", s.deleteTrace)
	t.Run("§4.1 deprecated ingest", s.deprecatedIngest)
	t.Run("deprecated /tracing/traces/", s.deprecatedTraces)
	t.Run("what a query returns can be ingested again", s.roundTrip)
	t.Run("refusals", s.traceRefusals)
	t.Run("projects are apart", s.tracesOfProjects)
}

func newTraceID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// family is a trace of a parent and a child, as the reference's tests send it.
func family(id string) string {
	return `{"parent_span":{"trace_id":"` + id + `","span_id":"1000000000000001","span_name":"parent_span","span_kind":"SPAN_KIND_SERVER","start_time":1670000000,"end_time":1680000000,
		"status_code":"STATUS_CODE_OK","status_message":"This went well",
		"attributes":{"some.string":"some-string","some.number":123,"some.boolean":true,"some.array":[1,2,3],"some.object":{"key1":"value1"},"some.more.array.0":"array-value-0","some.more.array.1":"array-value-1"},
		"events":[{"name":"some-event","timestamp":1675000000,"attributes":{"some.attribute":"some-value"}}],
		"spans":{"child_span":{"trace_id":"` + id + `","span_id":"1000000000000002","parent_id":"1000000000000001","span_name":"child_span","span_kind":"SPAN_KIND_INTERNAL","start_time":1672500000,"end_time":1677500000,
			"status_code":"STATUS_CODE_ERROR","events":[{"name":"exception","timestamp":1675000000,"attributes":{"some.attribute":"some-value"}}]}}}}`
}

func (s *service) postTrace(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id := newTraceID()
	r := s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
	require.NotEmpty(t, r.Header.Get(domain.TokenHeader))
	require.InDelta(t, 1, r.at("count"), 0)
	require.Equal(t, id, r.at("trace_id"))
	got := s.ok(http.StatusOK, "GET", "/traces/"+id, "")
	require.Empty(t, got.Header.Get(domain.TokenHeader+"-Pending"))
	require.Empty(t, cmp.Diff(withoutCreation(r.at("trace")), withoutCreation(got.at("trace"))), "the reply is what is stored")
	require.Equal(t, map[string]any{
		"string": "some-string", "number": 123.0, "boolean": true, "array": []any{1.0, 2.0, 3.0},
		"object": map[string]any{"key1": "value1"}, "more": map[string]any{"array": []any{"array-value-0", "array-value-1"}},
	}, got.at("trace", "spans", "parent_span", "attributes", "some"))
	require.InDelta(t, 1, got.at("trace", "spans", "parent_span", "attributes", "ag", "metrics", "errors", "cumulative"), 0)
	require.Equal(t, "2022-12-02T16:53:20Z", got.at("trace", "spans", "parent_span", "start_time"))

	// Ids in every form, no times: they are one moment here and there.
	dashed := uuid.NewString()
	r = s.ok(http.StatusAccepted, "POST", "/preview/traces", `{"trace":{"trace_id":"`+dashed+`","spans":{"a":{"span_id":"0x1000000000000001"}}}}`)
	require.Equal(t, "true", r.Header.Get("Deprecation"))
	require.Equal(t, strings.ReplaceAll(dashed, "-", ""), r.at("trace_id"))
	got = s.ok(http.StatusOK, "GET", "/traces/0x"+strings.ReplaceAll(dashed, "-", ""), "")
	require.Equal(t, r.at("trace", "spans", "a", "start_time"), got.at("trace", "spans", "a", "start_time"))
}

// An empty list of links says annotation as one with links does, unless a span
// says otherwise; none at all says nothing. Source: contract §1.7, §0 row 7.
func (s *service) emptyLinks(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	for spans, want := range map[string]string{
		`{"a":{"span_id":"1000000000000001","links":[]}}`:                                                                        "annotation",
		`{"a":{"span_id":"1000000000000001","links":null}}`:                                                                      "invocation",
		`{"a":{"span_id":"1000000000000001","links":[],"trace_type":"invocation"}}`:                                              "invocation",
		`{"a":{"span_id":"1000000000000001","links":[],"attributes":{"ag.type.trace":"invocation"}}}`:                            "invocation",
		`{"a":{"span_id":"1000000000000001","trace_type":"invocation","spans":{"b":{"span_id":"1000000000000002","links":[]}}}}`: "invocation",
		`{"a":{"span_id":"1000000000000001","spans":{"b":{"span_id":"1000000000000002","links":[]}}}}`:                           "annotation",
	} {
		id := newTraceID()
		r := s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+spans+`}}`)
		require.Equal(t, want, r.at("trace", "spans", "a", "trace_type"), spans)
		got := s.ok(http.StatusOK, "GET", "/traces/"+id, "")
		require.Equal(t, want, got.at("trace", "spans", "a", "trace_type"), spans)
		require.Equal(t, want, got.at("trace", "spans", "a", "attributes", "ag", "type", "trace"), spans)
	}
}

// withoutCreation drops what only the store knows.
func withoutCreation(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			switch k {
			case "created_at", "updated_at", "created_by_id", "updated_by_id":
			default:
				out[k] = withoutCreation(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutCreation(v[i])
		}
		return out
	}
	return v
}

func (s *service) putTrace(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id := newTraceID()
	s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
	before := s.ok(http.StatusOK, "GET", "/traces/"+id, "")
	r := s.ok(http.StatusAccepted, "PUT", "/traces/"+id, `{"trace":{"trace_id":"`+id+`","spans":{"renamed":{"span_id":"1000000000000001","start_time":1670000000,"attributes":{"ag.data.outputs":"x"}},"new":{"span_id":"1000000000000003"}}}}`)
	require.Equal(t, id, r.at("trace_id"))
	after := s.ok(http.StatusOK, "GET", "/traces/"+id, "")
	spans, _ := after.at("trace", "spans").(map[string]any)
	require.Len(t, spans, 2, "what is not there any more is gone; several roots are all returned")
	require.Empty(t, cmp.Diff(withoutCreation(r.at("trace")), withoutCreation(after.at("trace"))))
	require.Equal(t, before.at("trace", "spans", "parent_span", "created_at"), after.at("trace", "spans", "renamed", "created_at"), "creation stays")
	require.NotEmpty(t, after.at("trace", "spans", "renamed", "updated_at"))
	require.Nil(t, after.at("trace", "spans", "renamed", "attributes", "some"))
	require.InDelta(t, 0, s.ok(http.StatusOK, "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"trace_id","value":"`+id+`"},{"field":"span_name","value":"child_span"}]}}`).at("count"), 0)

	// Written and edited at once: one batch of the sink may hold both.
	id = newTraceID()
	s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
	s.ok(http.StatusAccepted, "PUT", "/traces/"+id, `{"trace":{"trace_id":"`+id+`","spans":{"only":{"span_id":"1000000000000001"}}}}`)
	after = s.ok(http.StatusOK, "GET", "/traces/"+id, "")
	require.NotEmpty(t, after.at("trace", "spans", "only", "updated_at"))
	require.Less(t, after.at("trace", "spans", "only", "created_at"), after.at("trace", "spans", "only", "updated_at"))
}

func (s *service) deleteTrace(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id := newTraceID()
	s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
	require.JSONEq(t, `{"count":1,"trace_id":"`+id+`"}`, s.ok(http.StatusAccepted, "DELETE", "/traces/"+id, "").Text)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "GET", "/traces/"+id, "").Text)
	require.JSONEq(t, `{"count":0,"trace_id":"`+id+`"}`, s.ok(http.StatusAccepted, "DELETE", "/traces/"+id, "").Text)
	require.JSONEq(t, `{"count":0,"spans":[]}`, s.ok(http.StatusOK, "GET", "/spans/?trace_id="+id, "").Text)
}

func (s *service) deprecatedIngest(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	a, b := newTraceID(), newTraceID()
	r := s.ok(http.StatusAccepted, "POST", "/traces/ingest", `{"traces":[{"trace_id":"`+a+`","spans":`+family(a)+`},{"trace_id":"`+b+`","spans":`+family(b)+`}]}`)
	require.Equal(t, "true", r.Header.Get("Deprecation"))
	require.JSONEq(t, `{"count":2,"trace_ids":["`+a+`","`+b+`"]}`, r.Text)
	require.InDelta(t, 2, s.ok(http.StatusOK, "GET", "/traces/?trace_ids="+a+","+b, "").at("count"), 0)

	// A bad span is refused alone, counted and named.
	c := newTraceID()
	r = s.ok(http.StatusAccepted, "POST", "/tracing/spans/ingest", `{"spans":[{"trace_id":"`+c+`","span_id":"1000000000000001"},{"trace_id":"`+c+`","span_id":"nonsense","span_name":"bad"}]}`)
	require.InDelta(t, 1, r.at("count"), 0)
	require.Equal(t, []any{map[string]any{"trace_id": c, "span_id": "1000000000000001"}}, r.Body["links"])
	require.InDelta(t, 1, r.at("partialSuccess", "rejectedSpans"), 0)
	require.Contains(t, r.at("partialSuccess", "errorMessage"), "Invalid span_id.")
	require.InDelta(t, 1, s.ok(http.StatusOK, "GET", "/spans/?trace_id="+c, "").at("count"), 0)
	r = s.ok(http.StatusAccepted, "POST", "/preview/tracing/spans/ingest", `{"traces":{"`+c+`":{"spans":`+family(c)+`}}}`)
	require.InDelta(t, 2, r.at("count"), 0)
	require.InDelta(t, 0, s.ok(http.StatusAccepted, "POST", "/tracing/spans/ingest", `{"spans":[]}`).at("count"), 0)
}

func (s *service) deprecatedTraces(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id := newTraceID()
	r := s.ok(http.StatusAccepted, "POST", "/preview/tracing/traces/", `{"traces":{"`+id+`":{"spans":`+family(id)+`}}}`)
	require.InDelta(t, 2, r.at("count"), 0)
	got := s.ok(http.StatusOK, "GET", "/preview/tracing/traces/"+id, "")
	require.InDelta(t, 1, got.at("count"), 0)
	r = s.ok(http.StatusAccepted, "PUT", "/tracing/traces/"+id, `{"spans":[{"trace_id":"`+id+`","span_id":"1000000000000009","span_name":"flat"}]}`)
	require.JSONEq(t, `{"count":1,"links":[{"trace_id":"`+id+`","span_id":"1000000000000009"}]}`, r.Text)
	got = s.ok(http.StatusOK, "GET", "/tracing/traces/"+id, "")
	require.NotNil(t, got.at("traces", id, "spans", "flat"))
	r = s.ok(http.StatusAccepted, "DELETE", "/tracing/traces/"+id, "")
	require.JSONEq(t, `{"count":1,"links":[{"trace_id":"`+id+`","span_id":"1000000000000009"}]}`, r.Text)
	require.InDelta(t, 0, s.ok(http.StatusOK, "GET", "/tracing/traces/"+id, "").at("count"), 0)
	require.JSONEq(t, `{"count":0,"links":[]}`, s.ok(http.StatusAccepted, "DELETE", "/tracing/traces/"+id, "").Text)
}

// randomSpans makes a trace of spans with everything that a span may hold.
func randomSpans(rng *rand.Rand, id string) string {
	value := func() string {
		return []string{`"text"`, `1`, `1.5`, `2.0`, `true`, `null`, `[1,"a",{"b":[]}]`, `{"k.l":{"m":null}}`, `{}`, `"@ag.type=json:{\"a\":1}"`, `9007199254740993`, `"` + strings.Repeat("x", 600) + `"`}[rng.IntN(12)]
	}
	keys := strings.Fields("a b.c service.name list.0 list.1 ag.data.inputs ag.data.outputs ag.data.internals ag.data.weird ag.tags.t ag.meta.m ag.session.id ag.user.id ag.agent.id ag.references.testcase.slug ag.foo ag.metrics.tokens.incremental.total gen_ai.request.model ag.type.node ag.exception.type")
	n := 1 + rng.IntN(5)
	parts := make([]string, 0, n)
	for i := range n {
		var attributes []string
		for _, k := range rng.Perm(len(keys))[:rng.IntN(6)] {
			attributes = append(attributes, fmt.Sprintf("%q:%s", keys[k], value()))
		}
		more := ""
		// A span without a stored parent becomes a root, which is shown with the identifiers of
		// its trace: it would not go back unchanged.
		if i > 0 && rng.IntN(4) > 0 {
			more += fmt.Sprintf(`,"parent_id":"%016x"`, 1+rng.IntN(i))
		}
		if rng.IntN(3) == 0 {
			more += `,"links":[{"trace_id":"` + newTraceID() + `","span_id":"1000000000000001","attributes":{"key":"invocation","n":` + value() + `}}]`
		}
		if rng.IntN(3) == 0 {
			more += `,"events":[{"name":"exception","timestamp":"2026-01-01T00:00:00.123456789Z","attributes":{"x.y":` + value() + `}}],"status_code":"STATUS_CODE_ERROR","status_message":"bad"`
		}
		if rng.IntN(2) == 0 {
			more += `,"resource":{"service":{"name":"shop"},"n":` + value() + `},"scope":{"name":"lib","version":"1"}`
		}
		parts = append(parts, fmt.Sprintf(`{"trace_id":%q,"span_id":"%016x","span_name":"s%d","start_time":%d,"end_time":%d,"attributes":{%s}%s}`,
			id, i+1, rng.IntN(2), 1760000000000000000+rng.Int64N(1e9), 1760000001000000001, strings.Join(attributes, ","), more))
	}
	return `{"spans":[` + strings.Join(parts, ",") + `]}`
}

// roundTrip: each reply of a query goes back unchanged, after its trace is
// gone, and the queries return it identically.
func (s *service) roundTrip(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	rng := rand.New(rand.NewPCG(3, 4))
	var ids []string
	for range 12 {
		ids = append(ids, newTraceID())
		s.ok(http.StatusAccepted, "POST", "/tracing/spans/ingest", randomSpans(rng, ids[len(ids)-1]))
	}
	list, _ := json.Marshal(ids)
	query := `{"filtering":{"conditions":[{"field":"trace_id","operator":"in","value":` + string(list) + `}]}}`
	first := s.ok(http.StatusOK, "POST", "/traces/query", query)
	spans := s.ok(http.StatusOK, "POST", "/spans/query", query)
	legacy := s.ok(http.StatusOK, "POST", "/tracing/spans/query", query)
	same := func(how string) {
		t.Helper()
		again := s.ok(http.StatusOK, "POST", "/traces/query", query)
		require.Empty(t, cmp.Diff(withoutCreation(first.Body), withoutCreation(again.Body)), how)
		require.Equal(t, withoutCreation(spans.Body), withoutCreation(s.ok(http.StatusOK, "POST", "/spans/query", query).Body), how)
	}
	clearAll := func() {
		for _, id := range ids {
			s.ok(http.StatusAccepted, "DELETE", "/traces/"+id, "")
		}
		require.InDelta(t, 0, s.ok(http.StatusOK, "POST", "/traces/query", query).at("count"), 0)
	}
	s.ok(http.StatusAccepted, "POST", "/traces/ingest", first.Text)
	same("over what is there")
	clearAll()
	s.ok(http.StatusAccepted, "POST", "/traces/ingest", first.Text)
	same("/traces/query to /traces/ingest")
	clearAll()
	s.ok(http.StatusAccepted, "POST", "/tracing/spans/ingest", spans.Text)
	same("/spans/query to /tracing/spans/ingest")
	clearAll()
	s.ok(http.StatusAccepted, "POST", "/tracing/spans/ingest", legacy.Text)
	same("/tracing/spans/query to /tracing/spans/ingest")
	for _, id := range ids {
		s.ok(http.StatusAccepted, "PUT", "/traces/"+id, s.ok(http.StatusOK, "GET", "/traces/"+id, "").Text)
	}
	same("GET /traces/{id} to PUT /traces/{id}")
}

func (s *service) traceRefusals(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	const id, other, span = "0a000000000000000000000000000001", "0b000000000000000000000000000001", `{"x":{"span_id":"1000000000000001"}}`
	two := `{"x":{"span_id":"1000000000000001"},"y":{"span_id":"1000000000000002"}}`
	tests := []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"no body", "POST", "/traces/", ``, 422, `"loc":["body"]`},
		{"no JSON", "POST", "/traces/", `{"trace":`, 422, `json_invalid`},
		{"no trace", "POST", "/traces/", `{}`, 400, `Missing trace`},
		{"no spans", "POST", "/traces/", `{"trace":{"trace_id":"` + id + `"}}`, 400, `Missing spans`},
		{"no root", "POST", "/traces/", `{"trace":{"trace_id":"` + id + `","spans":{"x":{"span_id":"1000000000000001","parent_id":"1000000000000002"}}}}`, 400, `Missing root span`},
		{"two roots", "POST", "/traces/", `{"trace":{"trace_id":"` + id + `","spans":` + two + `}}`, 400, `Too many root spans`},
		{"an unknown member", "POST", "/traces/", `{"traces":[]}`, 422, `["body","traces"]`},
		{"a bad id", "POST", "/traces/", `{"trace":{"trace_id":"xyz","spans":` + span + `}}`, 422, `["body","trace","trace_id"]`},
		{"a bad span", "POST", "/traces/", `{"trace":{"trace_id":"` + id + `","spans":{"x":{"span_id":"1000000000000001","start_time":"soon"}}}}`, 422, `["body","trace","spans","x","start_time"]`},
		{"a span twice", "POST", "/traces/", `{"trace":{"trace_id":"` + id + `","spans":{"x":{"span_id":"1000000000000001","spans":` + span + `}}}}`, 422, `is there twice`},
		{"the path's id is none", "PUT", "/traces/xyz", `{"trace":{"trace_id":"` + id + `","spans":` + span + `}}`, 400, `Invalid trace_id in path or payload.`},
		{"the payload's id is none", "PUT", "/traces/" + id, `{"trace":{"trace_id":"xyz","spans":` + span + `}}`, 400, `Invalid trace_id in path or payload.`},
		{"another trace", "PUT", "/traces/" + id, `{"trace":{"trace_id":"` + other + `","spans":` + span + `}}`, 400, `does not match payload`},
		{"two traces", "PUT", "/traces/" + id, `{"trace":{"trace_id":"` + id + `","spans":{"x":{"trace_id":"` + other + `","span_id":"1000000000000001"}}}}`, 400, `Trace payload must contain exactly one trace_id.`},
		{"nothing to put", "PUT", "/traces/" + id, `{"trace":null}`, 400, `Missing trace`},
		{"the id to delete is none", "DELETE", "/traces/xyz", ``, 400, `Invalid trace_id.`},
		{"no traces", "POST", "/traces/ingest", `{}`, 400, `Missing traces`},
		{"an empty list of traces", "POST", "/traces/ingest", `{"traces":[]}`, 400, `Missing traces`},
		{"only bad spans", "POST", "/tracing/spans/ingest", `{"spans":[{"span_id":"x"}]}`, 422, `["body","spans",0,"trace_id"]`},
		{"two traces where one goes", "POST", "/tracing/traces/", `{"traces":{"` + id + `":{"spans":` + span + `},"` + other + `":{"spans":` + span + `}}}`, 400, `Too many traces`},
		{"GET of a word", "GET", "/traces/ingest", ``, 405, `Method Not Allowed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.with(t)
			r := s.do(tt.method, tt.path, tt.body)
			require.Equal(t, tt.status, r.Code, r.Text)
			require.Contains(t, r.Text, tt.says)
			require.Empty(t, r.Header.Get(domain.TokenHeader))
		})
	}
}

func (s *service) tracesOfProjects(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id := newTraceID()
	s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+id+`","spans":`+family(id)+`}}`)
	want := s.ok(http.StatusOK, "GET", "/traces/"+id, "")
	require.JSONEq(t, `{"count":0,"trace_id":"`+id+`"}`, s.as("theirs owner", "DELETE", "/traces/"+id, "").Text)
	require.Equal(t, http.StatusAccepted, s.as("theirs owner", "PUT", "/traces/"+id, `{"trace":{"trace_id":"`+id+`","spans":{"theirs":{"span_id":"1000000000000001"}}}}`).Code)
	require.InDelta(t, 1, s.as("theirs owner", "GET", "/traces/"+id, "").at("count"), 0)
	require.Equal(t, want.Body, s.ok(http.StatusOK, "GET", "/traces/"+id, "").Body)
	require.Equal(t, http.StatusForbidden, s.as("ours viewer", "DELETE", "/traces/"+id, "").Code)
}
