//go:build embedded

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// judge makes an evaluator and gives its revision's id.
func (s *service) judge(slug, data string) string {
	s.t.Helper()
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluators/", `{"evaluator":{"slug":"`+slug+`","data":`+data+`}}`)
	id, _ := made.at("evaluator", "revision_id").(string)
	require.NotEmpty(s.t, id, made.Text)
	return id
}

// subject makes an application and gives its revision's id.
func (s *service) subject(slug, data string) string {
	s.t.Helper()
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", `{"application":{"slug":"`+slug+`","flags":{"is_application":true},"data":`+data+`}}`)
	id, _ := made.at("application", "revision_id").(string)
	require.NotEmpty(s.t, id, made.Text)
	return id
}

// spansOf are all spans that a filter finds once the token is visible.
func (s *service) spansOf(conditions, token string) []map[string]any {
	s.t.Helper()
	got := s.as("ours owner", http.MethodPost, "/spans/query", `{"filtering":{"conditions":[`+conditions+`]},"windowing":{"limit":1000}}`, "Colonnade-Token", token)
	require.Equal(s.t, http.StatusOK, got.Code, got.Text)
	require.Empty(s.t, got.Header.Get("Colonnade-Token-Pending"))
	list, _ := got.Body["spans"].([]any)
	spans := make([]map[string]any, len(list))
	for i, span := range list {
		spans[i] = span.(map[string]any)
	}
	return spans
}

func ref(id string) string { return `{"id":"` + id + `"}` }

const scripted = `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function evaluate(inputs, outputs) { return {score: outputs.length / 10, long: outputs.length > 4} }",
	"schemas":{"outputs":{"type":"object","properties":{"score":{"type":"number"},"long":{"type":"boolean"}},"required":["score","long"],"additionalProperties":false}}}`

