//go:build embedded

package entities_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/write/registry/evaluations"
)

// counted returns metrics in place of trace analytics, which these tests do not run: the
// number of traces of a step, and whether outputs were requested.
func counted() evaluations.Spans {
	return evaluations.Spans{Measure: func(_ context.Context, _ domain.ProjectID, lots []evaluations.StepTraces) ([]map[string]any, error) {
		out := make([]map[string]any, len(lots))
		for i, of := range lots {
			out[i] = object{"traces": object{"type": "json", "count": len(of.Traces), "outputs": of.Outputs, "schema": of.Schema}}
		}
		return out, nil
	}}
}

// steps returns the steps of a run over a testset with one application and two evaluators.
func steps() []any {
	return []any{
		object{"key": "testset-1", "type": "input", "origin": "custom", "references": object{"testset_revision": object{"slug": "capitals"}}},
		object{"key": "application-1", "type": "invocation", "origin": "custom", "references": object{"application_revision": object{"slug": "app-1"}}, "inputs": []any{object{"key": "testset-1"}}},
		object{"key": "judge-auto", "type": "annotation", "origin": "auto", "references": object{"evaluator_revision": object{"slug": "exact"}}, "inputs": []any{object{"key": "testset-1"}, object{"key": "application-1"}}},
		object{"key": "judge-human", "type": "annotation", "origin": "human", "references": object{}, "inputs": []any{object{"key": "__all_inputs__"}, object{"key": "__all_invocations__"}}},
	}
}

// makeRun creates a run with these steps and returns its record.
func (c client) makeRun(name string, more object) object {
	c.t.Helper()
	run := object{"name": name, "data": object{"steps": steps(), "mappings": []any{
		object{"column": object{"kind": "evaluator", "name": "score"}, "step": object{"key": "judge-auto", "path": "attributes.ag.data.outputs.score"}},
	}}}
	maps.Copy(run, more)
	return objectAt(c.t, c.post("/evaluations/runs/", object{"runs": []any{run}}), "runs", 0)
}

func (c client) patch(path string, body any) object {
	c.t.Helper()
	return c.expect(http.StatusOK, http.MethodPatch, path, body)
}

func (c client) remove(path string, body any) object {
	c.t.Helper()
	return c.expect(http.StatusOK, http.MethodDelete, path, body)
}

// scenarios adds n scenarios to a run and returns their ids.
func (c client) scenarios(run any, n int) []any {
	c.t.Helper()
	drafts := make([]any, n)
	for i := range drafts {
		drafts[i] = object{"run_id": run, "tags": object{"n": i}}
	}
	made := listAt(c.t, c.post("/evaluations/scenarios/", object{"scenarios": drafts}), "scenarios")
	ids := make([]any, n)
	for i := range made {
		ids[i] = at(c.t, made, i, "id")
	}
	return ids
}

func TestEvaluationRuns(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	made := listAt(t, c.post("/evaluations/runs/", object{"runs": []any{
		object{"name": "First", "description": "of two", "tags": object{"of": "tests"}, "meta": object{"n": 1, "deep": object{"x": []any{1, 2}}}, "flags": object{"is_live": true, "is_active": nil, "has_human": false}, "data": object{"steps": steps(), "repeats": nil}, "status": "running"},
		object{"name": "Second"},
	}}), "runs")
	require.Len(t, made, 2)
	first, second := objectAt(t, made, 0), objectAt(t, made, 1)
	require.Equal(t, "running", first["status"])
	require.Equal(t, "pending", second["status"])
	require.Equal(t, evaluation.Version, first["version"])
	require.NotContains(t, second, "data")
	require.InDelta(t, 1, at(t, first, "data", "repeats"), 0)
	require.Equal(t, c.account.User.ID.String(), first["created_by_id"])
	require.Equal(t, object{
		"is_live": true, "is_active": false, "is_closed": false, "is_queue": true, "is_cached": false, "is_split": false, "has_queries": false, "has_testsets": true, "has_traces": false,
		"has_testcases": false, "has_evaluators": true, "has_custom": false, "has_human": true, "has_auto": true,
	}, first["flags"], "what the steps say is read off them")
	id := text(t, first, "id")
	require.Equal(t, object{"count": 1.0, "run": first}, c.get("/evaluations/runs/"+id), "what is read is what was answered")

	// Edits change the given members; runs that do not exist are left out.
	edited := objectAt(t, c.patch("/evaluations/runs/"+id, object{"run": object{"id": id, "name": "Renamed", "flags": object{"is_active": true}, "status": "success"}}), "run")
	require.Equal(t, "Renamed", edited["name"])
	require.Equal(t, "of two", edited["description"])
	require.Equal(t, true, at(t, edited, "flags", "is_live"))
	require.Equal(t, true, at(t, edited, "flags", "is_active"))
	require.Equal(t, first["data"], edited["data"])
	require.NotEmpty(t, edited["updated_at"])
	both := c.patch("/evaluations/runs/", object{"runs": []any{
		object{"id": second["id"], "data": object{"steps": steps()[:1], "repeats": 3, "concurrency": object{"batch_size": 4, "retry_delay": 0.5}}}, object{"id": uuid.NewString(), "name": "none"}, edited,
	}})
	require.InDelta(t, 2, both["count"], 0)
	require.Equal(t, second["id"], at(t, both, "runs", 0, "id"), "in the order of the request")
	require.InDelta(t, 3, at(t, both, "runs", 0, "data", "repeats"), 0)
	require.Equal(t, false, at(t, both, "runs", 0, "flags", "has_evaluators"))
	require.Equal(t, object{"count": 0.0}, c.get("/evaluations/runs/"+uuid.NewString()))
	require.Equal(t, object{"count": 0.0}, c.patch("/evaluations/runs/"+c.account.User.ID.String(), object{"run": object{"id": c.account.User.ID}}))
	require.Contains(t, c.fails(http.StatusBadRequest, http.MethodPatch, "/evaluations/runs/"+id, object{"run": object{"id": second["id"]}}), "does not match")

	// Deleting returns the ids of the runs that existed.
	gone := c.remove("/evaluations/runs/", object{"run_ids": []any{id, uuid.NewString()}})
	require.Equal(t, object{"count": 1.0, "run_ids": []any{id}}, gone)
	require.Equal(t, object{"count": 1.0, "run_id": second["id"]}, c.remove("/evaluations/runs/"+text(t, second, "id"), nil))
	require.Equal(t, object{"count": 0.0}, c.remove("/evaluations/runs/"+id, nil))
	require.Equal(t, object{"count": 0.0, "runs": []any{}}, c.post("/evaluations/runs/query", object{}))
}

