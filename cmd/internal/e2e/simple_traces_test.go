//go:build embedded

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/registry/accounts"
)

const (
	outputs    = `{"integer":42,"float":3.14,"string":"Hello, world!","boolean":true,"array":[1],"object":{"aloha":"mahalo"}}`
	invocation = `{"trace_id":"019688a5e2097b80ad12e2907b83e9fc","span_id":"25a8e0b9bbf37d30"}`
)

// TestSimpleTraces walks interface.md §2.9 and §4.1 and contract §4 over the
// routes, on running stores. No call sends a token back: that a caller reads
// its own writes is the service's matter.
func TestSimpleTraces(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_AUTH_KEY=the-administration-key")
	s.keys["admin"] = "the-administration-key"
	t.Run("create, fetch, edit and delete", s.simpleLife)
	t.Run("an edit leaves, clears and replaces", s.simpleEdits)
	t.Run("an edit may follow at once", s.simpleHaste)
	t.Run("evaluators are made", s.simpleEvaluators)
	t.Run("queries", s.simpleQueries)
	t.Run("pages", s.simplePages)
	t.Run("annotations", s.annotations)
	t.Run("invocations", s.invocations)
	t.Run("refusals", s.simpleRefusals)
	t.Run("traces of others and of instrumented programs", s.simpleForeign)
	t.Run("records of other authors", s.simpleAuthors)
	t.Run("preview", s.simplePreview)
}

func created(t *testing.T, r reply, word string) (traceID, spanID string) {
	t.Helper()
	traceID, _ = r.at(word, "trace_id").(string)
	spanID, _ = r.at(word, "span_id").(string)
	require.Len(t, traceID, 32, r.Text)
	require.Len(t, spanID, 16, r.Text)
	return traceID, spanID
}