// Interface.md §1: "Evaluations tie these together. Each run invokes a subject
// (an application revision) over a testset. Every invocation yields an
// invocation trace. Every evaluator execution yields an annotation trace
// linked to the invocation it scored. Evaluation scenarios reference both trace
// IDs through their links. One run leaves one invocation trace per (testcase x
// subject) and one annotation trace per (testcase x evaluator)."
func TestEvaluationsTieTheseTogether(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newService(t, p.settings()...)
	capitals := s.subject("capitals", `{"uri":"svc:builtin:completion:v0","parameters":{"prompt":{"messages":[{"role":"user","content":"What is the capital of {{country}}?"}],
		"template_format":"mustache","llm_config":{"model":"gpt-4o-mini"}}}}`)
	exact := s.judge("exact", `{"uri":"svc:builtin:auto_exact_match:v0","parameters":{"correct_answer_key":"correct_answer"}}`)
	length := s.judge("length", scripted)
	known := uuid.Must(uuid.NewV7()).String()

	run := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/run", `{"evaluation":{"application_revision_ref":`+ref(capitals)+`,
		"evaluator_revision_refs":[`+ref(exact)+`,`+ref(length)+`],"concurrency":2,"tags":{"team":"maps"},"testcases":[
		{"id":"`+known+`","data":{"country":"France","correct_answer":"Paris"}},
		{"data":{"country":"Germany","correct_answer":"Berlin"}},
		{"data":{"country":"Italy","correct_answer":"Rome"}}]}}`)
	require.Equal(t, "success", run.at("evaluation", "status"), run.Text)
	require.Equal(t, capitals, run.at("evaluation", "references", "application_revision", "id"))
	token := run.Header.Get("Colonnade-Token")
	require.NotContains(t, token, ":", "a token does not show positions in Kafka")
	require.NotContains(t, run.at("token"), ":")
	id, _ := run.at("evaluation", "id").(string)
	scenarios, _ := run.at("evaluation", "scenarios").([]any)
	require.Len(t, scenarios, 3)

	// One invocation trace for each testcase, one annotation trace for each
	// testcase and evaluator, and nothing else: seen with the final token.
	ofRun := `{"field":"attributes","key":"ag.meta.evaluation.run_id","operator":"is","value":"` + id + `"}`
	spans := map[string]map[string]any{}
	for _, span := range s.spansOf(ofRun, token) {
		spans[span["trace_id"].(string)+span["span_id"].(string)] = span
	}
	require.Len(t, spans, 3+3*2)

	for i, scenario := range scenarios {
		require.Equal(t, "success", at(scenario, "status"))
		require.InDelta(t, i, at(scenario, "index"), 0)
		if i == 0 {
			require.Equal(t, known, at(scenario, "testcase_id"))
		}
		links, _ := at(scenario, "links").(map[string]any)
		require.ElementsMatch(t, []string{"invocation", "exact", "length"}, keysOf(links))

		invocation := spans[at(links, "invocation", "trace_id").(string)+at(links, "invocation", "span_id").(string)]
		require.NotNil(t, invocation)
		require.Equal(t, "invocation", at(invocation, "trace_type"))
		require.Equal(t, "workflow", at(invocation, "span_type"))
		require.Equal(t, "Paris", at(invocation, "attributes", "ag", "data", "outputs"))
		require.Equal(t, capitals, at(invocation, "attributes", "ag", "references", "application_revision", "id"))
		require.Equal(t, at(scenario, "testcase_id"), at(invocation, "attributes", "ag", "references", "testcase", "id"))
		require.Equal(t, true, at(invocation, "attributes", "ag", "flags", "is_evaluation"))

		for _, judge := range []struct {
			slug, revision string
			outputs        map[string]any
		}{
			{"exact", exact, map[string]any{"success": i == 0}},
			{"length", length, map[string]any{"score": 0.5, "long": true}},
		} {
			annotation := spans[at(links, judge.slug, "trace_id").(string)+at(links, judge.slug, "span_id").(string)]
			require.NotNil(t, annotation)
			require.Equal(t, "annotation", at(annotation, "trace_type"))
			require.Empty(t, cmp.Diff(judge.outputs, at(annotation, "attributes", "ag", "data", "outputs")))
			require.Equal(t, judge.revision, at(annotation, "attributes", "ag", "references", "evaluator_revision", "id"))
			require.Equal(t, capitals, at(annotation, "attributes", "ag", "references", "application_revision", "id"))
			require.Equal(t, at(scenario, "testcase_id"), at(annotation, "attributes", "ag", "references", "testcase", "id"))
			link, _ := at(annotation, "links").([]any)
			require.Len(t, link, 1)
			require.Equal(t, at(links, "invocation", "trace_id"), at(link[0], "trace_id"))
			require.Equal(t, at(links, "invocation", "span_id"), at(link[0], "span_id"))
			require.Equal(t, "invocation", at(link[0], "attributes", "key"))
		}
	}
	verdicts, _ := at(scenarios[1], "annotations").([]any)
	require.Equal(t, false, at(verdicts[0], "success"))
	require.InDelta(t, 0.5, at(verdicts[1], "score"), 0)
}

func keysOf(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// An evaluator is invoked over an invocation by its link alone: what is judged
// is read from the store, and the annotation's outputs fit the evaluator's schema.
func TestEvaluatorOverALink(t *testing.T) {
	t.Parallel()
	s := newService(t)
	application := s.subject("echo", `{"uri":"svc:custom:mock:v0","parameters":{"key":"static","kwargs":{"output":"Paris"}}}`)
	invoked := s.ok(http.StatusOK, http.MethodPost, "/services/mock/v0/invoke", `{"data":{"inputs":{"correct_answer":"Paris","country":"France"}},"references":{"application_revision":`+ref(application)+`}}`)
	token := invoked.Header.Get("Colonnade-Token")
	link := fmt.Sprintf(`{"invocation":{"trace_id":%q,"span_id":%q}}`, invoked.at("trace_id"), invoked.at("span_id"))
	length := s.judge("length", scripted)
	exact := s.judge("exact", `{"uri":"svc:builtin:auto_exact_match:v0","parameters":{"correct_answer_key":"correct_answer"}}`)
	wrong := s.judge("wrong", strings.Replace(scripted, "score: outputs.length / 10", "score: 'none'", 1))

	judge := func(revision, links string) reply {
		return s.as("ours owner", http.MethodPost, "/services/invoke", `{"references":{"evaluator_revision":`+ref(revision)+`},"links":`+links+`}`, "Colonnade-Token", token)
	}
	judged := judge(length, link)
	require.Equal(t, http.StatusOK, judged.Code, judged.Text)
	require.Empty(t, cmp.Diff(map[string]any{"score": 0.5, "long": true}, judged.at("outputs")))
	annotation := s.traceOf(judged)["length"]
	require.Equal(t, "annotation", at(annotation, "trace_type"))
	require.Equal(t, length, at(annotation, "attributes", "ag", "references", "evaluator_revision", "id"))
	links, _ := at(annotation, "links").([]any)
	require.Equal(t, invoked.at("trace_id"), at(links[0], "trace_id"))

	// Its inputs are the invocation's, where the right answer stands.
	judged = judge(exact, link)
	require.Equal(t, http.StatusOK, judged.Code, judged.Text)
	require.Empty(t, cmp.Diff(map[string]any{"success": true}, judged.at("outputs")))

	// What does not fit the schema is no annotation, but a failed trace.
	judged = judge(wrong, link)
	require.Equal(t, http.StatusBadRequest, judged.Code, judged.Text)
	require.Contains(t, judged.Text, "do not fit its schema")
	failed := s.traceOf(judged)["wrong"]
	require.Equal(t, "STATUS_CODE_ERROR", at(failed, "status_code"))
	require.Nil(t, at(failed, "attributes", "ag", "data", "outputs"))

	// A link to nothing judges nothing.
	judged = judge(exact, `{"invocation":{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"}}`)
	require.Equal(t, http.StatusBadRequest, judged.Code, judged.Text)
	require.Contains(t, judged.Text, "nothing to judge")
}

// A run tells each outcome as it comes, goes on after failures, and says which.
func TestEvaluationStreams(t *testing.T) {
	t.Parallel()
	s := newService(t)
	flaky := s.subject("flaky", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function main(inputs) { if (inputs.n === 1) throw new Error('one'); return {n: inputs.n} }"}`)
	s.judge("reflect", `{"uri":"svc:custom:mock:v0","parameters":{"key":"reflect"}}`)
	fails := s.judge("fails", `{"uri":"svc:custom:mock:v0","parameters":{"key":"error","kwargs":{"message":"boom"}}}`)
	body := `{"evaluation":{"application_revision_ref":` + ref(flaky) + `,"evaluator_refs":[{"slug":"reflect"}],"evaluator_revision_refs":[` + ref(fails) + `],
		"testcases":[{"data":{"n":0}},{"data":{"n":1}},{"data":{"n":2}}]}}`
	for _, media := range []string{"text/event-stream", "application/x-ndjson"} {
		got := s.as("ours owner", http.MethodPost, "/simple/evaluations/run", body, "Accept", media)
		require.Equal(t, http.StatusOK, got.Code, got.Text)
		require.Equal(t, media, got.Header.Get("Content-Type"))
		var events []map[string]any
		for line := range strings.SplitSeq(strings.TrimSpace(got.Text), "\n") {
			if line == "" {
				continue
			}
			if media == "text/event-stream" {
				var ok bool
				line, ok = strings.CutPrefix(line, "data: ")
				require.True(t, ok, line)
			}
			var event map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &event), line)
			events = append(events, event)
		}
		// started, three invocations, two annotations for each of the two that answered, done.
		require.Len(t, events, 1+3+2*2+1, got.Text)
		require.Equal(t, "started", events[0]["type"])
		require.InDelta(t, 3, events[0]["testcases"], 0)
		byType := map[any]int{}
		for _, event := range events {
			byType[event["type"]]++
			if event["type"] == "annotation" && event["evaluator"] == "reflect" {
				require.Empty(t, cmp.Diff(map[string]any{"score": 1.0, "success": true}, event["outputs"]))
			}
		}
		require.Equal(t, map[any]int{"started": 1, "invocation": 3, "annotation": 4, "done": 1}, byType)

		done := events[len(events)-1]
		require.Equal(t, "errors", at(done, "evaluation", "status"))
		token, _ := done["token"].(string)
		id, _ := at(done, "evaluation", "id").(string)
		scenarios := at(done, "evaluation", "scenarios").([]any)
		require.Contains(t, at(scenarios[1], "invocation", "status", "message"), "Error: one")
		require.Empty(t, at(scenarios[1], "annotations"))
		for _, i := range []int{0, 2} {
			verdicts := at(scenarios[i], "annotations").([]any)
			require.Equal(t, true, at(verdicts[0], "success"))
			require.InDelta(t, http.StatusInternalServerError, at(verdicts[1], "status", "code"), 0)
			require.Contains(t, at(verdicts[1], "status", "message"), "boom")
		}
		// Failures left their traces, too.
		require.Len(t, s.spansOf(`{"field":"attributes","key":"ag.meta.evaluation.run_id","operator":"is","value":"`+id+`"}`, token), 3+4)
	}
}