func TestEvaluationBodiesAreStrict(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	with := func(change func(step object)) object {
		all := steps()
		change(objectAt(t, all, 2))
		return object{"runs": []any{object{"data": object{"steps": all}}}}
	}
	for _, tt := range []struct {
		name, method, path string
		body               any
		loc                []any
	}{
		{"no body", "POST", "/runs/", nil, []any{"body"}},
		{"no body of a query", "POST", "/runs/query", nil, []any{"body"}},
		{"no runs", "POST", "/runs/", object{}, []any{"body", "runs"}},
		{"unknown member", "POST", "/runs/", object{"runs": []any{object{"colour": 1}}}, []any{"body", "runs", 0.0, "colour"}},
		{"unknown flag", "POST", "/runs/", object{"runs": []any{object{"flags": object{"is_sequential": true}}}}, []any{"body", "runs", 0.0, "flags", "is_sequential"}},
		{"unknown status", "POST", "/runs/", object{"runs": []any{object{"status": "done"}}}, []any{"body", "runs", 0.0, "status"}},
		{"repeats below one", "POST", "/runs/", object{"runs": []any{object{"data": object{"repeats": -1}}}}, []any{"body", "runs", 0.0, "data", "repeats"}},
		{"a key twice", "POST", "/runs/", with(func(s object) { s["key"] = "application-1" }), []any{"body", "runs", 0.0, "data", "steps", 2.0, "key"}},
		{"an input that comes later", "POST", "/runs/", with(func(s object) { s["inputs"] = []any{object{"key": "judge-human"}} }), []any{"body", "runs", 0.0, "data", "steps", 2.0, "inputs", 0.0, "key"}},
		{"an unknown type", "POST", "/runs/", with(func(s object) { s["type"] = "guess" }), []any{"body", "runs", 0.0, "data", "steps", 2.0, "type"}},
		{"an unknown origin", "POST", "/runs/", with(func(s object) { s["origin"] = "robot" }), []any{"body", "runs", 0.0, "data", "steps", 2.0, "origin"}},
		{"a reference to nothing", "POST", "/runs/", with(func(s object) { s["references"] = object{"evaluator": object{}} }), []any{"body", "runs", 0.0, "data", "steps", 2.0, "references", "evaluator"}},
		{"a reference of no kind", "POST", "/runs/", with(func(s object) { s["references"] = object{"spoon": object{"slug": "x"}} }), []any{"body", "runs", 0.0, "data", "steps", 2.0, "references", "spoon"}},
		{"a mapping of no step", "PATCH", "/runs/" + run, object{"run": object{"id": run, "data": object{"mappings": []any{object{"column": object{"kind": "a", "name": "b"}, "step": object{"key": "c", "path": "d"}}}}}}, []any{"body", "run", "data", "mappings", 0.0, "step", "key"}},
		{"an edit without id", "PATCH", "/runs/", object{"runs": []any{object{"name": "x"}}}, []any{"body", "runs", 0.0, "id"}},
		{"a status of the path", "POST", "/runs/" + run + "/close/over", nil, []any{"path", "status"}},
		{"an id of the path", "GET", "/runs/one", nil, []any{"path", "run_id"}},
		{"an unknown filter", "POST", "/runs/query", object{"run": object{"colour": 1}}, []any{"body", "run", "colour"}},
		{"a reference to nothing in a filter", "POST", "/runs/query", object{"run": object{"references": []any{object{"evaluator": object{}}}}}, []any{"body", "run", "references", 0.0, "evaluator"}},
		{"a limit below nothing", "POST", "/runs/query", object{"windowing": object{"limit": -1}}, []any{"body", "windowing", "limit"}},
		{"a scenario of no run", "POST", "/scenarios/", object{"scenarios": []any{object{}}}, []any{"body", "scenarios", 0.0, "run_id"}},
		{"an interval of nothing", "POST", "/scenarios/", object{"scenarios": []any{object{"run_id": run, "interval": 0}}}, []any{"body", "scenarios", 0.0, "interval"}},
		{"a result of no step", "POST", "/results/", object{"results": []any{object{"run_id": run, "scenario_id": run}}}, []any{"body", "results", 0.0, "step_key"}},
		{"a repeat before the first", "POST", "/results/", object{"results": []any{object{"run_id": run, "scenario_id": run, "step_key": "x", "repeat_idx": -1}}}, []any{"body", "results", 0.0, "repeat_idx"}},
		{"no trace id", "POST", "/results/", object{"results": []any{object{"run_id": run, "scenario_id": run, "step_key": "x", "trace_id": "zz"}}}, []any{"body", "results", 0.0, "trace_id"}},
		{"a refresh of a scenario alone", "POST", "/metrics/refresh", object{"metrics": object{"scenario_id": run}}, []any{"body", "metrics", "run_id"}},
		{"a list that is none", "POST", "/metrics/query", object{"metrics": object{"scenario_ids": []any{"x"}}}, []any{"body", "metrics", "scenario_ids", 0.0}},
		{"a batch of nothing", "POST", "/queues/", object{"queues": []any{object{"run_id": run, "data": object{"batch_size": 0}}}}, []any{"body", "queues", 0.0, "data", "batch_size"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			detail := c.fails(http.StatusUnprocessableEntity, tt.method, "/evaluations"+tt.path, tt.body)
			require.Equal(t, tt.loc, at(t, detail, 0, "loc"), "%v", detail)
		})
	}
}

// A value that Postgres cannot store, and a body with too many items, are client errors.
func TestEvaluationsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for name, body := range map[string]string{
		"NUL in a name":   `{"runs":[{"name":"a\u0000b"}]}`,
		"NUL in a key":    `{"runs":[{"meta":{"a\u0000b":1}}]}`,
		"NUL in data":     `{"runs":[{"data":{"steps":[{"key":"a\u0000","type":"input","origin":"auto","references":{}}]}}]}`,
		"too deep":        `{"runs":[{"meta":` + deep + `}]}`,
		"no object":       `{"runs":[{"tags":5}]}`,
		"no JSON":         `{"runs":[`,
		"too many":        `{"runs":[` + strings.TrimSuffix(strings.Repeat("{},", evaluations.MaxMany+1), ",") + `]}`,
		"something after": `{"runs":[{}]}x`,
	} {
		status, reply, _ := c.do(http.MethodPost, "/evaluations/runs/", body)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, status, "%s: %v", name, reply)
	}
	scenario := fmt.Sprint(c.scenarios(run, 1)[0])
	for name, result := range map[string]string{
		"NUL in an error":        `{"error":{"message":"a\u0000b"},"step_key":"judge-auto"}`,
		"a step key without end": `{"step_key":"` + strings.Repeat("x", 10_000) + `"}`,
	} {
		status, reply, _ := c.do(http.MethodPost, "/evaluations/results/", `{"results":[{"run_id":"`+run+`","scenario_id":"`+scenario+`",`+result[1:]+`]}`)
		require.Less(t, status, 500, "%s: %v", name, reply)
	}
	for path, body := range map[string]string{
		"/runs/query": `{"run":{"name":"a\u0000b"}}`, "/results/query": `{"result":{"step_key":"a\u0000b"}}`, "/queues/query": `{"queue":{"description":"\u0000"}}`,
		"/scenarios/query": `{"scenario":{"interval":3000000000}}`, "/metrics/query": `{"metrics":{"intervals":[-3000000000]}}`, "/scenarios/": `{"scenarios":[{"run_id":"` + run + `","interval":3000000000}]}`,
	} {
		c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/evaluations"+path, body)
	}
	require.InDelta(t, 1, c.post("/evaluations/runs/query", object{})["count"], 0, "nothing is half written")
}

