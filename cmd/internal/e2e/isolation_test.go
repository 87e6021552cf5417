//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// secret is a word of one project alone: in the names, texts, sessions, users
// and slugs of all that it has, and in nothing that the other one sends.
const secret = "theirs-secret"

// attempt is a request that another project's ids go into.
type attempt struct {
	query, body string
	// shows tells that the owner of the ids sees the secret in the reply, so
	// that nobody else's seeing it means something.
	shows bool
	// refused tells that others get an error, not an empty answer.
	refused bool
}

// attempts are the requests on a route, by method and path. Every route that
// is mounted is here or in elsewhere: a new one has to say how it keeps projects apart.
func attempts(op domain.Operation) []attempt {
	const (
		span    = `{"span_id":"{span}","span_name":"ours","start_time":"2026-11-01T10:00:00Z"}`
		simple  = `"data":{"outputs":{"score":1}},"references":{"evaluator":{"id":"{evaluator}"},"application":{"id":"{application}"}},"links":{"invocation":{"trace_id":"{only}","span_id":"{span}"}}`
		edit    = `"data":{"outputs":{"score":2}}`
		otlp    = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"{only}","spanId":"{span}","name":"ours","startTimeUnixNano":"1793527200000000000","endTimeUnixNano":"1793527201000000000"}]}]}]}`
		windows = `"oldest":"2026-10-01T00:00:00Z","newest":"2026-12-01T00:00:00Z"`
	)
	filters := func(more ...attempt) []attempt {
		out := []attempt{{body: `{}`, shows: true}}
		for _, condition := range []string{
			`{"field":"trace_id","value":"{only}"}`, `{"field":"trace_id","operator":"in","value":["{only}","{shared}"]}`, `{"field":"span_id","value":"{span}"}`,
			`{"field":"content","operator":"contains","value":"` + secret + `"}`, `{"field":"session_id","operator":"startswith","value":"` + secret + `"}`,
			`{"field":"attributes","key":"ag.meta.word","operator":"exists"}`, `{"field":"references","operator":"in","value":[{"id":"{evaluator}"}]}`,
			`{"field":"links","operator":"in","value":[{"trace_id":"{only}"}]}`,
		} {
			out = append(out, attempt{body: `{"filtering":{"conditions":[` + condition + `]}}`, shows: true})
		}
		return append(out, more...)
	}
	analytics := attempt{body: `{` + windows + `,"specs":[{"type":"categorical/single","path":"attributes.ag.meta.word"}]}`, shows: true}
	saved := []attempt{{body: `{"query_ref":{"id":"{query}"}}`}, {body: `{"query_variant_ref":{"id":"{query_variant}"}}`}, {body: `{"query_revision_ref":{"id":"{query_revision}"}}`}}
	simpleQueries := func(word, links string) []attempt {
		return []attempt{
			{body: `{}`, shows: true},
			{body: `{"` + links + `":[{"trace_id":"{annotation}","span_id":"{annotation_span}"}]}`},
			{body: `{"` + word + `":{"references":{"evaluator":{"id":"{evaluator}"}}}}`},
			{body: `{"` + word + `":{"links":{"invocation":{"trace_id":"{only}","span_id":"{span}"}}}}`},
		}
	}
	switch op.Method + " " + op.Path {
	case "POST /traces/query", "POST /spans/query":
		return filters(saved...)
	case "POST /tracing/spans/query", "POST /tracing/traces/query":
		return filters()
	case "GET /traces/":
		return []attempt{{query: "?trace_id={only}&trace_id={shared}", shows: true}, {query: "?trace_ids={only}", shows: true}}
	case "GET /spans/":
		return []attempt{{query: "?trace_id={only}", shows: true}, {query: "?span_id={span}", shows: true}, {query: "?trace_id={shared}&span_id={span}", shows: true}}
	case "GET /status", "GET /traces/:trace_id/outline", "GET /spans/fields", "GET /rejected-spans", "GET /rejected-spans/summary", "GET /prices":
		return []attempt{{}}
	case "GET /prices/missing":
		return []attempt{{}, {query: "?oldest=2026-10-01T00:00:00Z", shows: true}}
	case "POST /spans/values":
		return []attempt{{body: `{"field":"session_id","windowing":{` + windows + `}}`, shows: true}, {body: `{"field":"attributes","key":"ag.meta.word","windowing":{` + windows + `}}`, shows: true}}
	case "GET /otlp/v1/traces": // tells collectors that it is there
		return []attempt{{}}
	case "GET /traces/:trace_id", "GET /tracing/traces/:trace_id", "GET /spans/:trace_id/:span_id":
		return []attempt{{shows: true}}
	case "GET /simple/traces/:trace_id", "GET /annotations/:trace_id", "GET /invocations/:trace_id":
		return []attempt{{}}
	case "DELETE /traces/:trace_id", "DELETE /tracing/traces/:trace_id", "DELETE /simple/traces/:trace_id", "DELETE /annotations/:trace_id", "DELETE /invocations/:trace_id":
		return []attempt{{}}
	case "POST /spans/analytics/query", "POST /tracing/analytics/query":
		return []attempt{{body: `{` + windows + `}`}, analytics}
	case "POST /tracing/spans/analytics":
		return []attempt{{body: `{` + windows + `}`}}
	case "POST /spans/sessions/query", "POST /spans/users/query", "POST /tracing/sessions/query", "POST /tracing/users/query":
		return []attempt{{body: `{}`, shows: true}, {body: `{"realtime":true}`, shows: true}}
	case "POST /traces/":
		return []attempt{{body: `{"trace":{"trace_id":"{only}","spans":{"ours":` + span + `}}}`}}
	case "PUT /traces/:trace_id":
		return []attempt{{body: `{"trace":{"trace_id":"{path}","spans":{"ours":` + span + `}}}`}}
	case "POST /traces/ingest":
		return []attempt{{body: `{"traces":[{"trace_id":"{only}","spans":{"ours":` + span + `}}]}`}}
	case "POST /tracing/spans/ingest", "POST /tracing/traces/":
		return []attempt{{body: `{"traces":{"{only}":{"spans":{"ours":` + span + `}}}}`}}
	case "PUT /tracing/traces/:trace_id":
		return []attempt{{body: `{"traces":{"{path}":{"spans":{"ours":` + span + `}}}}`}}
	case "POST /otlp/v1/traces", "POST /v1/traces", "POST /public/otel/v1/traces":
		return []attempt{{body: otlp}}
	case "POST /otlp/v1/metrics", "POST /v1/metrics", "POST /public/otel/v1/metrics":
		return []attempt{{body: `{"resourceMetrics":[]}`}}
	case "POST /otlp/v1/logs", "POST /v1/logs", "POST /public/otel/v1/logs":
		return []attempt{{body: `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"{only}","spanId":"{span}","eventName":"gen_ai.choice","body":{"stringValue":"ours"}}]}]}]}`}}
	case "POST /public/scores":
		return []attempt{{body: `{"traceId":"{only}","observationId":"{span}","name":"{evaluator}","value":1}`}}
	case "POST /public/ingestion":
		return []attempt{{body: `{"batch":[{"id":"1","type":"score-create","body":{"traceId":"{only}","name":"ours","value":1}}]}`}}
	case "GET /public/projects":
		return []attempt{{}}
	case "POST /simple/traces/":
		return []attempt{{body: `{"trace":{` + simple + `}}`}}
	case "POST /annotations/":
		return []attempt{{body: `{"annotation":{` + simple + `}}`}}
	case "POST /invocations/":
		return []attempt{{body: `{"invocation":{` + simple + `}}`}}
	case "PATCH /simple/traces/:trace_id":
		return []attempt{{body: `{"trace":{` + edit + `}}`}}
	case "PATCH /annotations/:trace_id":
		return []attempt{{body: `{"annotation":{` + edit + `}}`}}
	case "PATCH /invocations/:trace_id":
		return []attempt{{body: `{"invocation":{` + edit + `}}`}}
	case "GET /secrets/", "GET /secrets/:name":
		return []attempt{{shows: true}}
	case "POST /secrets/":
		return []attempt{{body: `{"secret":{"kind":"provider_key","data":{"kind":"openai","provider":{"key":"ours"}}}}`}}
	case "PUT /secrets/:name":
		return []attempt{{body: `{"secret":{"value":"ours","description":"ours"}}`}}
	case "DELETE /secrets/:name":
		return []attempt{{}}
	case "POST /services/invoke", "POST /services/inspect", "POST /services/:key/:version/invoke", "POST /services/:key/:version/inspect":
		return []attempt{
			{body: `{"references":{"application":{"id":"{application}"}},"data":{"inputs":{}}}`, refused: true},
			{body: `{"references":{"application_revision":{"id":"{application_revision}"}},"data":{"inputs":{}}}`, refused: true},
			{body: `{"references":{"environment":{"id":"{application}"},"application":{"id":"{application}"}},"data":{"inputs":{}}}`, refused: true},
		}
	case "POST /simple/evaluations/run":
		return []attempt{
			{body: `{"evaluation":{"application_ref":{"id":"{application}"},"evaluator_refs":[{"id":"{evaluator}"}],"testcases":[{"data":{}}]}}`, refused: true},
			{body: `{"evaluation":{"application_revision_ref":{"id":"{application_revision}"},"evaluator_refs":[],"testcases":[{"data":{}}]}}`, refused: true},
		}
	case "GET /simple/evaluations/:evaluation_id", "GET /simple/queues/:queue_id":
		return []attempt{{shows: true}}
	case "POST /simple/evaluations/query":
		return []attempt{{body: `{}`, shows: true}, {body: `{"evaluation":{"ids":["{evaluation}"]}}`, shows: true}, {body: `{"evaluation":{"references":[{"evaluator":{"id":"{evaluator}"}}]}}`}}
	case "POST /simple/queues/query":
		return []attempt{{body: `{}`, shows: true}, {body: `{"queue":{"kind":"testcases"}}`, shows: true}, {body: `{"queue":{"queue_ids":["{queue}"]}}`, shows: true}, {body: `{"queue":{"run_id":"{queue_run}"}}`, shows: true}}
	case "POST /simple/queues/:queue_id/scenarios/query":
		return []attempt{{body: `{}`}, {body: `{"scenario":{"ids":["{scenario}"]}}`}}
	case "POST /simple/evaluations/":
		return []attempt{
			{body: `{"evaluation":{"data":{"evaluator_steps":["{evaluator}"]}}}`, refused: true},
			{body: `{"evaluation":{"data":{"query_steps":["{query_revision}"]}}}`, refused: true},
			{body: `{"evaluation":{"data":{"application_steps":{"{application_revision}":"auto"}}}}`, refused: true},
		}
	case "POST /simple/queues/":
		return []attempt{{body: `{"queue":{"data":{"kind":"traces","evaluators":["{evaluator}"]}}}`, refused: true}}
	case "DELETE /simple/queues/:queue_id":
		return []attempt{{}}
	case "DELETE /simple/queues/":
		return []attempt{{body: `{"queue_ids":["{queue}"]}`}}
	case "POST /simple/queues/:queue_id/traces/":
		return []attempt{{body: `{"trace_ids":["{only}"]}`}}
	case "POST /simple/queues/:queue_id/testcases/":
		return []attempt{{body: `{"testcase_ids":["{evaluation}"]}`}}
	case "PATCH /simple/evaluations/:evaluation_id":
		return []attempt{{body: `{"evaluation":{"id":"{evaluation}","name":"ours"}}`}, {body: `{"evaluation":{"id":"{evaluation}","data":{"evaluator_steps":[]}}}`}}
	case "POST /simple/evaluations/:evaluation_id/start", "POST /simple/evaluations/:evaluation_id/stop", "POST /simple/evaluations/:evaluation_id/close",
		"POST /simple/evaluations/:evaluation_id/open", "DELETE /simple/evaluations/:evaluation_id":
		return []attempt{{}}
	case "POST /simple/evaluations/:evaluation_id/probe", "POST /simple/evaluations/:evaluation_id/process", "POST /simple/evaluations/:evaluation_id/prune", "POST /simple/evaluations/:evaluation_id/refresh":
		return []attempt{{body: `{}`}, {body: `{"scenario_ids":["{scenario}"]}`}}
	case "POST /simple/evaluations/:evaluation_id/populate":
		return []attempt{{body: `{"results":[{"run_id":"{evaluation}","scenario_id":"{scenario}","step_key":"ours"}]}`, refused: true}}
	case "POST /simple/evaluations/:evaluation_id/steps/add":
		return []attempt{{body: `{"steps":[{"key":"ours","type":"input","origin":"custom","references":{}}]}`}}
	case "POST /simple/evaluations/:evaluation_id/steps/remove":
		return []attempt{{body: `{"step_keys":["ours"]}`}}
	case "POST /simple/evaluations/:evaluation_id/scenarios/add":
		return []attempt{{body: `{"count":1}`, refused: true}}
	case "POST /simple/evaluations/:evaluation_id/scenarios/remove":
		return []attempt{{body: `{"scenario_ids":["{scenario}"]}`, refused: true}}
	case "POST /simple/evaluations/:evaluation_id/repeats", "POST /simple/evaluations/:evaluation_id/repeats/set":
		return []attempt{{body: `{"repeats":2}`}}
	case "POST /simple/traces/query":
		return simpleQueries("trace", "links")
	case "POST /annotations/query":
		return simpleQueries("annotation", "annotation_links")
	case "POST /invocations/query":
		return simpleQueries("invocation", "invocation_links")
	}
	return nil
}

// elsewhere names the test that shows how a route keeps projects apart, where it is not this one.
func elsewhere(op domain.Operation) string {
	if op.Permission == domain.Public || op.Permission == domain.Admin {
		return "TestEveryRouteAsksWhoCalls" // no project is at hand
	}
	for _, f := range entity.Families() {
		if op.Tag == f.Plural {
			return "entities.TestProjectsAreIsolated"
		}
	}
	switch op.Path {
	case "/projects/current/retention":
		return "TestRetention"
	case "/projects/current/usage":
		return "TestQuotas"
	}
	switch op.Tag {
	case "keys", "projects", "profile", "access", "organizations", "workspaces", "folders", "testcases":
		return "entities.TestProjectsAreIsolated"
	}
	if strings.HasPrefix(op.Path, "/auth/session") || strings.HasPrefix(op.Path, "/auth/console") {
		return "TestBrowserSessionOfTwoProjects"
	}
	if op.Path == "/auth/links" {
		return "TestConsoleLink"
	}
	if strings.HasPrefix(op.Path, "/sql/") {
		return "sql.TestRunner"
	}
	if op.Path == "/audit/query" {
		return "TestAuditLog"
	}
	if op.Path == "/spans/tail" {
		return "TestLiveTail"
	}
	if strings.HasPrefix(op.Path, "/evaluations/") {
		return "entities.TestProjectsAreIsolated"
	}
	return ""
}

// TestTracesOfProjectsAreApart walks the table of routes with two projects
// whose traces, spans and links have equal ids: whatever one sends, with ids
// that both have or that only the other has, it sees nothing of the other's,
// and the other's stays as it was.
func TestTracesOfProjectsAreApart(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_SINK_FINALIZE_AFTER=500ms", "COLONNADE_SINK_FINALIZE_EVERY=100ms", "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32))
	for _, op := range s.Server.Operations() {
		assert.NotEmpty(t, elsewhere(op)+strings.Repeat("x", len(attempts(op))), "%s %s is not covered: say in attempts or elsewhere how it keeps projects apart", op.Method, op.Path)
	}
	shared := newTraceID()
	s.fill(t, "ours owner", "ours", shared, newTraceID())
	s.finalized(t, "ours")
	before := s.figures("ours owner")
	ids := s.fill(t, "theirs owner", secret, shared, newTraceID())
	s.finalized(t, "theirs")
	require.Equal(t, before, s.figures("ours owner"), "what the other one wrote counts nowhere")
	theirs := s.everythingOf(t, "theirs owner", ids)

	tried := 0
	for _, mutates := range []bool{false, true} { // looking first: what is deleted is not looked at
		for _, op := range s.Server.Operations() {
			list := attempts(op)
			name := op.Method + " " + op.Path
			if mutates != changes(op) {
				continue
			}
			for _, a := range list {
				for _, id := range []string{ids["only"], shared, ids["annotation"]} {
					path := ids.in(strings.NewReplacer(":trace_id", id, ":span_id", ids["span"], ":name", "shared", ":key", "completion", ":version", "v0", ":evaluation_id", ids["evaluation"], ":queue_id", ids["queue"]).Replace(op.Path) + a.query)
					body := ids.in(strings.ReplaceAll(a.body, "{path}", id))
					if a.shows && id == ids["only"] {
						r := s.as("theirs owner", op.Method, path, body)
						require.Equal(t, http.StatusOK, r.Code, "%s %s", name, r.Text)
						require.Contains(t, r.Text, secret, "%s %s: the owner sees it", name, body)
					}
					r := s.as("ours owner", op.Method, path, body)
					require.Less(t, r.Code, 500, "%s %s %s", name, body, r.Text)
					require.True(t, !a.refused || r.Code >= 400, "%s %s %s", name, body, r.Text)
					if r.at("detail") == nil {
						require.NotContains(t, r.Text, secret, "%s %s", name, body)
						require.NotContains(t, r.Text, s.accounts["theirs"].Project.ID.String(), "%s %s", name, body)
						require.NotContains(t, r.Text, s.accounts["theirs"].User.ID.String(), "%s %s", name, body)
					}
					tried++
					if !strings.Contains(op.Path, ":trace_id") {
						break
					}
				}
			}
		}
	}
	require.Greater(t, tried, 100)
	require.Equal(t, theirs, s.everythingOf(t, "theirs owner", ids), "nothing of the other project changed")
}

// changes tells whether a route does more than look.
func changes(op domain.Operation) bool {
	switch op.Permission {
	case domain.AddSpans, domain.EditSpans, domain.EditTraces, domain.EditSecrets, domain.RunService, domain.RunEvaluations, domain.EditEvaluations, domain.AnnotateEvaluations:
		return true
	default:
		return false
	}
}

// names are ids by the names that attempts give them.
type names map[string]string

func (n names) in(text string) string {
	for name, id := range n {
		text = strings.ReplaceAll(text, "{"+name+"}", id)
	}
	return text
}

// fill gives a project traces of these ids with a word of its own everywhere,
// an annotation with its evaluator, an application and a saved query.
func (s *service) fill(t *testing.T, who, word, shared, only string) names {
	t.Helper()
	n := names{"shared": shared, "only": only, "span": "1000000000000001"}
	call := func(status int, method, path, body string) reply {
		r := s.as(who, method, path, body)
		require.Equal(t, status, r.Code, "%s: %s", path, r.Text)
		return r
	}
	get := func(r reply, keys ...string) string {
		v, _ := r.at(keys...).(string)
		require.NotEmpty(t, v, r.Text)
		return v
	}
	r := call(http.StatusOK, "POST", "/simple/applications/", `{"application":{"slug":"`+word+`-app","data":{"uri":"svc:builtin:completion:v0"}}}`)
	n["application"], n["application_revision"] = get(r, "application", "id"), get(r, "application", "revision_id")
	call(http.StatusOK, "PUT", "/secrets/shared", `{"secret":{"value":"`+word+`-value","description":"`+word+`"}}`)
	r = call(http.StatusOK, "POST", "/simple/queries/", `{"query":{"slug":"`+word+`-query","data":{"filtering":{"conditions":[{"field":"span_id","value":"1000000000000001"}]}}}}`)
	n["query"], n["query_variant"], n["query_revision"] = get(r, "query", "id"), get(r, "query", "variant_id"), get(r, "query", "revision_id")
	r = call(http.StatusOK, "POST", "/simple/evaluators/", `{"evaluator":{"slug":"`+word+`-judge","data":{"uri":"svc:custom:feedback:v0"}}}`)
	n["evaluator"] = get(r, "evaluator", "id")
	evaluator := get(r, "evaluator", "revision_id")
	r = call(http.StatusOK, "POST", "/simple/evaluations/", `{"evaluation":{"name":"`+word+`","flags":{"is_active":false},"data":{"query_steps":["`+n["query_revision"]+`"],"evaluator_steps":{"`+evaluator+`":"human"}}}}`)
	n["evaluation"] = get(r, "evaluation", "id")
	scenarios, _ := call(http.StatusOK, "POST", "/simple/evaluations/"+n["evaluation"]+"/scenarios/add", `{"count":1}`).at("scenarios").([]any)
	n["scenario"], _ = at(scenarios[0], "id").(string)
	r = call(http.StatusOK, "POST", "/simple/queues/", `{"queue":{"name":"`+word+`","data":{"kind":"testcases","evaluators":["`+evaluator+`"]}}}`)
	n["queue"], n["queue_run"] = get(r, "queue", "id"), get(r, "queue", "run_id")
	for i, id := range []string{shared, only} {
		call(http.StatusAccepted, "POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%[1]q,"spans":{"%[2]s":{"span_id":"1000000000000001","start_time":"2026-11-01T10:0%[3]d:00Z","end_time":"2026-11-01T10:0%[3]d:01Z",
			"links":[{"trace_id":%[4]q,"span_id":"1000000000000001"}],"references":[{"id":%[5]q,"slug":"%[2]s-judge","attributes":{"key":"evaluator"}}],
			"attributes":{"ag":{"session":{"id":"%[2]s-session"},"user":{"id":"%[2]s-user"},"type":{"span":"chat"},"meta":{"word":"%[2]s","response":{"model":"%[2]s"}},"data":{"inputs":{"text":"%[2]s"},"outputs":"%[2]s"},"metrics":{"tokens":{"incremental":{"prompt":10,"total":10}}}}}}}}}`,
			id, word, i, only, n["evaluator"]))
	}
	r = call(http.StatusOK, "POST", "/annotations/", `{"annotation":{"data":{"outputs":{"note":"`+word+`"}},"references":{"evaluator":{"id":"`+n["evaluator"]+`"}},"links":{"invocation":{"trace_id":"`+only+`","span_id":"1000000000000001"}}}}`)
	n["annotation"], n["annotation_span"] = get(r, "annotation", "trace_id"), get(r, "annotation", "span_id")
	call(http.StatusOK, "POST", "/invocations/", `{"invocation":{"data":{"inputs":{"note":"`+word+`"},"outputs":"`+word+`"},"references":{"application":{"id":"`+n["application"]+`"}},"links":null}}`)
	return n
}