func (s *service) simpleLife(t *testing.T) {
	s = s.with(t)
	slug := uuid.NewString()
	r := s.ok(http.StatusAccepted, "POST", "/simple/traces/", `{"trace":{"data":{"outputs":`+outputs+`},"tags":{"tag1":"value1"},"meta":{"meta1":"value1"},
		"references":{"evaluator":{"slug":"`+slug+`"}},"links":{"invocation":`+invocation+`}}}`)
	require.NotEmpty(t, r.Header.Get(domain.TokenHeader))
	require.InDelta(t, 1, r.at("count"), 0)
	require.JSONEq(t, outputs, text(t, r.at("trace", "data", "outputs")))
	require.JSONEq(t, `{"invocation":`+invocation+`}`, text(t, r.at("trace", "links")))
	require.Equal(t, slug, r.at("trace", "references", "evaluator", "slug"))
	require.NotEmpty(t, r.at("trace", "references", "evaluator_revision", "id"))
	require.Equal(t, []any{"custom", "adhoc", "api"}, []any{r.at("trace", "origin"), r.at("trace", "kind"), r.at("trace", "channel")})
	require.Nil(t, r.at("trace", "created_at"))
	traceID, spanID := created(t, r, "trace")

	got := s.ok(http.StatusOK, "GET", "/simple/traces/"+traceID, "")
	require.NotEmpty(t, got.at("trace", "created_at"))
	require.NotEmpty(t, got.at("trace", "created_by_id"))
	for _, member := range []string{"trace_id", "span_id", "data", "tags", "meta", "references", "links", "origin", "kind", "channel"} {
		require.Equal(t, r.at("trace", member), got.at("trace", member), member)
	}
	// The span that it is. Source: contract §4.2.
	span := s.ok(http.StatusOK, "GET", "/spans/"+traceID+"/"+spanID, "")
	require.Equal(t, "annotation", span.at("span", "trace_type"))
	require.Equal(t, "task", span.at("span", "span_type"))
	require.Equal(t, slug, span.at("span", "span_name"))
	require.Equal(t, map[string]any{"is_custom": true}, span.at("span", "attributes", "ag", "flags"))
	require.Equal(t, map[string]any{"trace": "annotation", "span": "task"}, span.at("span", "attributes", "ag", "type"))

	edited := s.ok(http.StatusOK, "PATCH", "/simple/traces/"+traceID, `{"trace":{"data":{"outputs":{"score":2}},"tags":{"tag3":"value3"}}}`)
	require.JSONEq(t, `{"score":2}`, text(t, edited.at("trace", "data", "outputs")))
	require.Equal(t, map[string]any{"tag3": "value3"}, edited.at("trace", "tags"))
	require.Equal(t, got.at("trace", "created_at"), edited.at("trace", "created_at"))
	again := s.ok(http.StatusOK, "GET", "/simple/traces/"+traceID, "")
	require.Empty(t, again.Header.Get(domain.TokenHeader+"-Pending"))
	require.Equal(t, edited.Body, again.Body, "the reply to an edit is what a read shows")
	after := s.ok(http.StatusOK, "GET", "/spans/"+traceID+"/"+spanID, "")
	require.Equal(t, span.at("span", "start_time"), after.at("span", "start_time"))

	gone := s.ok(http.StatusOK, "DELETE", "/simple/traces/"+traceID, "")
	require.JSONEq(t, `{"count":1,"link":{"trace_id":"`+traceID+`","span_id":"`+spanID+`"}}`, gone.Text)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "GET", "/simple/traces/"+traceID, "").Text)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "GET", "/traces/"+traceID, "").Text)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "DELETE", "/simple/traces/"+traceID, "").Text)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "PATCH", "/simple/traces/"+traceID, `{"trace":{"data":{"outputs":1}}}`).Text)
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// Source: contract §0 row 11.
func (s *service) simpleEdits(t *testing.T) {
	s = s.with(t)
	const whole = `{"trace":{"origin":"human","kind":"play","channel":"otlp","data":{"outputs":{"score":1}},"tags":{"a":"b"},"meta":{"c":{"d":1.5}},
		"references":{"testcase":{"id":"0198a3b0-0000-7000-8000-000000000001"},"selector":{"slug":"x"}},"links":{"invocation":` + invocation + `}}}`
	tests := []struct{ name, edit, member, want string }{
		{"nothing", `{}`, "tags", `{"a":"b"}`},
		{"tags cleared", `{"tags":null}`, "tags", `null`},
		{"tags replaced", `{"tags":{"e":true}}`, "tags", `{"e":true}`},
		{"meta stays", `{"tags":null}`, "meta", `{"c":{"d":1.5}}`},
		{"meta cleared", `{"meta":null}`, "meta", `null`},
		{"data replaced", `{"data":{"outputs":"x","inputs":{"q":1}}}`, "data", `{"outputs":"x","inputs":{"q":1}}`},
		{"data stays", `{"meta":null}`, "data", `{"outputs":{"score":1}}`},
		{"references cleared", `{"references":null}`, "references", `{}`},
		{"references replaced", `{"references":{"query":{"slug":"q"}}}`, "references", `{"query":{"slug":"q"}}`},
		{"references stay", `{"data":{"outputs":2}}`, "references", `{"testcase":{"id":"0198a3b0-0000-7000-8000-000000000001"},"selector":{"slug":"x"}}`},
		{"links stay", `{"data":{"outputs":2}}`, "links", `{"invocation":` + invocation + `}`},
		{"links cleared", `{"links":null}`, "links", `{}`},
		{"links emptied", `{"links":[]}`, "links", `{}`},
		{"links replaced by a list", `{"links":[` + invocation + `]}`, "links", `{"key":` + invocation + `}`},
		{"the kind stays", `{"data":{"outputs":2}}`, "kind", `"play"`},
		{"the channel stays", `{"data":{"outputs":2}}`, "channel", `"otlp"`},
		{"the origin stays", `{"data":{"outputs":2}}`, "origin", `"human"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.with(t)
			id, _ := created(t, s.ok(http.StatusAccepted, "POST", "/simple/traces/", whole), "trace")
			edited := s.ok(http.StatusOK, "PATCH", "/simple/traces/"+id, `{"trace":`+tt.edit+`}`)
			require.JSONEq(t, tt.want, text(t, edited.at("trace", tt.member)))
			require.Equal(t, edited.Body, s.ok(http.StatusOK, "GET", "/simple/traces/"+id, "").Body)
			require.Equal(t, "annotation", s.ok(http.StatusOK, "GET", "/spans/?trace_id="+id, "").Body["spans"].([]any)[0].(map[string]any)["trace_type"])
			// What a read shows can be sent back as an edit that changes nothing.
			back := s.ok(http.StatusOK, "PATCH", "/simple/traces/"+id, `{"trace":`+text(t, edited.Body["trace"])+`}`)
			require.Equal(t, edited.at("trace", "data"), back.at("trace", "data"))
		})
	}
}

// Edits that follow each other at once see each other.
func (s *service) simpleHaste(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id, _ := created(t, s.ok(http.StatusAccepted, "POST", "/simple/traces/", `{"trace":{"data":{"outputs":0},"references":{},"links":{}}}`), "trace")
	for i := range 5 {
		r := s.ok(http.StatusOK, "PATCH", "/simple/traces/"+id, fmt.Sprintf(`{"trace":{"meta":{"n":%d}}}`, i))
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), text(t, r.at("trace", "meta")))
		r = s.ok(http.StatusOK, "PATCH", "/simple/traces/"+id, fmt.Sprintf(`{"trace":{"data":{"outputs":%d}}}`, i))
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), text(t, r.at("trace", "meta")))
	}
	require.JSONEq(t, `{"outputs":4}`, text(t, s.ok(http.StatusOK, "GET", "/simple/traces/"+id, "").at("trace", "data")))
}

// An annotator edits and deletes what the annotator has added, and nothing of others.
func (s *service) simpleAuthors(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	s.keys = maps.Clone(s.keys)
	ours := s.accounts["ours"].Project.ID
	made, err := s.Accounts.CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"owner": {Email: uuid.NewString() + "@guest.example"}}})
	require.NoError(t, err)
	guest := made["owner"]
	joined := s.as("admin", "POST", "/admin/simple/accounts/projects/memberships/",
		`{"membership":{"project_ref":{"id":"`+ours.String()+`"},"user_ref":{"id":"`+guest.User.ID.String()+`"},"role":"annotator"}}`)
	require.Equal(t, http.StatusOK, joined.Code, joined.Text)
	key, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: ours, User: guest.User.ID})
	require.NoError(t, err)
	s.keys["guest"] = key.Reveal()

	const one, edit = `{"trace":{"data":{"outputs":1},"references":{},"links":{}}}`, `{"trace":{"tags":{"a":"b"}}}`
	theirs, span := created(t, s.ok(http.StatusAccepted, "POST", "/simple/traces/", one), "trace")
	r := s.as("guest", "POST", "/simple/traces/", one)
	require.Equal(t, http.StatusAccepted, r.Code, r.Text)
	own, _ := created(t, r, "trace")

	whole := `{"trace":{"spans":[{"trace_id":"` + theirs + `","span_id":"` + span + `","span_name":"replaced"}]}}`
	// A span of the guest's own in the trace of another does not make that trace the guest's.
	const added = "00000000000000ab"
	r = s.as("guest", "POST", "/tracing/spans/ingest", `{"spans":[{"trace_id":"`+theirs+`","span_id":"`+added+`","parent_id":"`+span+`","span_name":"added"}]}`)
	require.Equal(t, http.StatusAccepted, r.Code, r.Text)
	for _, tt := range []struct{ method, path, body string }{
		{"PATCH", "/simple/traces/" + theirs, edit},
		{"DELETE", "/simple/traces/" + theirs, ""},
		{"DELETE", "/annotations/" + theirs, ""},
		{"DELETE", "/annotations/" + theirs + "?span_id=" + added, ""},
		{"DELETE", "/invocations/" + theirs, ""},
		{"DELETE", "/traces/" + theirs, ""},
		{"DELETE", "/tracing/traces/" + theirs, ""},
		{"PUT", "/traces/" + theirs, whole},
		{"PUT", "/tracing/traces/" + theirs, whole},
	} {
		r := s.as("guest", tt.method, tt.path, tt.body)
		require.Equal(t, http.StatusForbidden, r.Code, "%s %s: %s", tt.method, tt.path, r.Text)
	}
	kept := s.ok(http.StatusOK, "GET", "/simple/traces/"+theirs, "")
	require.InDelta(t, 1, kept.at("trace", "data", "outputs"), 0)
	require.Nil(t, kept.at("trace", "tags"))

	require.Equal(t, "b", s.as("guest", "PATCH", "/simple/traces/"+own, edit).at("trace", "tags", "a"))
	require.InDelta(t, 1, s.as("guest", "DELETE", "/simple/traces/"+own, "").at("count"), 0)
	require.InDelta(t, 1, s.ok(http.StatusOK, "PATCH", "/simple/traces/"+theirs, edit).at("count"), 0, "an owner edits the traces of others")
}

// Source: contract §4.2.
func (s *service) simpleEvaluators(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	slug := uuid.NewString()
	body := func(links string) string {
		return `{"trace":{"data":{"outputs":{"score":1}},"references":{"evaluator":{"slug":"` + slug + `"}},"links":` + links + `}}`
	}
	count := func() any {
		return s.ok(http.StatusOK, "POST", "/simple/evaluators/query", `{"evaluator":{"slug":"`+slug+`"}}`).at("count")
	}
	r := s.ok(http.StatusAccepted, "POST", "/simple/traces/", body(`{}`))
	require.JSONEq(t, `{"evaluator":{"slug":"`+slug+`"}}`, text(t, r.at("trace", "references")))
	require.InDelta(t, 0, count(), 0)
	first := s.ok(http.StatusAccepted, "POST", "/simple/traces/", body(`{"invocation":`+invocation+`}`))
	require.InDelta(t, 1, count(), 0)
	require.Equal(t, slug, first.at("trace", "references", "evaluator", "slug"))
	require.NotEmpty(t, first.at("trace", "references", "evaluator", "id"))
	require.NotEmpty(t, first.at("trace", "references", "evaluator_variant", "id"))
	require.NotEmpty(t, first.at("trace", "references", "evaluator_revision", "version"))
	second := s.ok(http.StatusAccepted, "POST", "/simple/traces/", body(`[`+invocation+`]`))
	require.Equal(t, first.at("trace", "references"), second.at("trace", "references"))
	require.JSONEq(t, `[`+invocation+`]`, text(t, second.at("trace", "links")))
	require.InDelta(t, 1, count(), 0)
}

// The reference's own queries, with its counts. Source: contract §4.2.
func (s *service) simpleQueries(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	mark := uuid.NewString()
	invoked := [2]string{invocation, `{"trace_id":"019688a5e2097b80ad12e2907b83e9fd","span_id":"25a8e0b9bbf37d31"}`}
	make3 := func(origin, kind, channel, tag1, tag2, slug string, link int) (trace, own string) {
		r := s.ok(http.StatusAccepted, "POST", "/simple/traces/", fmt.Sprintf(`{"trace":{"origin":%q,"kind":%q,"channel":%q,"data":{"outputs":{"x":1}},
			"tags":{"tag1":%q,"tag2":%q,"mark":%q},"meta":{"meta1":%q,"meta2":%q},"references":{"evaluator":{"slug":%q}},"links":{"invocation":%s}}}`,
			origin, kind, channel, tag1, tag2, mark, tag1, tag2, slug, invoked[link]))
		id, span := created(t, r, "trace")
		return id, `{"trace_id":"` + id + `","span_id":"` + span + `"}`
	}
	slug1, slug2 := uuid.NewString(), uuid.NewString()
	_, own1 := make3("custom", "adhoc", "api", "value1", "value2", slug1, 0)
	_, own2 := make3("human", "eval", "web", "value1", "value3", slug1, 1)
	_, own3 := make3("auto", "eval", "sdk", "value3", "value2", slug2, 0)
	_, _ = make3("auto", "play", "otlp", "value3", "value3", slug2, 1)
	tests := []struct {
		name, trace, links string
		want               int
	}{
		{"all", ``, ``, 4},
		{"own link", ``, own1, 1},
		{"own links", ``, own2 + "," + own3, 2},
		{"link", `"links":{"invocation":` + invocation + `}`, ``, 2},
		{"link in a list", `"links":[` + invocation + `]`, ``, 2},
		{"any link of a list", `"links":[` + invoked[0] + `,` + invoked[1] + `]`, ``, 4},
		{"each link of a map", `"links":{"a":` + invoked[0] + `,"b":` + invoked[1] + `}`, ``, 0},
		{"reference", `"references":{"evaluator":{"slug":"` + slug1 + `"}}`, ``, 2},
		{"reference of another kind", `"references":{"application":{"slug":"` + slug1 + `"}}`, ``, 0},
		{"tag", `"tags":{"tag1":"value1"}`, ``, 2},
		{"tag of one", `"tags":{"tag2":"value3","tag1":"value1"}`, ``, 1},
		{"meta", `"meta":{"meta2":"value2"}`, ``, 2},
		{"custom", `"origin":"custom"`, ``, 1},
		{"human", `"origin":"human"`, ``, 1},
		{"auto", `"origin":"auto"`, ``, 2},
		{"adhoc", `"kind":"adhoc"`, ``, 1},
		{"eval", `"kind":"eval"`, ``, 2},
		{"play", `"kind":"play"`, ``, 1},
		{"api", `"channel":"api"`, ``, 1},
		{"web", `"channel":"web"`, ``, 1},
		{"sdk", `"channel":"sdk"`, ``, 1},
		{"otlp", `"channel":"otlp"`, ``, 1},
		{"several", `"origin":"auto","kind":"eval","references":{"evaluator":{"slug":"` + slug2 + `"}},"links":{"x":` + invocation + `}`, ``, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.with(t)
			trace := tt.trace
			if tt.name != "tag" && tt.name != "tag of one" { // other tests record in this project too
				trace += `,"tags":{"mark":"` + mark + `"}`
			} else {
				trace = trace[:len(trace)-1] + `,"mark":"` + mark + `"}`
			}
			if trace[0] == ',' {
				trace = trace[1:]
			}
			r := s.ok(http.StatusOK, "POST", "/simple/traces/query", `{"trace":{`+trace+`},"links":[`+tt.links+`]}`)
			require.InDelta(t, tt.want, r.at("count"), 0, r.Text)
			require.Len(t, r.Body["traces"], tt.want)
		})
	}
}

func (s *service) simplePages(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	mark := uuid.NewString()
	want := map[string]bool{}
	for i := range 5 {
		r := s.ok(http.StatusAccepted, "POST", "/simple/traces/", fmt.Sprintf(`{"trace":{"data":{"outputs":%d},"tags":{"mark":%q},"references":{},"links":{}}}`, i, mark))
		id, _ := created(t, r, "trace")
		want[id] = true
	}
	next := ""
	for range 3 {
		r := s.ok(http.StatusOK, "POST", "/simple/traces/query", `{"trace":{"tags":{"mark":"`+mark+`"}},"windowing":{"limit":2`+next+`}}`)
		for _, record := range r.Body["traces"].([]any) {
			id, _ := record.(map[string]any)["trace_id"].(string)
			require.True(t, want[id], "each once")
			delete(want, id)
		}
		cursor, more := r.at("windowing", "next").(string)
		require.Equal(t, len(want) > 0, more)
		next = `,"next":"` + cursor + `"`
	}
	require.Empty(t, want)
}

// Source: contract §4.3.
func (s *service) annotations(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	slug := "a" + uuid.NewString()
	r := s.ok(http.StatusOK, "POST", "/annotations/", `{"annotation":{"origin":"human","data":{"outputs":{"score":1,"why":"good"}},"references":{"evaluator":{"slug":"`+slug+`"}},"links":{"invocation":`+invocation+`}}}`)
	id, span := created(t, r, "annotation")
	require.NotEmpty(t, r.at("annotation", "references", "evaluator", "id"))
	require.Equal(t, "human", r.at("annotation", "origin"))
	got := s.ok(http.StatusOK, "GET", "/annotations/"+id, "")
	require.Equal(t, r.at("annotation", "references"), got.at("annotation", "references"))
	require.Equal(t, got.Body, s.ok(http.StatusOK, "GET", "/annotations/"+id+"?span_id="+span, "").Body)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "GET", "/annotations/"+id+"?span_id=1111111111111111", "").Text)

	// The evaluator's schema came from the first result; another must fit it.
	bad := s.do("POST", "/annotations/", `{"annotation":{"data":{"outputs":{"score":"high"}},"references":{"evaluator":{"slug":"`+slug+`"}},"links":{}}}`)
	require.Equal(t, http.StatusUnprocessableEntity, bad.Code, bad.Text)
	detail := bad.Body["detail"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"body", "annotation", "data", "outputs", "score"}, detail["loc"])
	require.Equal(t, "value_error.json_schema", detail["type"])
	bad = s.do("PATCH", "/annotations/"+id, `{"annotation":{"data":{"outputs":{"score":"high"}}}}`)
	require.Equal(t, http.StatusUnprocessableEntity, bad.Code, bad.Text)

	edited := s.ok(http.StatusOK, "PATCH", "/annotations/"+id, `{"annotation":{"data":{"outputs":{"score":0.5}}}}`)
	require.Equal(t, got.at("annotation", "references"), edited.at("annotation", "references"))
	require.Equal(t, got.at("annotation", "links"), edited.at("annotation", "links"))
	found := s.ok(http.StatusOK, "POST", "/annotations/query", `{"annotation":{"references":{"evaluator":{"slug":"`+slug+`"}}},"windowing":{"limit":10}}`)
	require.InDelta(t, 1, found.at("count"), 0)
	require.Equal(t, edited.Body["annotation"], found.Body["annotations"].([]any)[0])
	found = s.ok(http.StatusOK, "POST", "/annotations/query", `{"annotation_links":[{"trace_id":"`+id+`","span_id":"`+span+`"}]}`)
	require.InDelta(t, 1, found.at("count"), 0)

	// Without an evaluator one is made.
	r = s.ok(http.StatusOK, "POST", "/annotations/", `{"annotation":{"data":{"outputs":{"score":1}},"references":{},"links":{}}}`)
	require.Len(t, r.at("annotation", "references", "evaluator", "slug"), 12)
	require.JSONEq(t, `{"count":1,"annotation_link":{"trace_id":"`+id+`","span_id":"`+span+`"}}`, s.ok(http.StatusOK, "DELETE", "/annotations/"+id, "").Text)
	require.JSONEq(t, `{"count":0}`, s.ok(http.StatusOK, "DELETE", "/annotations/"+id, "").Text)
}

// Source: contract §4.4.
func (s *service) invocations(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	slug := "app-" + uuid.NewString()
	r := s.ok(http.StatusOK, "POST", "/invocations/", `{"invocation":{"channel":"sdk","data":{"inputs":{"q":"?"},"outputs":"Paris"},"references":{"application":{"slug":"`+slug+`"}},"links":null}}`)
	id, span := created(t, r, "invocation")
	require.NotEmpty(t, r.at("invocation", "references", "application_revision", "id"))
	require.Equal(t, []any{"custom", "adhoc", "sdk"}, []any{r.at("invocation", "origin"), r.at("invocation", "kind"), r.at("invocation", "channel")})
	got := s.ok(http.StatusOK, "GET", "/invocations/"+id, "")
	require.Equal(t, "Paris", got.at("invocation", "data", "outputs"))
	whole := s.ok(http.StatusOK, "GET", "/spans/"+id+"/"+span, "")
	require.Equal(t, "invocation", whole.at("span", "trace_type"))
	require.Equal(t, slug, whole.at("span", "span_name"))
	edited := s.ok(http.StatusOK, "PATCH", "/invocations/"+id, `{"invocation":{"data":{"outputs":"Lyon"}}}`)
	require.JSONEq(t, `{"outputs":"Lyon"}`, text(t, edited.at("invocation", "data")))
	require.Equal(t, got.at("invocation", "references"), edited.at("invocation", "references"))
	query := `{"invocation":{"references":{"application":{"slug":"` + slug + `"}}}}`
	require.InDelta(t, 1, s.ok(http.StatusOK, "POST", "/invocations/query", query).at("count"), 0)
	require.JSONEq(t, `{"count":1,"invocation_link":{"trace_id":"`+id+`","span_id":"`+span+`"}}`, s.ok(http.StatusOK, "DELETE", "/invocations/"+id, "").Text)
	require.JSONEq(t, `{"count":0,"invocations":[]}`, s.ok(http.StatusOK, "POST", "/invocations/query", query).Text)
}

func (s *service) simpleRefusals(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	tests := []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"no body", "POST", "/simple/traces/", ``, 422, `"loc":["body"]`},
		{"no trace", "POST", "/simple/traces/", `{}`, 422, `["body","trace"]`},
		{"no data", "POST", "/simple/traces/", `{"trace":{"references":{},"links":{}}}`, 422, `["body","trace","data"]`},
		{"no references", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"links":{}}}`, 422, `["body","trace","references"]`},
		{"no links", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{}}}`, 422, `["body","trace","links"]`},
		{"null links", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{},"links":null}}`, 422, `["body","trace","links"]`},
		{"no links of an invocation", "POST", "/invocations/", `{"invocation":{"data":{"outputs":1},"references":{}}}`, 422, `["body","invocation","links"]`},
		{"an unknown origin", "POST", "/simple/traces/", `{"trace":{"origin":"robot","data":{"outputs":1},"references":{},"links":{}}}`, 422, `'custom', 'human' or 'auto'`},
		{"an unknown member", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{},"links":{},"trace_id":"x"}}`, 422, `extra_forbidden`},
		{"an unknown reference", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{"planet":{"slug":"x"}},"links":{}}}`, 422, `["body","trace","references","planet"]`},
		{"a version that is a number", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{"evaluator_revision":{"version":1}},"links":{}}}`, 422, `string_type`},
		{"a bad slug", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{"query":{"slug":"a b"}},"links":{}}}`, 422, `["body","trace","references","query","slug"]`},
		{"a tag that is a float", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"tags":{"t":1.5},"references":{},"links":{}}}`, 422, `["body","trace","tags","t"]`},
		{"a bad link", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{},"links":{"a":{"trace_id":"x","span_id":"y"}}}}`, 422, `["body","trace","links","a","trace_id"]`},
		{"data of nothing", "POST", "/simple/traces/", `{"trace":{"data":{"outputs":null},"references":{},"links":{}}}`, 422, `["body","trace","data"]`},
		{"data cleared", "PATCH", "/simple/traces/00000000000000000000000000000001", `{"trace":{"data":null}}`, 422, `["body","trace","data"]`},
		{"a malformed id", "GET", "/simple/traces/xyz", ``, 400, `Invalid trace_id.`},
		{"a malformed id to edit", "PATCH", "/annotations/xyz", `{"annotation":{}}`, 400, `Invalid trace_id.`},
		{"a malformed id to delete", "DELETE", "/invocations/xyz", ``, 400, `Invalid trace_id.`},
		{"a query without a body", "POST", "/simple/traces/query", ``, 422, `"loc":["body"]`},
		{"a query of another face", "POST", "/simple/traces/query", `{"annotation":{}}`, 422, `extra_forbidden`},
		{"a query by a link of nothing", "POST", "/simple/traces/query", `{"trace":{"links":{"a":{}}}}`, 422, `["body","trace","links","a","trace_id"]`},
		{"the other verb", "PUT", "/simple/traces/00000000000000000000000000000001", `{}`, 405, `Method Not Allowed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.with(t)
			r := s.do(tt.method, tt.path, tt.body)
			require.Equal(t, tt.status, r.Code, r.Text)
			require.Contains(t, r.Text, tt.says)
		})
	}
	ours := `{"trace":{"data":{"outputs":1},"references":{},"links":{}}}`
	require.Equal(t, http.StatusForbidden, s.as("ours viewer", "POST", "/simple/traces/", ours).Code)
	require.Equal(t, http.StatusAccepted, s.as("ours annotator", "POST", "/simple/traces/", ours).Code)
}

// A record of another project does not exist; one of an instrumented program
// is read and edited like any, and keeps what else it says.
func (s *service) simpleForeign(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id, _ := created(t, s.ok(http.StatusAccepted, "POST", "/simple/traces/", `{"trace":{"data":{"outputs":1},"references":{},"links":{}}}`), "trace")
	s.ok(http.StatusOK, "GET", "/simple/traces/"+id, "")
	for _, method := range []string{"GET", "DELETE"} {
		require.JSONEq(t, `{"count":0}`, s.as("theirs owner", method, "/simple/traces/"+id, "").Text)
	}
	require.JSONEq(t, `{"count":0}`, s.as("theirs owner", "PATCH", "/simple/traces/"+id, `{"trace":{"tags":{"a":"b"}}}`).Text)
	require.InDelta(t, 1, s.ok(http.StatusOK, "GET", "/simple/traces/"+id, "").at("count"), 0)

	traceID := "1" + id[1:]
	if traceID == id {
		traceID = "2" + id[1:]
	}
	s.ok(http.StatusAccepted, "POST", "/tracing/spans/ingest", `{"spans":[
		{"trace_id":"`+traceID+`","span_id":"1000000000000001","span_name":"judge","span_type":"workflow","start_time":1760000000000,"end_time":1760000001500,
		 "attributes":{"ag.data.outputs":{"score":1},"ag.metrics.tokens.incremental.total":7,"service":"x","ag.flags":{"is_evaluator":true}},"links":[{"trace_id":"`+id+`","span_id":"25a8e0b9bbf37d30","attributes":{"key":"invocation","weight":1}}]},
		{"trace_id":"`+traceID+`","span_id":"1000000000000002","parent_id":"1000000000000001","span_name":"llm","start_time":1760000000100,"end_time":1760000000200}]}`)
	before := s.ok(http.StatusOK, "GET", "/spans/?trace_id="+traceID, "")
	r := s.ok(http.StatusOK, "PATCH", "/annotations/"+traceID, `{"annotation":{"tags":{"seen":true}}}`)
	require.Equal(t, map[string]any{"seen": true}, r.at("annotation", "tags"))
	after := s.ok(http.StatusOK, "GET", "/spans/?trace_id="+traceID, "")
	root, child := before.Body["spans"].([]any)[0].(map[string]any), before.Body["spans"].([]any)[1]
	require.Equal(t, child, after.Body["spans"].([]any)[1])
	root["attributes"].(map[string]any)["ag"].(map[string]any)["tags"] = map[string]any{"seen": true}
	edited := after.Body["spans"].([]any)[0].(map[string]any)
	require.NotEmpty(t, edited["updated_at"])
	delete(edited, "updated_at")
	delete(edited, "updated_by_id")
	require.Equal(t, root, edited)
	require.Len(t, s.ok(http.StatusAccepted, "DELETE", "/tracing/traces/"+traceID, "").Body["links"], 2)
}

func (s *service) simplePreview(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	r := s.ok(http.StatusAccepted, "POST", "/api/preview/simple/traces", `{"trace":{"data":{"score":1},"references":{},"links":[]}}`)
	require.Equal(t, "true", r.Header.Get("Deprecation"))
	id, _ := created(t, r, "trace")
	got := s.ok(http.StatusOK, "GET", "/preview/simple/traces/"+id+"/", "")
	require.JSONEq(t, `{"score":1}`, text(t, got.at("trace", "data")))
}