// A closed run refuses changes of itself and of its parts until it is reopened.
func TestClosedEvaluationRuns(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	scenario := c.scenarios(run, 1)[0]
	result := text(t, c.post("/evaluations/results/", object{"results": []any{object{"run_id": run, "scenario_id": scenario, "step_key": "judge-auto"}}}), "results", 0, "id")
	metrics := text(t, c.post("/evaluations/metrics/", object{"metrics": []any{object{"run_id": run, "data": object{"x": 1}}}}), "metrics", 0, "id")
	queue := text(t, c.post("/evaluations/queues/", object{"queues": []any{object{"run_id": run, "name": "to do"}}}), "queues", 0, "id")

	closed := objectAt(t, c.post("/evaluations/runs/"+run+"/close/success", nil), "run")
	require.Equal(t, "success", closed["status"])
	require.Equal(t, true, at(t, closed, "flags", "is_closed"))
	before := fingerprint(t, estate{client: c})
	for _, tt := range []struct {
		method, path string
		body         any
		part, id     string
	}{
		{"PATCH", "/runs/" + run, object{"run": object{"id": run, "name": "x"}}, "", ""},
		{"PATCH", "/runs/", object{"runs": []any{object{"id": run, "flags": object{"is_closed": false}}}}, "", ""},
		{"POST", "/scenarios/", object{"scenarios": []any{object{"run_id": run}}}, "", ""},
		{"PATCH", "/scenarios/", object{"scenarios": []any{object{"id": scenario, "status": "success"}}}, "scenario_id", fmt.Sprint(scenario)},
		{"PATCH", "/scenarios/" + fmt.Sprint(scenario), object{"scenario": object{"id": scenario, "status": "success"}}, "scenario_id", fmt.Sprint(scenario)},
		{"DELETE", "/scenarios/", object{"scenario_ids": []any{scenario}}, "scenario_id", fmt.Sprint(scenario)},
		{"DELETE", "/scenarios/" + fmt.Sprint(scenario), nil, "scenario_id", fmt.Sprint(scenario)},
		{"POST", "/results/", object{"results": []any{object{"run_id": run, "scenario_id": scenario, "step_key": "judge-human"}}}, "", ""},
		{"PATCH", "/results/", object{"results": []any{object{"id": result, "status": "success"}}}, "result_id", result},
		{"DELETE", "/results/" + result, nil, "result_id", result},
		{"POST", "/metrics/", object{"metrics": []any{object{"run_id": run}}}, "", ""},
		{"POST", "/metrics/refresh", object{"metrics": object{"run_id": run}}, "", ""},
		{"PATCH", "/metrics/", object{"metrics": []any{object{"id": metrics, "data": object{}}}}, "metrics_id", metrics},
		{"DELETE", "/metrics/", object{"metrics_ids": []any{metrics}}, "metrics_id", metrics},
		{"POST", "/queues/", object{"queues": []any{object{"run_id": run}}}, "", ""},
		{"PATCH", "/queues/" + queue, object{"queue": object{"id": queue, "name": "x"}}, "queue_id", queue},
		{"DELETE", "/queues/", object{"queue_ids": []any{queue}}, "queue_id", queue},
	} {
		detail := objectAt(t, c.fails(http.StatusConflict, tt.method, "/evaluations"+tt.path, tt.body))
		want := object{"message": "Cannot modify a closed evaluation.", "run_id": run}
		if tt.part != "" {
			want[tt.part] = tt.id
		}
		require.Equal(t, want, detail, tt.method+" "+tt.path)
	}
	require.Equal(t, before, fingerprint(t, estate{client: c}), "nothing changed")

	require.Equal(t, false, at(t, c.post("/evaluations/runs/open", object{"run_ids": []any{run}}), "runs", 0, "flags", "is_closed"))
	require.Equal(t, "judged", at(t, c.patch("/evaluations/queues/"+queue, object{"queue": object{"id": queue, "name": "judged"}}), "queue", "name"))
	require.Equal(t, true, at(t, c.post("/evaluations/runs/close", object{"run_ids": []any{run}}), "runs", 0, "flags", "is_closed"))
	require.Equal(t, false, at(t, c.post("/evaluations/runs/"+run+"/open", nil), "run", "flags", "is_closed"))
	c.post("/evaluations/runs/"+run+"/close", nil)
	require.Equal(t, object{"count": 1.0, "run_id": run}, c.remove("/evaluations/runs/"+run, nil), "a closed run can be deleted, with all its parts")
	require.Equal(t, object{"count": 0.0}, c.get("/evaluations/results/"+result))
	require.Equal(t, object{"count": 0.0}, c.get("/evaluations/queues/"+queue))
}

// A cancelled run must be started again before it can end with another status.
func TestCancelledEvaluationRuns(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", object{"status": "cancelled"}), "id")
	edit := func(status string) object { return object{"run": object{"id": run, "status": status}} }
	require.Contains(t, c.fails(http.StatusConflict, http.MethodPatch, "/evaluations/runs/"+run, edit("success")), "start it again")
	c.fails(http.StatusConflict, http.MethodPost, "/evaluations/runs/"+run+"/close/errors", nil)
	require.Equal(t, false, at(t, c.get("/evaluations/runs/"+run), "run", "flags", "is_closed"), "nothing half done")
	c.patch("/evaluations/runs/"+run, edit("queued"))
	require.Equal(t, "success", at(t, c.patch("/evaluations/runs/"+run, edit("success")), "run", "status"))
}

