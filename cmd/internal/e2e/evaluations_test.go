//go:build embedded

package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// evaluated is a run whose results are traces that are really there.
type evaluated struct {
	run, scenario string
	token         string
	applications  []string // the traces of the invocation step
	judged        []string // the traces of the annotation step
}

// idsIn are the strings at a member of a list of records.
func idsIn(t testing.TB, list any, member string) []string {
	t.Helper()
	records, _ := list.([]any)
	out := make([]string, len(records))
	for i, r := range records {
		out[i], _ = at(r, member).(string)
		require.NotEmpty(t, out[i], "%v", r)
	}
	return out
}

// evaluated runs an application over testcases by the batch, whose judge is a
// script, and writes down as a client does what came of it: a run, scenarios,
// results.
func (s *service) evaluated(t testing.TB, subject, judge string) evaluated {
	t.Helper()
	batch := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/run", `{"evaluation":{"application_revision_ref":`+ref(subject)+`,"evaluator_revision_refs":[`+ref(judge)+`],
		"testcases":[{"data":{"word":"ab"}},{"data":{"word":"abcdef"}},{"data":{"word":"abcd"}}]}}`)
	out := evaluated{token: batch.Header.Get("Colonnade-Token")}
	require.NotEmpty(t, out.token)
	made := s.ok(http.StatusOK, http.MethodPost, "/evaluations/runs/", `{"runs":[{"name":"words","status":"running","data":{"steps":[
		{"key":"testcases","type":"input","origin":"custom","references":{}},
		{"key":"application","type":"invocation","origin":"custom","references":{"application_revision":`+ref(subject)+`},"inputs":[{"key":"testcases"}]},
		{"key":"judge","type":"annotation","origin":"custom","references":{"evaluator_revision":`+ref(judge)+`},"inputs":[{"key":"application"}]},
		{"key":"nobody","type":"annotation","origin":"human","references":{},"inputs":[{"key":"application"}]}]}}]}`)
	out.run = idsIn(t, made.at("runs"), "id")[0]
	scenarios, _ := batch.at("evaluation", "scenarios").([]any)
	drafts := strings.TrimSuffix(strings.Repeat(`{"run_id":"`+out.run+`","status":"success"},`, len(scenarios)), ",")
	ids := idsIn(t, s.ok(http.StatusOK, http.MethodPost, "/evaluations/scenarios/", `{"scenarios":[`+drafts+`]}`).at("scenarios"), "id")
	out.scenario = ids[0]
	var results []string
	for i, scenario := range scenarios {
		add := func(step string, link any) string {
			trace, _ := at(link, "trace_id").(string)
			span, _ := at(link, "span_id").(string)
			results = append(results, fmt.Sprintf(`{"run_id":%q,"scenario_id":%q,"step_key":%q,"trace_id":%q,"span_id":%q,"status":"success"}`, out.run, ids[i], step, trace, span))
			return trace
		}
		results = append(results, fmt.Sprintf(`{"run_id":%q,"scenario_id":%q,"step_key":"testcases","testcase_id":%q,"status":"success"}`, out.run, ids[i], at(scenario, "testcase_id")))
		out.applications = append(out.applications, add("application", at(scenario, "links", "invocation")))
		out.judged = append(out.judged, add("judge", at(scenario, "links", "words-judge")))
	}
	s.ok(http.StatusOK, http.MethodPost, "/evaluations/results/", `{"results":[`+strings.Join(results, ",")+`]}`)
	return out
}

// Contract §5.8: "metrics rows hold the analytics shapes of §3.6". They are
// made of the traces that the results name, and are those that the analytics of
// these traces give; interface.md §1: "Evaluation scenarios reference both
// trace IDs through their links."
func TestMetricsOfEvaluationsAreThoseOfTheirTraces(t *testing.T) {
	t.Parallel()
	s := newService(t)
	subject := s.subject("words", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function main(inputs) { return inputs.word }"}`)
	judge := s.judge("words-judge", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function evaluate(inputs, outputs) { return {score: outputs.length / 10, long: outputs.length > 3, size: outputs.length > 3 ? 'large' : 'small', why: 'it has ' + outputs.length, deep: {parts: ['a', 'b']}} }",
		"schemas":{"outputs":{"type":"object","properties":{"score":{"type":"number"},"long":{"type":"boolean"},"size":{"type":"string","enum":["small","large"]},"why":{"type":"string"}}}}}`)
	e := s.evaluated(t, subject, judge)

	refresh := func(body string, headers ...string) []any {
		r := s.as("ours annotator", http.MethodPost, "/evaluations/metrics/refresh", body, headers...)
		require.Equal(t, http.StatusOK, r.Code, r.Text)
		require.Empty(t, r.Header.Get("Colonnade-Token-Pending"))
		list, _ := r.at("metrics").([]any)
		return list
	}
	whole := refresh(`{"metrics":{"run_id":"`+e.run+`"}}`, "Colonnade-Token", e.token)
	require.Len(t, whole, 1)
	data, _ := at(whole[0], "data").(map[string]any)
	require.ElementsMatch(t, []string{"application", "judge"}, slices.Collect(maps.Keys(data)))

	// The same as what the analytics say of the same traces.
	analytics := func(traces []string, specs string) map[string]any {
		r := s.ok(http.StatusOK, http.MethodPost, "/spans/analytics/query", `{"oldest":"1970-01-01T00:00:00Z","filtering":{"conditions":[{"field":"trace_id","operator":"in","value":["`+strings.Join(traces, `","`)+`"]}]},"specs":[
			{"type":"numeric/continuous","path":"attributes.ag.metrics.duration.cumulative"},{"type":"numeric/continuous","path":"attributes.ag.metrics.errors.cumulative"},
			{"type":"numeric/continuous","path":"attributes.ag.metrics.costs.cumulative.total"},{"type":"numeric/continuous","path":"attributes.ag.metrics.tokens.cumulative.total"}`+specs+`]}`)
		buckets, _ := r.at("buckets").([]any)
		require.Len(t, buckets, 1, r.Text)
		metrics, _ := at(buckets[0], "metrics").(map[string]any)
		return metrics
	}
	require.Empty(t, cmp.Diff(analytics(e.applications, ""), data["application"]))
	const outputs = "attributes.ag.data.outputs."
	require.Empty(t, cmp.Diff(analytics(e.judged, `,{"type":"numeric/continuous","path":"`+outputs+`score"},{"type":"binary","path":"`+outputs+`long"},{"type":"categorical/single","path":"`+outputs+`size"},
		{"type":"string","path":"`+outputs+`why"},{"type":"categorical/multiple","path":"`+outputs+`deep.parts"}`), data["judge"]))
	judged, _ := data["judge"].(map[string]any)
	require.InDelta(t, 1.2, at(judged[outputs+"score"], "sum"), 1e-9)
	require.Equal(t, []any{"large", "small"}, at(judged[outputs+"size"], "uniq"))
	require.InDelta(t, 3, at(judged[outputs+"why"], "count"), 0)

	// Of one scenario, kept beside those of the whole run.
	one := refresh(`{"metrics":{"run_id":"` + e.run + `","scenario_id":"` + e.scenario + `"}}`)
	require.InDelta(t, 0.2, at(one[0], "data", "judge", outputs+"score", "mean"), 1e-9)
	require.InDelta(t, 2, s.ok(http.StatusOK, http.MethodPost, "/evaluations/metrics/query", `{"metrics":{"run_ids":["`+e.run+`"]}}`).at("count"), 0)

	// The scenario leads to both traces, which are there.
	scenario := s.ok(http.StatusOK, http.MethodGet, "/evaluations/scenarios/"+e.scenario, "")
	links, _ := scenario.at("scenario", "links").([]any)
	require.Len(t, links, 2)
	require.Equal(t, e.applications[0], at(links[0], "trace_id"))
	require.Equal(t, e.judged[0], at(links[1], "trace_id"))
	for i, step := range []string{"application", "judge"} {
		require.Equal(t, step, at(links[i], "attributes", "key"))
		span := s.ok(http.StatusOK, http.MethodGet, fmt.Sprintf("/spans/%s/%s", at(links[i], "trace_id"), at(links[i], "span_id")), "")
		require.InDelta(t, 1, span.at("count"), 0)
	}

	// Nobody else measures these traces: with their ids in a run of their own, the others get nothing.
	their := s.as("theirs owner", http.MethodPost, "/evaluations/runs/", `{"runs":[{"data":{"steps":[{"key":"application","type":"invocation","origin":"custom","references":{}}]}}]}`)
	run := idsIn(t, their.at("runs"), "id")[0]
	their = s.as("theirs owner", http.MethodPost, "/evaluations/scenarios/", `{"scenarios":[{"run_id":"`+run+`"}]}`)
	result := fmt.Sprintf(`{"results":[{"run_id":%q,"scenario_id":%q,"step_key":"application","trace_id":%q}]}`, run, idsIn(t, their.at("scenarios"), "id")[0], e.applications[0])
	require.Equal(t, http.StatusOK, s.as("theirs owner", http.MethodPost, "/evaluations/results/", result).Code)
	their = s.as("theirs owner", http.MethodPost, "/evaluations/metrics/refresh", `{"metrics":{"run_id":"`+run+`"}}`)
	require.Equal(t, http.StatusOK, their.Code, their.Text)
	require.InDelta(t, 0, their.at("count"), 0)
}

// Outputs that no schema describes are measured as what they are: texts are
// categories as long as they are few.
func TestMetricsOfOutputsWithoutSchema(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const judges = 120
	run := idsIn(t, s.ok(http.StatusOK, http.MethodPost, "/evaluations/runs/", `{"runs":[{"data":{"steps":[{"key":"judge","type":"annotation","origin":"human","references":{}}]}}]}`).at("runs"), "id")[0]
	scenario := idsIn(t, s.ok(http.StatusOK, http.MethodPost, "/evaluations/scenarios/", `{"scenarios":[{"run_id":"`+run+`"}]}`).at("scenarios"), "id")[0]
	traces, results := make([]string, judges), make([]string, judges)
	for i := range judges {
		id := newTraceID()
		traces[i] = fmt.Sprintf(`{"trace_id":%q,"spans":{"judge":{"span_id":"1000000000000001","start_time":"2026-11-01T10:00:00Z","end_time":"2026-11-01T10:00:01Z","attributes":{"ag":{"type":{"trace":"annotation"},
			"data":{"outputs":{"grade":%q,"why":"because of %d","mixed":%s,"ok":%v,"none":null}}}}}}}`, id, []string{"good", "bad", "good"}[i%3], i, []string{"1", "2.5", `"x"`, "3"}[i%4], i%2 == 0)
		results[i] = fmt.Sprintf(`{"run_id":%q,"scenario_id":%q,"step_key":"judge","repeat_idx":%d,"trace_id":%q}`, run, scenario, i, id)
	}
	written := s.ok(http.StatusAccepted, http.MethodPost, "/traces/ingest", `{"traces":[`+strings.Join(traces, ",")+`]}`)
	s.ok(http.StatusOK, http.MethodPost, "/evaluations/results/", `{"results":[`+strings.Join(results, ",")+`]}`)
	r := s.as("ours owner", http.MethodPost, "/evaluations/metrics/refresh", `{"metrics":{"run_id":"`+run+`"}}`, "Colonnade-Token", written.Header.Get("Colonnade-Token"))
	require.Equal(t, http.StatusOK, r.Code, r.Text)
	require.Empty(t, r.Header.Get("Colonnade-Token-Pending"))
	list, _ := r.at("metrics").([]any)
	require.Len(t, list, 1, r.Text)
	for path, want := range map[string]struct {
		sort  string
		count float64
	}{"grade": {"categorical/single", judges}, "why": {"string", judges}, "mixed": {"numeric/continuous", judges * 3 / 4}, "ok": {"binary", judges}} {
		got := at(list[0], "data", "judge", "attributes.ag.data.outputs."+path)
		require.Equal(t, want.sort, at(got, "type"), path)
		require.InDelta(t, want.count, at(got, "count"), 0, path)
	}
	require.Nil(t, at(list[0], "data", "judge", "attributes.ag.data.outputs.none"))
	require.Equal(t, []any{"good", "bad"}, at(list[0], "data", "judge", "attributes.ag.data.outputs.grade", "uniq"))
}