// leaver is a client that goes away once it has seen a word.
type leaver struct {
	*httptest.ResponseRecorder
	word  string
	leave func()
}

func (l leaver) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.word) {
		l.leave()
	}
	return l.ResponseRecorder.Write(p)
}

// A run ends with its caller: what is under way is stopped, what is done stays.
func TestEvaluationEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_INVOKE_SANDBOX_CPU=10m", "COLONNADE_INVOKE_SANDBOX_TIMEOUT=10m")
	endless := s.subject("endless", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function main(inputs) { while (inputs.n > 0) {} return inputs }"}`)
	s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := `{"evaluation":{"application_revision_ref":` + ref(endless) + `,"evaluator_refs":[{"slug":"pass"}],"concurrency":1,"testcases":[{"data":{"n":0}},{"data":{"n":1}},{"data":{"n":2}}]}}`
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/simple/evaluations/run", strings.NewReader(body))
	r.Header.Set("Authorization", "ApiKey "+s.keys["ours owner"])
	r.Header.Set("Accept", "application/x-ndjson")
	w := leaver{httptest.NewRecorder(), `"annotation"`, cancel}
	s.Server.Handler().ServeHTTP(w, r) // it comes back although two testcases would never

	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	var last map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.Equal(t, "error", last["type"], w.Body.String())
	scenarios := at(last, "evaluation", "scenarios").([]any)
	require.Equal(t, "success", at(scenarios[0], "status"))
	require.Equal(t, "Not run", at(scenarios[2], "invocation", "status", "message"))
	token, _ := last["token"].(string)
	id, _ := at(last, "evaluation", "id").(string)
	done := 0
	for _, span := range s.spansOf(`{"field":"attributes","key":"ag.meta.evaluation.run_id","operator":"is","value":"`+id+`"}`, token) {
		if at(span, "status_code") == "STATUS_CODE_OK" {
			done++
		}
	}
	require.Equal(t, 2, done)
}