func TestScenariosAndResults(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run, other := text(t, c.makeRun("one", object{"data": object{"steps": steps(), "repeats": 2}}), "id"), text(t, c.makeRun("two", nil), "id")
	ids := c.scenarios(run, 3)
	theirs := c.scenarios(other, 1)
	const traceA, traceB, span = "0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd8448eb211c80319d", "b7ad6b7169203331"

	// One result for each step and repeat, whose trace the scenario links to.
	testcase, hash := uuid.NewString(), uuid.NewString()
	set := listAt(t, c.post("/evaluations/results/", object{"results": []any{
		object{"run_id": run, "scenario_id": ids[0], "step_key": "testset-1", "testcase_id": testcase, "status": "success"},
		object{"run_id": run, "scenario_id": ids[0], "step_key": "application-1", "repeat_idx": 1, "trace_id": "0AF76519-16CD-43DD-8448-EB211C80319C", "span_id": span, "hash_id": hash, "status": "success", "meta": object{"try": 1}},
		object{"run_id": run, "scenario_id": ids[1], "step_key": "application-1", "error": object{"message": "no answer", "code": 500}, "status": "failure"},
	}}), "results")
	require.Len(t, set, 3)
	require.Equal(t, traceA, at(t, set, 1, "trace_id"))
	require.NotContains(t, objectAt(t, set, 2), "trace_id")
	require.Equal(t, object{"message": "no answer", "code": 500.0}, at(t, set, 2, "error"))
	again := objectAt(t, c.post("/evaluations/results/", object{"results": []any{
		object{"run_id": run, "scenario_id": ids[0], "step_key": "application-1", "repeat_idx": 1, "trace_id": traceB, "status": "success"},
	}}), "results", 0)
	require.Equal(t, at(t, set, 1, "id"), again["id"], "setting it again replaces it")
	require.NotContains(t, again, "meta")
	require.NotContains(t, again, "span_id", "that was the other trace's")
	require.NotEmpty(t, again["updated_at"])
	shown := objectAt(t, c.get("/evaluations/scenarios/"+fmt.Sprint(ids[0])), "scenario")
	require.Equal(t, []any{object{"trace_id": traceB, "attributes": object{"key": "application-1", "repeat_idx": 1.0}}}, shown["links"])
	id := text(t, again, "id")
	patched := objectAt(t, c.patch("/evaluations/results/"+id, object{"result": object{"id": id, "trace_id": traceA, "span_id": span, "status": "errors"}}), "result")
	require.Equal(t, []any{traceA, span, "errors"}, []any{patched["trace_id"], patched["span_id"], patched["status"]})
	require.Equal(t, object{"count": 1.0, "result": patched}, c.get("/evaluations/results/"+id))
	back := objectAt(t, c.patch("/evaluations/results/", object{"results": []any{patched}}), "results", 0)
	back["updated_at"] = patched["updated_at"]
	require.Equal(t, patched, back, "what was read can be sent back")

	// Items of different runs are refused, and no item of the request is stored.
	for _, bad := range []object{
		{"run_id": run, "scenario_id": theirs[0], "step_key": "application-1"},
		{"run_id": run, "scenario_id": uuid.NewString(), "step_key": "application-1"},
		{"run_id": uuid.NewString(), "scenario_id": ids[0], "step_key": "application-1"},
		{"run_id": run, "scenario_id": ids[0], "step_key": "nonsense"},
	} {
		c.fails(http.StatusBadRequest, http.MethodPost, "/evaluations/results/", object{"results": []any{object{"run_id": run, "scenario_id": ids[2], "step_key": "judge-auto"}, bad}})
	}
	c.fails(http.StatusBadRequest, http.MethodPost, "/evaluations/scenarios/", object{"scenarios": []any{object{"run_id": uuid.NewString()}}})

	// Queries.
	for _, tt := range []struct {
		name   string
		filter object
		want   float64
	}{
		{"all", object{}, 3},
		{"of a run", object{"run_id": run}, 3},
		{"of another run", object{"run_id": other}, 0},
		{"of runs and none", object{"run_ids": []any{}}, 0},
		{"of a scenario", object{"scenario_id": ids[0]}, 2},
		{"of scenarios", object{"scenario_ids": []any{ids[0], ids[1]}}, 3},
		{"of a step", object{"run_id": run, "step_key": "application-1"}, 2},
		{"of steps", object{"step_keys": []any{"testset-1", "judge-auto"}}, 1},
		{"of a repeat", object{"repeat_idx": 1}, 1},
		{"by status", object{"status": "failure"}, 1},
		{"by statuses", object{"statuses": []any{"failure", "errors"}}, 2},
		{"by trace", object{"trace_id": traceA}, 1},
		{"by testcase", object{"testcase_ids": []any{testcase}}, 1},
		{"by id", object{"ids": []any{id}}, 1},
		{"nulls", object{"status": nil, "run_ids": nil, "timestamps": nil, "tags": nil}, 3},
	} {
		require.InDelta(t, tt.want, c.post("/evaluations/results/query", object{"result": tt.filter})["count"], 0, tt.name)
	}
	page := c.post("/evaluations/scenarios/query", object{"scenario": object{"run_id": run}, "windowing": object{"limit": 2, "order": "ascending"}})
	require.Equal(t, ids[0], at(t, page, "scenarios", 0, "id"))
	require.NotEmpty(t, at(t, page, "scenarios", 0, "links"))
	rest := c.post("/evaluations/scenarios/query", object{"scenario": object{"run_id": run}, "windowing": object{"limit": 2, "order": "ascending", "next": at(t, page, "windowing", "next")}})
	require.Len(t, rest["scenarios"], 1)
	require.NotContains(t, rest, "windowing")
	require.InDelta(t, 1, c.post("/evaluations/scenarios/query", object{"scenario": object{"tags": object{"n": 2}}})["count"], 0)

	// Deleting a scenario deletes its results.
	require.Equal(t, object{"count": 1.0, "scenario_ids": []any{ids[0]}}, c.remove("/evaluations/scenarios/", object{"scenario_ids": []any{ids[0]}}))
	require.Equal(t, object{"count": 0.0}, c.get("/evaluations/results/"+id))
	require.Equal(t, object{"count": 1.0, "result_id": at(t, set, 2, "id")}, c.remove("/evaluations/results/"+text(t, set, 2, "id"), nil))
}

