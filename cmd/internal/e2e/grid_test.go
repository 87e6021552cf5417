//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// graded is an evaluator with a number, a boolean and a text in an object, which a
// testcase of n = 2 makes fail.
const graded = `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function evaluate(inputs, outputs) { if (inputs.n === 2) throw new Error('cannot judge'); return {score: inputs.n / 10, success: inputs.n > 0, detail: {size: inputs.n > 3 ? 'large' : 'small'}} }",
	"schemas":{"outputs":{"type":"object","properties":{"score":{"type":"number","x-better":"higher"},"success":{"type":"boolean"},"detail":{"type":"object","properties":{"size":{"type":"string"}}}}}}}`

// grid returns a page of the grid of runs as rows of named values.
func (s *service) grid(body string) (rows []map[string]any, whole reply) {
	s.t.Helper()
	whole = s.ok(http.StatusOK, http.MethodPost, "/evaluations/grid", body)
	columns, _ := whole.at("columns").(map[string]any)
	rows = make([]map[string]any, int(whole.at("count").(float64)))
	for name, values := range columns {
		list, _ := values.([]any)
		require.Len(s.t, list, len(rows), name)
		for i, v := range list {
			if rows[i] == nil {
				rows[i] = map[string]any{}
			}
			rows[i][name] = v
		}
	}
	return rows, whole
}

// gridOracle returns the rows of a run's grid from its results, the traces that they name
// and its testcases, each read by its own route.
func (s *service) gridOracle(id string, testcases map[string]map[string]any) []map[string]any {
	s.t.Helper()
	run := s.ok(http.StatusOK, http.MethodGet, "/evaluations/runs/"+id, "")
	steps, _ := run.at("run", "data", "steps").([]any)
	var want []map[string]any
	byScenario := map[string]map[string][]map[string]any{}
	var order []string
	for _, r := range s.listed("results", "/simple/evaluations/"+id+"/probe", `{}`) {
		scenario := r["scenario_id"].(string)
		if byScenario[scenario] == nil {
			byScenario[scenario] = map[string][]map[string]any{}
			order = append(order, scenario)
		}
		step := r["step_key"].(string)
		byScenario[scenario][step] = append(byScenario[scenario][step], r)
	}
	slices.Sort(order)
	for _, scenario := range order {
		repeats := 0
		for _, results := range byScenario[scenario] {
			repeats = max(repeats, len(results))
		}
		for repeat := range repeats {
			row := map[string]any{"run_id": id, "scenario_id": scenario, "repeat": float64(repeat), "status": "success"}
			for _, step := range steps {
				key, kind := at(step, "key").(string), at(step, "type").(string)
				results := byScenario[scenario][key]
				r := results[min(repeat, len(results)-1)]
				row["status."+key], row["trace_id."+key] = r["status"], r["trace_id"]
				if r["status"] != "success" && kind != "input" {
					row["status"] = "errors"
				}
				root := s.rootOf(r["trace_id"])
				switch kind {
				case "input":
					row["testcase_id"] = r["testcase_id"]
					data := testcases[r["testcase_id"].(string)]
					row["preview.inputs"], row["preview.expected"] = fmt.Sprintf("n: %v", data["n"]), data["correct_answer"]
				case "invocation":
					row["trace_id"], row["preview.outputs"] = r["trace_id"], at(root, "attributes", "ag", "data", "outputs")
					row["latency_ms"] = at(root, "attributes", "ag", "metrics", "duration", "cumulative")
					row["cost"] = at(root, "attributes", "ag", "metrics", "costs", "cumulative", "total")
				case "annotation":
					outputs := at(root, "attributes", "ag", "data", "outputs")
					for _, path := range [][]string{{"score"}, {"success"}, {"detail", "size"}} {
						row[key+"."+strings.Join(path, ".")] = at(outputs, path...)
					}
				}
			}
			want = append(want, row)
		}
	}
	return want
}