func TestEvaluationRefusesWhatCannotRun(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_EVALUATE_MAX_TESTCASES=2", "COLONNADE_EVALUATE_MAX_EVALUATORS=1")
	application := s.subject("echo", `{"uri":"svc:custom:mock:v0","parameters":{"key":"echo"}}`)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0"}`)
	request := func(evaluators, testcases, more string) string {
		return `{"evaluation":{"application_revision_ref":` + ref(application) + `,"evaluator_revision_refs":[` + evaluators + `],"testcases":[` + testcases + `]` + more + `}}`
	}
	const row = `{"data":{"a":1}}`
	for _, tt := range []struct {
		name, body string
		code       int
		words      string
	}{
		{"no testcases", request(ref(pass), ``, ``), http.StatusBadRequest, "at least one testcase"},
		{"no evaluators", request(``, row, ``), http.StatusBadRequest, "at least one evaluator"},
		{"too many testcases", request(ref(pass), row+","+row+","+row, ``), http.StatusBadRequest, "at most 2 testcases, not 3"},
		{"too many evaluators", request(ref(pass)+","+ref(pass), row, ``), http.StatusBadRequest, "at most 1 evaluators, not 2"},
		{"too many at a time", request(ref(pass), row, `,"concurrency":1000`), http.StatusBadRequest, "at a time"},
		{"an evaluator that is people", request(ref(people), row, ``), http.StatusBadRequest, "cannot be run"},
		{"an evaluator that is not there", request(ref(application), row, ``), http.StatusNotFound, "no such evaluator"},
		{"a testcase without data", request(ref(pass), `{}`, ``), http.StatusUnprocessableEntity, `"testcases",0,"data"`},
		{"an unknown member", request(ref(pass), row, `,"more":1`), http.StatusUnprocessableEntity, "extra_forbidden"},
		{"no evaluation", `{}`, http.StatusUnprocessableEntity, `"evaluation"`},
	} {
		got := s.do(http.MethodPost, "/simple/evaluations/run", tt.body)
		require.Equal(t, tt.code, got.Code, "%s: %s", tt.name, got.Text)
		require.Contains(t, got.Text, tt.words, tt.name)
	}
	got := s.as("ours viewer", http.MethodPost, "/simple/evaluations/run", request(ref(pass), row, ``))
	require.Equal(t, http.StatusForbidden, got.Code, got.Text)
	got = s.as("theirs owner", http.MethodPost, "/simple/evaluations/run", request(ref(pass), row, ``))
	require.Equal(t, http.StatusNotFound, got.Code, got.Text)
	got = s.as("ours owner", http.MethodPost, "/simple/evaluations/run", request(ref(pass), row, ``), "Accept", "text/html")
	require.Equal(t, http.StatusNotAcceptable, got.Code, got.Text)
}