func TestEvaluationMetrics(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	ids := c.scenarios(run, 2)
	trace := func(n int) string { return fmt.Sprintf("0af7651916cd43dd8448eb21%08x", n) }
	set := func(scenario any, step string, n int, more object) object {
		out := object{"run_id": run, "scenario_id": scenario, "step_key": step, "trace_id": trace(n)}
		maps.Copy(out, more)
		return out
	}
	const moment = "2026-11-01T10:00:00Z"
	c.post("/evaluations/results/", object{"results": []any{
		set(ids[0], "application-1", 1, nil), set(ids[1], "application-1", 2, object{"interval": 60, "timestamp": moment}), set(ids[0], "judge-auto", 3, nil), set(ids[1], "judge-auto", 3, object{"repeat_idx": 1}),
	}})

	whole := objectAt(t, c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_id": run}}), "metrics", 0)
	require.Equal(t, "success", whole["status"])
	require.NotContains(t, whole, "scenario_id")
	require.InDelta(t, 2, at(t, whole, "data", "application-1", "traces", "count"), 0)
	require.InDelta(t, 1, at(t, whole, "data", "judge-auto", "traces", "count"), 0, "a trace counts once")
	require.Equal(t, true, at(t, whole, "data", "judge-auto", "traces", "outputs"))
	require.NotContains(t, objectAt(t, whole, "data"), "judge-human", "without traces there is nothing to measure")
	refreshed := c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_ids": []any{run, uuid.NewString()}}})
	require.Equal(t, whole["id"], at(t, refreshed, "metrics", 0, "id"), "they replace each other")
	each := listAt(t, c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_id": run, "scenario_ids": []any{ids[0], ids[1], uuid.NewString()}}}), "metrics")
	require.Len(t, each, 2)
	temporal := objectAt(t, c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_id": run, "timestamp": moment, "interval": 60}}), "metrics", 0)
	require.Equal(t, moment, temporal["timestamp"])
	require.InDelta(t, 1, at(t, temporal, "data", "application-1", "traces", "count"), 0)

	for _, tt := range []struct {
		name   string
		filter object
		want   float64
	}{
		{"all", object{"run_id": run}, 4},
		{"of the whole run", object{"run_id": run, "scenario_ids": false, "timestamps": false}, 1},
		{"of scenarios", object{"run_id": run, "scenario_ids": true}, 2},
		{"of one", object{"scenario_id": ids[0]}, 1},
		{"of some", object{"scenario_ids": ids}, 2},
		{"of times", object{"timestamps": true}, 1},
		{"of a time", object{"timestamps": []any{moment}, "interval": 60}, 1},
		{"by status", object{"statuses": []any{"pending"}}, 0},
	} {
		require.InDelta(t, tt.want, c.post("/evaluations/metrics/query", object{"metrics": tt.filter})["count"], 0, tt.name)
	}
	require.InDelta(t, 4, c.post("/evaluations/metrics/query", object{"metric": object{"run_ids": []any{run}}})["count"], 0)

	// Set by the client.
	mine := listAt(t, c.post("/evaluations/metrics/", object{"metrics": []any{object{"run_id": run, "scenario_id": ids[0], "data": object{"judge-human": object{"x": 0.1}}}}}), "metrics")
	require.Equal(t, object{"judge-human": object{"x": 0.1}}, at(t, mine, 0, "data"))
	edited := c.patch("/evaluations/metrics/", object{"metrics": []any{object{"id": at(t, mine, 0, "id"), "status": "failure"}}})
	require.Equal(t, []any{"failure", at(t, mine, 0, "data")}, []any{at(t, edited, "metrics", 0, "status"), at(t, edited, "metrics", 0, "data")})
	c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/evaluations/metrics/", object{"metrics": []any{object{"run_id": run, "scenario_id": ids[0], "timestamp": moment}}})
	c.fails(http.StatusBadRequest, http.MethodPost, "/evaluations/metrics/", object{"metrics": []any{object{"run_id": run, "scenario_id": uuid.NewString()}}})
	require.InDelta(t, 1, c.remove("/evaluations/metrics/", object{"metrics_ids": []any{at(t, mine, 0, "id"), uuid.NewString()}})["count"], 0)
}

// Metrics cover the traces that results refer to now; a deleted result has none.
func TestMetricsOfWhatIsGone(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	ids := c.scenarios(run, 2)
	const moment = "2026-11-01T10:00:00Z"
	var results []any
	for i, id := range ids {
		made := c.post("/evaluations/results/", object{"results": []any{object{
			"run_id": run, "scenario_id": id, "step_key": "application-1", "trace_id": fmt.Sprintf("0af7651916cd43dd8448eb21%08x", i+1), "timestamp": moment, "interval": 60,
		}}})
		results = append(results, at(t, made, "results", 0, "id"))
	}
	refresh := func() {
		t.Helper()
		for _, of := range []object{{"run_id": run}, {"run_id": run, "scenario_ids": ids}, {"run_id": run, "timestamp": moment, "interval": 60}} {
			c.post("/evaluations/metrics/refresh", object{"metrics": of})
		}
	}
	count := func(of object) any { return c.post("/evaluations/metrics/query", object{"metrics": of})["count"] }
	refresh()
	require.InDelta(t, 4, count(object{"run_id": run}), 0)
	c.remove("/evaluations/results/", object{"result_ids": results[:1]})
	refresh()
	require.InDelta(t, 0, count(object{"scenario_id": ids[0]}), 0)
	require.InDelta(t, 3, count(object{"run_id": run}), 0, "of the other scenario, of the time and of the whole")
	c.remove("/evaluations/results/", object{"result_ids": results[1:]})
	c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_id": run}})
	require.InDelta(t, 2, count(object{"run_id": run}), 0, "nobody asked for the others again")
	refresh()
	require.InDelta(t, 0, count(object{"run_id": run}), 0)
}

// The output schema of an evaluator's revision decides which outputs become metrics.
func TestMetricsFollowTheSchemaOfTheEvaluator(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	outputs := object{"type": "object", "properties": object{"score": object{"type": "number"}}}
	judge := objectAt(t, c.post("/simple/evaluators/", object{"evaluator": object{"slug": "judge", "data": object{"uri": "svc:custom:feedback:v0", "schemas": object{"outputs": outputs}}}}), "evaluator")
	run := text(t, c.post("/evaluations/runs/", object{"runs": []any{object{"data": object{"steps": []any{
		object{"key": "judge", "type": "annotation", "origin": "auto", "references": object{"evaluator_revision": object{"id": judge["revision_id"]}}},
	}}}}}), "runs", 0, "id")
	c.post("/evaluations/results/", object{"results": []any{object{"run_id": run, "scenario_id": c.scenarios(run, 1)[0], "step_key": "judge", "trace_id": strings.Repeat("a", 32)}}})
	require.Equal(t, outputs, at(t, c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_id": run}}), "metrics", 0, "data", "judge", "traces", "schema"))
}

func TestEvaluationRunQueries(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	one := c.makeRun("Capitals of Europe", object{"tags": object{"team": "x"}, "meta": object{"a": object{"b": 1}}, "status": "running", "flags": object{"is_live": true}})
	two := objectAt(t, c.post("/evaluations/runs/", object{"runs": []any{object{"name": "Numbers", "description": "of primes", "meta": object{"c": 2}, "data": object{"steps": []any{
		object{"key": "query-1", "type": "input", "origin": "auto", "references": object{"query_revision": object{"id": uuid.NewString(), "slug": "saved"}}},
	}}}}}), "runs", 0)
	for _, tt := range []struct {
		name   string
		filter object
		want   []any
	}{
		{"all, newest first", object{}, []any{two["id"], one["id"]}},
		{"by ids", object{"ids": []any{one["id"], uuid.NewString()}}, []any{one["id"]}},
		{"by name", object{"name": "capitals OF"}, []any{one["id"]}},
		{"by description", object{"description": "PRIME"}, []any{two["id"]}},
		{"by tags", object{"tags": object{"team": "x"}}, []any{one["id"]}},
		{"by meta", object{"meta": object{"a": object{"b": 1}}}, []any{one["id"]}},
		{"by one meta of several", object{"meta": []any{object{"c": 2}, object{"z": 1}}}, []any{two["id"]}},
		{"by status", object{"status": "running"}, []any{one["id"]}},
		{"by statuses", object{"statuses": []any{"running", "pending"}}, []any{two["id"], one["id"]}},
		{"by flags", object{"flags": object{"is_live": true, "is_closed": nil}}, []any{one["id"]}},
		{"by what the steps say", object{"flags": object{"has_queries": true}}, []any{two["id"]}},
		{"by a reference", object{"references": []any{object{"application_revision": object{"slug": "app-1"}}}}, []any{one["id"]}},
		{"by two references", object{"references": []any{object{"application_revision": object{"slug": "app-1"}}, object{"query_revision": object{"slug": "saved"}}}}, []any{}},
		{"by nothing", object{"ids": []any{}}, []any{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []any{}
			for _, r := range listAt(t, c.post("/evaluations/runs/query", object{"run": tt.filter, "jit": object{"testsets": true}}), "runs") {
				got = append(got, at(t, r, "id"))
			}
			require.Equal(t, tt.want, got)
		})
	}
	page := c.post("/evaluations/runs/query", object{"windowing": object{"limit": 1}})
	require.Equal(t, two["id"], at(t, page, "windowing", "next"))
	require.Equal(t, one["id"], at(t, c.post("/evaluations/runs/query", object{"windowing": object{"limit": 1, "next": two["id"]}}), "runs", 0, "id"))
}

func TestEvaluationQueues(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	ids := c.scenarios(run, 6)
	ann, bob := uuid.NewString(), uuid.NewString()
	made := objectAt(t, c.post("/evaluations/queues/", object{"queues": []any{object{
		"run_id": run, "name": "Review", "flags": object{"is_sequential": true}, "data": object{"user_ids": []any{[]any{ann, bob}}, "step_keys": []any{"judge-human"}},
	}}}), "queues", 0)
	require.Equal(t, object{"is_sequential": true, "is_default": false}, made["flags"])
	queue := text(t, made, "id")
	mine := func(body object) []any {
		out := []any{}
		for _, s := range listAt(t, c.post("/evaluations/queues/"+queue+"/scenarios/query", body), "scenarios") {
			out = append(out, at(t, s, "id"))
		}
		return out
	}
	ascending := object{"order": "ascending"}
	require.Equal(t, ids, mine(object{"windowing": ascending}))
	require.Equal(t, ids[:3], mine(object{"queue": object{"user_id": ann}, "windowing": ascending}))
	require.Equal(t, ids[3:], mine(object{"queue": object{"id": queue, "user_ids": []any{bob}}, "windowing": ascending}))
	require.Equal(t, ids, mine(object{"queue": object{"user_ids": []any{bob, ann}}, "windowing": ascending}))
	require.Empty(t, mine(object{"queue": object{"user_id": uuid.NewString()}}))
	c.patch("/evaluations/scenarios/"+fmt.Sprint(ids[1]), object{"scenario": object{"id": ids[1], "status": "success"}})
	require.Equal(t, []any{ids[1]}, mine(object{"queue": object{"user_id": ann}, "scenario": object{"status": "success"}}))
	page := c.post("/evaluations/queues/"+queue+"/scenarios/query", object{"queue": object{"user_id": ann}, "windowing": object{"limit": 2, "order": "ascending"}})
	require.Equal(t, ids[1], at(t, page, "windowing", "next"))
	c.fails(http.StatusBadRequest, http.MethodPost, "/evaluations/queues/"+queue+"/scenarios/query", object{"queue": object{"id": run}})

	edited := objectAt(t, c.patch("/evaluations/queues/"+queue, object{"queue": object{"id": queue, "data": object{"scenario_ids": ids[:2]}}}), "queue")
	require.Equal(t, object{"is_sequential": true, "is_default": false}, edited["flags"])
	require.Equal(t, "Review", edited["name"])
	require.Equal(t, ids[:2], mine(object{"queue": object{"user_id": ann}, "windowing": ascending}), "nobody shares it now")
	for _, tt := range []struct {
		filter object
		want   float64
	}{
		{object{"run_id": run}, 2}, {object{"name": "VIEW"}, 1}, {object{"flags": object{"is_default": true}}, 1}, {object{"user_id": ann}, 0}, {object{"ids": []any{queue}, "include_archived": true}, 1}, {object{"run_ids": []any{}}, 0},
	} {
		require.InDelta(t, tt.want, c.post("/evaluations/queues/query", object{"queue": tt.filter})["count"], 0, "%v", tt.filter)
	}
	require.Equal(t, object{"count": 1.0, "queue": edited}, c.get("/evaluations/queues/"+queue))
	require.Equal(t, object{"count": 0.0, "scenarios": []any{}}, c.post("/evaluations/queues/"+uuid.NewString()+"/scenarios/query", object{}))
	require.Equal(t, object{"count": 1.0, "queue_id": queue}, c.remove("/evaluations/queues/"+queue, nil))
}

// Permissions to read, add and change evaluations, by role.
func TestEvaluationPermissions(t *testing.T) {
	t.Parallel()
	w := newService(t)
	owner := w.owner(t, "a@b.c", false)
	run := text(t, owner.makeRun("one", nil), "id")
	scenario := owner.scenarios(run, 1)[0]
	queue := text(t, owner.post("/evaluations/queues/", object{"queues": []any{object{"run_id": run}}}), "queues", 0, "id")
	looks := []string{"/evaluations/runs/query", "/evaluations/scenarios/query", "/evaluations/results/query", "/evaluations/metrics/query", "/evaluations/queues/query", "/evaluations/queues/" + queue + "/scenarios/query"}
	adds := map[string]object{
		"/evaluations/scenarios/": {"scenarios": []any{object{"run_id": run}}}, "/evaluations/results/": {"results": []any{object{"run_id": run, "scenario_id": scenario, "step_key": "judge-auto"}}},
		"/evaluations/metrics/": {"metrics": []any{object{"run_id": run}}}, "/evaluations/metrics/refresh": {"metrics": object{"run_id": run}},
	}
	changes := map[string]object{
		"/evaluations/runs/": {"runs": []any{object{}}}, "/evaluations/queues/": {"queues": []any{object{"run_id": run}}}, "/evaluations/runs/close": {"run_ids": []any{}}, "/evaluations/runs/open": {"run_ids": []any{run}},
	}
	for _, tt := range []struct {
		role              string
		mayAdd, mayChange bool
	}{{domain.RoleViewer, false, false}, {domain.RoleAnnotator, true, false}, {domain.RoleEditor, true, true}, {domain.RoleOwner, true, true}} {
		c := owner.as(tt.role)
		status := func(may bool) int {
			if may {
				return http.StatusOK
			}
			return http.StatusForbidden
		}
		for _, path := range looks {
			c.expect(http.StatusOK, http.MethodPost, path, object{})
		}
		c.expect(http.StatusOK, http.MethodGet, "/evaluations/runs/"+run, nil)
		for path, body := range adds {
			c.expect(status(tt.mayAdd), http.MethodPost, path, body)
		}
		for path, body := range changes {
			c.expect(status(tt.mayChange), http.MethodPost, path, body)
		}
		c.expect(status(tt.mayChange), http.MethodPatch, "/evaluations/runs/"+run, object{"run": object{"id": run}})
		c.expect(status(tt.mayChange), http.MethodDelete, "/evaluations/runs/", object{"run_ids": []any{}})
	}
}

// Deleting an account deletes its evaluations.
func TestEvaluationsGoWithTheirProject(t *testing.T) {
	t.Parallel()
	w := newService(t)
	e := newEstate(t, w, "gone@b.c")
	before := fingerprint(t, e)
	for _, part := range []string{"run", "scenario", "result", "metrics", "queue"} {
		require.Positive(t, strings.Count(before, e.ids[part]), part)
	}
	status, _, _ := w.admin(t).do(http.MethodDelete, "/admin/simple/accounts/", object{"accounts": object{"x": object{"user": object{"email": "gone@b.c"}}}})
	require.Equal(t, http.StatusNoContent, status)
	require.Empty(t, fingerprint(t, e))
}

// Concurrent requests that set the same results leave one of each.
func TestResultsAreSetOnce(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	ids := c.scenarios(run, 5)
	var together sync.WaitGroup
	failures := make(chan string, 20)
	for n := range 20 {
		together.Go(func() {
			drafts := make([]any, len(ids))
			for i := range ids { // in different orders
				drafts[i] = object{"run_id": run, "scenario_id": ids[(i+n)%len(ids)], "step_key": "judge-auto", "meta": object{"n": n}}
			}
			status, reply, _ := c.do(http.MethodPost, "/evaluations/results/", object{"results": drafts})
			for status == http.StatusServiceUnavailable { // too many at once on a busy machine: the reply says to try again
				status, reply, _ = c.do(http.MethodPost, "/evaluations/results/", object{"results": drafts})
			}
			if status != http.StatusOK {
				failures <- fmt.Sprint(status, reply)
			}
		})
	}
	together.Wait()
	close(failures)
	for f := range failures {
		require.Fail(t, f)
	}
	require.InDelta(t, 5, c.post("/evaluations/results/query", object{"result": object{"run_id": run}})["count"], 0)
}

// After the reply to a close, no result is added.
func TestClosingWaitsForWhoIsInside(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	first := make(chan struct{}, 8)
	var together sync.WaitGroup
	for range 4 {
		together.Go(func() {
			for {
				status, reply, _ := c.do(http.MethodPost, "/evaluations/scenarios/", object{"scenarios": []any{object{"run_id": run}, object{"run_id": run}}})
				select {
				case first <- struct{}{}:
				default:
				}
				if status != http.StatusOK {
					if status != http.StatusConflict {
						t.Errorf("%d %v", status, reply)
					}
					return
				}
			}
		})
	}
	<-first
	c.post("/evaluations/runs/"+run+"/close", nil)
	query := object{"scenario": object{"run_id": run}}
	after := c.post("/evaluations/scenarios/query", query)["count"]
	together.Wait()
	require.Equal(t, after, c.post("/evaluations/scenarios/query", query)["count"])
}

// The service accepts the bodies of the public Python client, with their nulls, on its paths.
func TestEvaluationsAsThePythonClientSendsThem(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := text(t, c.post("/preview/evaluations/runs/", object{"runs": []any{object{
		"name": "sdk", "description": nil, "flags": object{"is_closed": false, "is_live": false, "is_active": true}, "tags": nil, "meta": object{}, "status": "running",
		"data": object{"steps": []any{
			object{"key": "testset-abc", "type": "input", "origin": "custom", "references": object{"testset": object{"id": uuid.NewString()}, "testset_variant": object{"id": uuid.NewString()}, "testset_revision": object{"id": uuid.NewString(), "slug": "s", "version": "1"}}},
			object{"key": "application-def", "type": "invocation", "origin": "custom", "references": object{"application_revision": object{"id": uuid.NewString()}}, "inputs": []any{object{"key": "testset-abc"}}},
			object{"key": "evaluator-ghi", "type": "annotation", "origin": "auto", "references": object{"evaluator_revision": object{"id": uuid.NewString()}}, "inputs": []any{object{"key": "testset-abc"}, object{"key": "application-def"}}},
		}, "repeats": nil, "mappings": []any{}},
	}}}), "runs", 0, "id")
	scenario := text(t, c.post("/preview/evaluations/scenarios/", object{"scenarios": []any{object{"flags": nil, "tags": nil, "meta": nil, "run_id": run, "status": "success"}}}), "scenarios", 0, "id")
	for step, more := range map[string]object{
		"testset-abc": {"testcase_id": uuid.NewString(), "trace_id": nil}, "application-def": {"testcase_id": nil, "trace_id": "0af7651916cd43dd8448eb211c80319c"}, "evaluator-ghi": {"testcase_id": nil, "trace_id": "0af7651916cd43dd8448eb211c80319d"},
	} {
		result := object{"flags": nil, "tags": nil, "meta": nil, "error": nil, "step_key": step, "run_id": run, "scenario_id": scenario, "status": "success"}
		maps.Copy(result, more)
		c.post("/preview/evaluations/results/", object{"results": []any{result}})
	}
	require.Equal(t, scenario, at(t, c.post("/preview/evaluations/metrics/refresh", object{"metrics": object{"run_id": run, "scenario_id": scenario}}), "metrics", 0, "scenario_id"))
	c.post("/evaluations/metrics/refresh", object{"metrics": object{"run_id": run, "scenario_id": nil}})
	require.InDelta(t, 1, c.post("/evaluations/metrics/query", object{"metrics": object{"run_id": run, "scenario_ids": false, "timestamps": false}})["count"], 0)
	closed := objectAt(t, c.post("/preview/evaluations/runs/"+run+"/close/success", nil), "run")
	require.Equal(t, "success", closed["status"])
}

// What people are asked is found in the default queue of the run, which follows its steps.
// Source: contract §5.8.
func TestDefaultQueues(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	input := object{"key": "input", "type": "input", "origin": "custom", "references": object{"testset": object{"id": uuid.NewString()}}}
	judge := func(key, origin string) object {
		return object{"key": key, "type": "annotation", "origin": origin, "references": object{"evaluator_revision": object{"id": uuid.NewString()}}, "inputs": []any{object{"key": "input"}}}
	}
	human, auto := judge("people", "human"), judge("machine", "auto")
	create := func(flags object, steps ...any) object {
		return objectAt(t, c.post("/evaluations/runs/", object{"runs": []any{object{"name": "asked", "flags": flags, "data": object{"steps": steps}}}}), "runs", 0)
	}
	edit := func(run, flags object, steps ...any) object {
		return objectAt(t, c.patch("/evaluations/runs/"+text(t, run, "id"), object{"run": object{"id": run["id"], "flags": flags, "data": object{"steps": steps}}}), "run")
	}
	queue := func(run object) any {
		return c.get("/evaluations/runs/" + text(t, run, "id") + "/queues/default")["queue"]
	}

	run := create(object{}, input, human)
	require.Equal(t, true, at(t, run, "flags", "is_queue"))
	require.Equal(t, run, c.get("/evaluations/runs/" + text(t, run, "id"))["run"])
	first := queue(run)
	require.Equal(t, true, at(t, first, "flags", "is_default"))
	require.Equal(t, "asked", at(t, first, "name"))
	require.Equal(t, at(t, first, "id"), at(t, queue(edit(run, object{"is_queue": false}, input, human, auto)), "id"), "it stays while people are asked")

	quiet := edit(run, object{"is_queue": true}, input, auto)
	require.Equal(t, false, at(t, quiet, "flags", "is_queue"), "the flag is not the client's to set")
	require.Nil(t, queue(run))
	require.InDelta(t, 0, c.post("/evaluations/queues/query", object{"queue": object{"run_id": run["id"]}})["count"], 0)
	archived := c.post("/evaluations/queues/query", object{"queue": object{"run_id": run["id"], "include_archived": true}})
	require.NotEmpty(t, at(t, archived, "queues", 0, "deleted_at"))
	require.Equal(t, true, at(t, edit(run, nil, input, human), "flags", "is_queue"))
	require.Equal(t, at(t, first, "id"), at(t, queue(run), "id"), "it is revived")
	plain := create(object{"is_queue": true}, input, auto)
	require.Equal(t, false, at(t, plain, "flags", "is_queue"))
	require.Nil(t, queue(plain))

	// A default queue holds everything for everybody, is the only one, and stays.
	restricted := object{"user_ids": []any{[]any{uuid.NewString()}}, "scenario_ids": []any{uuid.NewString()}, "step_keys": []any{"people"}, "batch_size": 5, "batch_offset": 0}
	for member, value := range restricted {
		c.fails(http.StatusUnprocessableEntity, "POST", "/evaluations/queues/", object{"queues": []any{object{"run_id": plain["id"], "flags": object{"is_default": true}, "data": object{member: value}}}})
	}
	c.fails(http.StatusConflict, "POST", "/evaluations/queues/", object{"queues": []any{object{"run_id": run["id"], "flags": object{"is_default": true}}}})
	id := text(t, queue(run), "id")
	c.fails(http.StatusConflict, "PATCH", "/evaluations/queues/"+id, object{"queue": object{"id": id, "flags": object{"is_default": false}}})
	c.fails(http.StatusUnprocessableEntity, "PATCH", "/evaluations/queues/"+id, object{"queue": object{"id": id, "data": object{"batch_size": 5}}})
	require.Equal(t, "renamed", at(t, c.patch("/evaluations/queues/"+id, object{"queue": object{"id": id, "name": "renamed", "flags": object{"is_default": true}}}), "queue", "name"))
	other := text(t, c.post("/evaluations/queues/", object{"queues": []any{object{"run_id": run["id"], "data": object{"batch_size": 5}}}}), "queues", 0, "id")
	c.fails(http.StatusConflict, "DELETE", "/evaluations/queues/"+id, nil)
	c.fails(http.StatusConflict, "DELETE", "/evaluations/queues/", object{"queue_ids": []any{other, id}})
	c.fails(http.StatusConflict, "PATCH", "/evaluations/queues/"+other, object{"queue": object{"id": other, "flags": object{"is_default": true}, "data": object{}}})
	require.Equal(t, object{"count": 1.0, "queue_id": other}, c.remove("/evaluations/queues/"+other, nil))
	promoted := text(t, c.post("/evaluations/queues/", object{"queues": []any{object{"run_id": plain["id"], "flags": object{"is_default": false}}}}), "queues", 0, "id")
	require.Equal(t, true, at(t, c.patch("/evaluations/queues/"+promoted, object{"queue": object{"id": promoted, "flags": object{"is_default": true}}}), "queue", "flags", "is_default"))
}

func TestMetricsByID(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	run := c.makeRun("measured", object{})
	made := c.post("/evaluations/metrics/", object{"metrics": []any{object{"run_id": at(t, run, "id"), "data": object{"step": object{"score": 1.0}}}}})
	id := text(t, made, "metrics", 0, "id")
	require.Equal(t, made, c.get("/evaluations/metrics/"+id))
	require.Equal(t, object{"count": 1.0, "metrics_ids": []any{id}}, c.remove("/evaluations/metrics/"+id, nil))
	require.Equal(t, object{"count": 0.0, "metrics": []any{}}, c.get("/evaluations/metrics/"+id))
	require.Equal(t, object{"count": 0.0, "metrics_ids": []any{}}, c.remove("/evaluations/metrics/"+id, nil))
}
