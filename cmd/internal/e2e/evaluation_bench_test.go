//go:build embedded

package e2e_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkEvaluationReads is what a dashboard asks of an evaluation run of 500
// scenarios among others like it: its table, its summary, which is the metrics of the
// whole run, those of each scenario, and the results.
func BenchmarkEvaluationReads(b *testing.B) {
	const scenarios, runs = 500, 40
	s := newService(b)
	atWork(b, s.Outbox.Run)
	subject := s.subject("words", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function main(inputs) { return inputs.word }"}`)
	judge := s.judge("words-judge", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function evaluate(inputs, outputs) { return {score: outputs.length / 10, long: outputs.length > 3, size: outputs.length > 3 ? 'large' : 'small'} }",
		"schemas":{"outputs":{"type":"object","properties":{"score":{"type":"number"},"long":{"type":"boolean"},"size":{"type":"string","enum":["small","large"]}}}}}`)
	e := s.evaluated(b, subject, judge)
	// The shapes of real ones, for all others.
	whole := s.as("ours owner", http.MethodPost, "/evaluations/metrics/refresh", `{"metrics":{"run_id":"`+e.run+`"}}`, "Colonnade-Token", e.token)
	list, _ := whole.at("metrics").([]any)
	require.Len(b, list, 1, whole.Text)
	data, err := json.Marshal(at(list[0], "data"))
	require.NoError(b, err)
	many := func(n int, of func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = of(i)
		}
		return strings.Join(all, ",")
	}
	var run string
	for range runs {
		made := s.ok(http.StatusOK, http.MethodPost, "/evaluations/runs/", `{"runs":[{"status":"running","data":{"steps":[
			{"key":"application","type":"invocation","origin":"custom","references":{"application_revision":`+ref(subject)+`}},
			{"key":"judge","type":"annotation","origin":"custom","references":{"evaluator_revision":`+ref(judge)+`},"inputs":[{"key":"application"}]}]}}]}`)
		run = idsIn(b, made.at("runs"), "id")[0]
		ids := idsIn(b, s.ok(http.StatusOK, http.MethodPost, "/evaluations/scenarios/", `{"scenarios":[`+many(scenarios, func(int) string { return `{"run_id":"` + run + `","status":"success"}` })+`]}`).at("scenarios"), "id")
		s.ok(http.StatusOK, http.MethodPost, "/evaluations/results/", `{"results":[`+many(scenarios, func(i int) string {
			return `{"run_id":"` + run + `","scenario_id":"` + ids[i] + `","step_key":"judge","trace_id":"` + e.judged[i%len(e.judged)] + `","status":"success"}`
		})+`]}`)
		s.ok(http.StatusOK, http.MethodPost, "/evaluations/metrics/", `{"metrics":[{"run_id":"`+run+`","status":"success","data":`+string(data)+`},`+many(scenarios, func(i int) string {
			return `{"run_id":"` + run + `","scenario_id":"` + ids[i] + `","status":"success","data":` + string(data) + `}`
		})+`]}`)
	}
	grid := `{"run_ids":["` + run + `"],"windowing":{"limit":500}}`
	s.until("all results are published", func() bool {
		rows, _ := s.grid(grid)
		return len(rows) == scenarios && !slices.ContainsFunc(rows, func(r map[string]any) bool { return r["judge.score"] == nil })
	})
	for _, read := range []struct {
		name, path, body string
		count            int
	}{
		{"grid", "/evaluations/grid", grid, scenarios},
		{"summary", "/evaluations/metrics/query", `{"metrics":{"run_id":"` + run + `","scenario_ids":false}}`, 1},
		{"metrics of scenarios", "/evaluations/metrics/query", `{"metrics":{"run_id":"` + run + `","scenario_ids":true},"windowing":{"limit":500}}`, scenarios},
		{"results", "/evaluations/results/query", `{"result":{"run_id":"` + run + `"},"windowing":{"limit":500}}`, scenarios},
	} {
		b.Run(read.name, func(b *testing.B) {
			require.InDelta(b, read.count, s.ok(http.StatusOK, http.MethodPost, read.path, read.body).at("count"), 0)
			s.measure(b, read.path, read.body)
		})
	}
}