// finalized waits until the totals of a project's four traces are there: they change what reads show.
func (s *service) finalized(t *testing.T, account string) {
	t.Helper()
	project := s.accounts[account].Project.ID
	eventually(t, account+" is finalized", func() bool {
		var n uint64
		require.NoError(t, s.Stores.ClickHouse.QueryRow(t.Context(), "SELECT uniqExact(trace_id) FROM trace_totals WHERE project_id = ?", project.String()).Scan(&n))
		return n == 4
	})
}

// figures returns the counts and sums that the API returns to a project.
func (s *service) figures(who string) []string {
	s.t.Helper()
	var out []string
	const windows = `{"oldest":"2026-10-01T00:00:00Z","newest":"2026-12-01T00:00:00Z"}`
	for path, body := range map[string]string{
		"/spans/analytics/query": windows, "/tracing/analytics/query": windows, "/tracing/spans/analytics": windows,
		"/spans/sessions/query": `{}`, "/spans/users/query": `{}`, "/traces/query": `{}`, "/spans/query": `{}`,
	} {
		r := s.as(who, "POST", path, body)
		require.Equal(s.t, http.StatusOK, r.Code, r.Text)
		out = append(out, path+" "+r.Text)
	}
	slices.Sort(out)
	return out
}

// everythingOf is a project as its owner sees it.
func (s *service) everythingOf(t *testing.T, who string, n names) []string {
	t.Helper()
	out := s.figures(who)
	for _, path := range []string{"/traces/{only}", "/traces/{shared}", "/annotations/{annotation}", "/simple/applications/{application}", "/simple/queries/{query}", "/simple/evaluators/{evaluator}", "/keys/", "/secrets/"} {
		r := s.as(who, "GET", n.in(path), "")
		require.Equal(t, http.StatusOK, r.Code, r.Text)
		out = append(out, r.Text)
	}
	for _, table := range s.projectTables(t) {
		var rows string
		require.NoError(t, s.Stores.Postgres.QueryRow(t.Context(), `SELECT coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '') FROM `+table+` t WHERE project_id = $1`, uuid.UUID(s.accounts["theirs"].Project.ID)).Scan(&rows))
		out = append(out, rows)
	}
	return out
}