// rootOf returns the root of a trace of one span, nil without a trace.
func (s *service) rootOf(id any) any {
	s.t.Helper()
	if id == nil {
		return nil
	}
	found := s.listed("spans", "/spans/query", fmt.Sprintf(`{"filtering":{"conditions":[{"field":"trace_id","value":%q},{"field":"parent_id","value":null}]}}`, id))
	require.Len(s.t, found, 1)
	return found[0]
}

// The table of a run says what its results, the traces that they name and its testcases
// say; it is filtered, ordered and cut into pages without changing that, and follows what
// becomes of the results.
func TestGridOracle(t *testing.T) {
	t.Parallel()
	s := newService(t)
	atWork(t, s.Outbox.Run)
	texts := []string{`{"n":0,"correct_answer":"zero"}`, `{"n":1,"correct_answer":"one"}`, `{"n":2,"correct_answer":"two"}`, `{"n":4,"correct_answer":"four"}`}
	app := s.subject("words", `{"uri":"svc:custom:code:v0","runtime":"javascript","script":"function main(inputs) { return 'it is ' + inputs.n }"}`)
	judge := s.judge("graded", graded)
	id := s.evaluation(`{"data":{"repeats":2,"testset_steps":["` + s.testset("numbers", texts...) + `"],"application_steps":["` + app + `"],"evaluator_steps":["` + judge + `"]}}`)
	s.ends(id, "errors")
	testcases := map[string]map[string]any{}
	for _, c := range s.listed("testcases", "/testcases/query", `{}`) {
		testcases[c["id"].(string)], _ = c["data"].(map[string]any)
	}
	step := s.judgedBy(id, judge)
	all := `{"run_ids":["` + id + `"]}`
	var rows []map[string]any
	var whole reply
	s.until("the values of all traces are published", func() bool {
		rows, whole = s.grid(all)
		return len(rows) == 8 && !slices.ContainsFunc(rows, func(r map[string]any) bool {
			return r["latency_ms"] == nil || r["status."+step] == "success" && r[step+".score"] == nil
		})
	})
	want := s.gridOracle(id, testcases)
	require.Empty(t, cmp.Diff(want, rows), whole.Text)
	require.Equal(t, map[string]any{"type": "number", "x-better": "higher"}, whole.at("schemas", step+".score"))
	require.Nil(t, whole.at("windowing"))

	t.Run("pages, filters and orders", func(t *testing.T) {
		s := s.with(t)
		var paged []map[string]any
		for next := ""; ; {
			page, r := s.grid(`{"run_ids":["` + id + `"],"windowing":{"limit":3` + next + `}}`)
			paged = append(paged, page...)
			if r.at("windowing", "next") == nil {
				break
			}
			require.Len(t, page, 3)
			next = fmt.Sprintf(`,"next":%q`, r.at("windowing", "next"))
		}
		require.Empty(t, cmp.Diff(want, paged))

		selected := func(keep func(map[string]any) bool) (out []any) {
			for _, r := range want {
				if keep(r) {
					out = append(out, r["scenario_id"])
				}
			}
			return out
		}
		for filter, keep := range map[string]func(map[string]any) bool{
			`{"field":"` + step + `.score","operator":"lt","value":0.2}`:                   func(r map[string]any) bool { n, ok := r[step+".score"].(float64); return ok && n < 0.2 },
			`{"field":"` + step + `.success","value":true}`:                                func(r map[string]any) bool { return r[step+".success"] == true },
			`{"field":"` + step + `.detail.size","operator":"in","value":["large"]}`:       func(r map[string]any) bool { return r[step+".detail.size"] == "large" },
			`{"field":"status","value":"errors"}`:                                          func(r map[string]any) bool { return r["status"] == "errors" },
			`{"field":"repeat","operator":"gt","value":0}`:                                 func(r map[string]any) bool { return r["repeat"] == 1.0 },
			`{"field":"outputs","operator":"contains","value":"is 4"}`:                     func(r map[string]any) bool { return r["preview.outputs"] == "it is 4" },
			`{"field":"attributes","key":"latency_ms","operator":"exists"}`:                func(map[string]any) bool { return true },
			`{"operator":"not","conditions":[{"field":"status","value":"errors"}]}`:        func(r map[string]any) bool { return r["status"] != "errors" },
			`{"field":"testcase_id","value":"` + fmt.Sprint(want[0]["testcase_id"]) + `"}`: func(r map[string]any) bool { return r["testcase_id"] == want[0]["testcase_id"] },
			`{"field":"preview.expected","operator":"startswith","value":"t"}`:             func(r map[string]any) bool { return r["preview.expected"] == "two" },
			`{"field":"` + step + `.none","operator":"exists"}`:                            func(map[string]any) bool { return false },
			`{"field":"error.` + step + `","operator":"contains","value":"cannot judge"}`:  func(r map[string]any) bool { return r["status"] == "errors" },
		} {
			found, _ := s.grid(`{"run_ids":["` + id + `"],"fields":["scenario_id"],"filtering":{"conditions":[` + filter + `]}}`)
			var got []any
			for _, r := range found {
				require.Len(t, r, 1)
				got = append(got, r["scenario_id"])
			}
			require.Equal(t, selected(keep), got, filter)
		}

		ordered, _ := s.grid(`{"run_ids":["` + id + `"],"fields":["` + step + `.*"],"order_by":{"field":"` + step + `.score","order":"descending"}}`)
		require.InDelta(t, 0.4, ordered[0][step+".score"], 0)
		require.InDelta(t, 0, ordered[5][step+".score"], 0)
		require.Nil(t, ordered[7][step+".score"])
		require.Len(t, ordered[0], 3)
	})

	t.Run("refusals", func(t *testing.T) {
		s := s.with(t)
		for body, code := range map[string]int{
			`{}`:             http.StatusUnprocessableEntity,
			`{"run_ids":[]}`: http.StatusUnprocessableEntity,
			`{"run_ids":["` + id + `"],"fields":["nothing.here"]}`:                                         http.StatusBadRequest,
			`{"run_ids":["` + id + `"],"order_by":{"field":"nothing.here"}}`:                               http.StatusBadRequest,
			`{"run_ids":["` + id + `"],"filtering":{"conditions":[{"field":"nothing","value":1}]}}`:        http.StatusBadRequest,
			`{"run_ids":["` + id + `"],"filtering":{"conditions":[{"field":"status","operator":"near"}]}}`: http.StatusUnprocessableEntity,
			`{"run_ids":["` + id + `"],"windowing":{"limit":10001}}`:                                       http.StatusUnprocessableEntity,
			`{"run_ids":["` + id + `"],"windowing":{"limit":0}}`:                                           http.StatusUnprocessableEntity,
			`{"run_ids":["` + id + `"],"more":1}`:                                                          http.StatusUnprocessableEntity,
		} {
			s.ok(code, http.MethodPost, "/evaluations/grid", body)
		}
	})

	t.Run("another project", func(t *testing.T) {
		s := s.with(t)
		theirs := s.as("theirs owner", http.MethodPost, "/evaluations/grid", all)
		require.Equal(t, http.StatusOK, theirs.Code, theirs.Text)
		require.InDelta(t, 0, theirs.at("count"), 0)
		require.NotContains(t, theirs.Text, "score")
	})

	// Another run of the same testcases stands beside it, by testcase.
	other := s.evaluation(`{"data":{"testset_steps":["` + s.testset("others", `{"n":1,"correct_answer":"one"}`) + `"],"application_steps":["` + app + `"]}}`)
	s.ends(other, "success")
	both, _ := s.grid(`{"run_ids":["` + id + `","` + other + `"]}`)
	require.Len(t, both, 9)

	// What is removed leaves the table, at once.
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+id+"/scenarios/remove", `{"scenario_ids":["`+want[0]["scenario_id"].(string)+`"]}`)
	rows, _ = s.grid(all)
	require.Len(t, rows, 6)
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+id+"/steps/remove", `{"step_keys":["`+step+`"]}`)
	rows, _ = s.grid(all)
	require.Len(t, rows, 3, "without an evaluator nothing repeats")
	require.NotContains(t, rows[0], step+".score")
	s.ok(http.StatusOK, http.MethodDelete, "/evaluations/runs/"+id, "")
	rows, _ = s.grid(all)
	require.Empty(t, rows)
}
