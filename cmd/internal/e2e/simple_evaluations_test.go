//go:build embedded

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/write/registry/evaluations"
)

// testset makes a testset of rows and gives its revision's id.
func (s *service) testset(slug string, rows ...string) string {
	s.t.Helper()
	for i, row := range rows {
		rows[i] = `{"data":` + row + `}`
	}
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/testsets/", `{"testset":{"slug":"`+slug+`","data":{"testcases":[`+strings.Join(rows, ",")+`]}}}`)
	id, _ := made.at("testset", "revision_id").(string)
	require.NotEmpty(s.t, id, made.Text)
	return id
}

// evaluation makes a simple evaluation and gives its id.
func (s *service) evaluation(body string) string {
	s.t.Helper()
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/", `{"evaluation":`+body+`}`)
	id, _ := made.at("evaluation", "id").(string)
	require.NotEmpty(s.t, id, made.Text)
	return id
}

// ends waits until an evaluation is this, and gives it.
func (s *service) ends(id, status string) map[string]any {
	s.t.Helper()
	var shown map[string]any
	s.until("the evaluation is "+status, func() bool {
		r := s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
		shown, _ = r.at("evaluation").(map[string]any)
		is := at(shown, "data", "status")
		require.False(s.t, is != status && slices.Contains([]any{"success", "failure", "errors", "cancelled"}, is), r.Text)
		return is == status
	})
	return shown
}

// until asks again and again, in the test's own goroutine, so that asking may fail the test.
func (s *service) until(what string, holds func() bool) {
	s.t.Helper()
	ask := time.NewTicker(20 * time.Millisecond)
	defer ask.Stop()
	end := time.NewTimer(2 * time.Minute)
	defer end.Stop()
	for !holds() {
		select {
		case <-ask.C:
		case <-end.C:
			require.FailNow(s.t, "this did not come to hold: "+what)
		}
	}
}

// listed are the members of a list.
func (s *service) listed(member, path, body string) []map[string]any {
	s.t.Helper()
	r := s.ok(http.StatusOK, http.MethodPost, path, body)
	list, _ := r.Body[member].([]any)
	out := make([]map[string]any, len(list))
	for i, one := range list {
		out[i], _ = one.(map[string]any)
	}
	return out
}

// resultsOf are the results of an evaluation by scenario, step and repeat.
func (s *service) resultsOf(id string) map[string]map[string]any {
	s.t.Helper()
	out := map[string]map[string]any{}
	for _, r := range s.listed("results", "/simple/evaluations/"+id+"/probe", `{}`) {
		out[fmt.Sprintf("%v %v %v", r["scenario_id"], r["step_key"], r["repeat_idx"])] = r
	}
	return out
}

// stepsOf are the keys of an evaluation's steps, in their order.
func (s *service) stepsOf(id string) []string {
	s.t.Helper()
	run := s.ok(http.StatusOK, http.MethodGet, "/evaluations/runs/"+id, "")
	steps, _ := run.at("run", "data", "steps").([]any)
	var keys []string
	for _, step := range steps {
		keys = append(keys, at(step, "key").(string))
	}
	return keys
}

// Contract §5.8, simple evaluations: what is named by its ids is run, and each
// testcase leaves an invocation, a judgment of each evaluator, and results that
// name their traces.
func TestSimpleEvaluationRuns(t *testing.T) {
	t.Parallel()
	s := newService(t)
	rows := s.testset("capitals", `{"country":"France","correct_answer":"Paris"}`, `{"country":"Italy","correct_answer":"Rome"}`)
	app := s.subject("answers", `{"uri":"svc:custom:mock:v0","parameters":{"key":"static","kwargs":{"output":"Paris"}}}`)
	exact := s.judge("exact", `{"uri":"svc:builtin:auto_exact_match:v0","parameters":{"correct_answer_key":"correct_answer"}}`)
	length := s.judge("length", scripted)
	data := `{"testset_steps":["` + rows + `"],"application_steps":["` + app + `"],"evaluator_steps":{"` + exact + `":"auto","` + length + `":"custom"},"repeats":1,"concurrency":{"batch_size":2}}`

	// Made without being started, it waits; started, it goes its way; started again, it stays as it is.
	id := s.evaluation(`{"name":"capitals","tags":{"team":"maps"},"flags":{"is_active":false},"data":` + data + `}`)
	waiting := s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
	require.Equal(t, "pending", waiting.at("evaluation", "data", "status"))
	require.Equal(t, map[string]any{exact: "auto", length: "custom"}, waiting.at("evaluation", "data", "evaluator_steps"))
	require.Equal(t, map[string]any{app: "custom"}, waiting.at("evaluation", "data", "application_steps"))
	require.Equal(t, map[string]any{rows: "custom"}, waiting.at("evaluation", "data", "testset_steps"))
	require.Empty(t, s.resultsOf(id))
	started := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/start", "")
	require.Contains(t, []any{"queued", "running", "success"}, started.at("evaluation", "data", "status"))
	shown := s.ends(id, "success")
	require.Equal(t, false, at(shown, "flags", "is_active"))
	require.Equal(t, true, at(shown, "flags", "has_auto"))

	scenarios := s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`"},"windowing":{"order":"ascending"}}`)
	require.Len(t, scenarios, 2)
	results := s.resultsOf(id)
	require.Len(t, results, 2*(1+1+2))
	steps := s.stepsOf(id)
	require.Len(t, steps, 4)
	spans := map[string]map[string]any{}
	for _, span := range s.spansOf(`{"field":"attributes","key":"ag.meta.evaluation.run_id","operator":"is","value":"`+id+`"}`, "") {
		spans[span["trace_id"].(string)] = span
	}
	require.Len(t, spans, 2*3, "one trace of each testcase and application, and of each testcase and evaluator")
	for i, scenario := range scenarios {
		require.Equal(t, "success", scenario["status"])
		cell := func(step string) map[string]any {
			r := results[fmt.Sprintf("%v %v 0", scenario["id"], step)]
			require.NotNil(t, r, step)
			require.Equal(t, "success", r["status"])
			return r
		}
		testcase := cell(steps[0])["testcase_id"]
		require.NotEmpty(t, testcase)
		invocation := spans[cell(steps[1])["trace_id"].(string)]
		require.Equal(t, "invocation", at(invocation, "trace_type"))
		require.Equal(t, "Paris", at(invocation, "attributes", "ag", "data", "outputs"))
		require.Equal(t, app, at(invocation, "attributes", "ag", "references", "application_revision", "id"))
		require.Equal(t, rows, at(invocation, "attributes", "ag", "references", "testset_revision", "id"))
		require.Equal(t, testcase, at(invocation, "attributes", "ag", "references", "testcase", "id"))
		require.Equal(t, "maps", at(invocation, "attributes", "ag", "tags", "team"))
		for step, want := range map[string]map[string]any{steps[2]: {"success": i == 0}, steps[3]: {"score": 0.5, "long": true}} {
			judged := spans[cell(step)["trace_id"].(string)]
			require.Equal(t, "annotation", at(judged, "trace_type"))
			require.Equal(t, app, at(judged, "attributes", "ag", "references", "application_revision", "id"))
			outputs, _ := at(judged, "attributes", "ag", "data", "outputs").(map[string]any)
			if _, exact := outputs["success"]; exact != (want["success"] != nil) {
				continue // steps of evaluators are in the order of their ids
			}
			require.Empty(t, cmp.Diff(want, outputs))
			links, _ := at(judged, "links").([]any)
			require.Equal(t, invocation["trace_id"], at(links[0], "trace_id"))
			require.Equal(t, invocation["span_id"], at(links[0], "span_id"))
		}
	}
	metrics := s.listed("metrics", "/evaluations/metrics/query", `{"metrics":{"run_id":"`+id+`"}}`)
	require.Len(t, metrics, 3, "of the run and of each scenario")

	// Everything is there: started again it computes nothing.
	s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/start", "")
	s.ends(id, "success")
	require.Empty(t, cmp.Diff(results, s.resultsOf(id)))
}

// gate is an application that answers once it is opened, where its input says so.
type gate struct {
	url string
	// waiting gets a word for each call that waits.
	waiting chan struct{}
	open    func()
}

func newGate(t *testing.T) gate {
	t.Helper()
	opened := make(chan struct{})
	g := gate{waiting: make(chan struct{}, 64), open: sync.OnceFunc(func() { close(opened) })}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), `"wait":true`) {
			g.waiting <- struct{}{}
			select {
			case <-opened:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(text), `"fail":true`) {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, `{"outputs":"Paris"}`)
	}))
	t.Cleanup(receiver.Close)
	t.Cleanup(g.open)
	g.url = receiver.URL
	return g
}

// settings let applications reach the gate.
func (gate) settings() []string { return []string{"COLONNADE_INVOKE_WEBHOOK_ALLOW_PRIVATE=true"} }

func (g gate) app(s *service) string {
	s.t.Helper()
	return s.subject("gate", `{"uri":"svc:custom:hook:v0","url":"`+g.url+`"}`)
}

// of are the statuses of a step's results, sorted.
func (s *service) of(id, step string) []string {
	s.t.Helper()
	var out []string
	for _, r := range s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["`+step+`"]}`) {
		out = append(out, r["status"].(string))
	}
	slices.Sort(out)
	return out
}

// An application that fails for one testcase takes nothing from the others; the
// progress of a run is seen while it goes on; what is stopped is cancelled, and
// goes on from there when it is started again.
func TestSimpleEvaluationFailsStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := newService(t, g.settings()...)
	app := g.app(s)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	body := func(rows string) string {
		return `{"data":{"testset_steps":["` + rows + `"],"application_steps":["` + app + `"],"evaluator_steps":{"` + pass + `":"auto"}}}`
	}

	id := s.evaluation(body(s.testset("one-fails", `{"n":0}`, `{"n":1,"fail":true}`, `{"n":2}`)))
	shown := s.ends(id, "errors")
	require.Equal(t, false, at(shown, "flags", "is_active"))
	steps := s.stepsOf(id)
	require.Equal(t, []string{"failure", "success", "success"}, s.of(id, steps[1]))
	require.Equal(t, []string{"cancelled", "success", "success"}, s.of(id, steps[2]), "what did not answer is not judged")
	failed := s.listed("results", "/evaluations/results/query", `{"result":{"run_id":"`+id+`","status":"failure"}}`)
	require.Len(t, failed, 1)
	require.NotEmpty(t, at(failed[0], "error", "message"))
	trace := s.spansOf(`{"field":"trace_id","value":"`+failed[0]["trace_id"].(string)+`"}`, "")
	require.Equal(t, "STATUS_CODE_ERROR", at(trace[0], "status_code"))
	statuses := map[any]int{}
	for _, scenario := range s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`"}}`) {
		statuses[scenario["status"]]++
	}
	require.Equal(t, map[any]int{"errors": 1, "success": 2}, statuses)

	id = s.evaluation(`{"data":{"testset_steps":["` + s.testset("one-waits", `{"n":0}`, `{"n":1,"wait":true}`) + `"],"application_steps":["` + app + `"],"evaluator_steps":{"` + pass + `":"auto"}}}`)
	<-g.waiting
	steps = s.stepsOf(id)
	s.until("the other scenario is done", func() bool { return slices.Equal(s.of(id, steps[2]), []string{"queued", "success"}) })
	require.Equal(t, []string{"running", "success"}, s.of(id, steps[1]))
	running := s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
	require.Equal(t, "running", running.at("evaluation", "data", "status"))
	require.Equal(t, true, running.at("evaluation", "flags", "is_active"))
	refused := s.do(http.MethodPost, "/simple/evaluations/"+id+"/repeats", `{"repeats":2}`)
	require.Equal(t, http.StatusConflict, refused.Code, refused.Text)
	stopped := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/stop", "")
	require.Equal(t, "cancelled", stopped.at("evaluation", "data", "status"))
	s.until("nothing of it is under way", func() bool { return slices.Equal(s.of(id, steps[1]), []string{"cancelled", "success"}) })
	require.Equal(t, []string{"cancelled", "success"}, s.of(id, steps[2]))
	done := s.resultsOf(id)

	g.open()
	s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/start", "")
	s.ends(id, "success")
	for place, r := range s.resultsOf(id) {
		if done[place]["status"] == "success" {
			require.Empty(t, cmp.Diff(done[place], r), "what is there is not computed again")
		}
	}
	require.Equal(t, []string{"success", "success"}, s.of(id, steps[2]))
}

// Who is late to notice that a run was stopped takes nothing from who has started it again.
func TestSimpleEvaluationStartedAgainAtOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := newService(t, g.settings()...)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("one-waits", `{"n":0}`, `{"n":1,"wait":true}`) + `"],"application_steps":["` + g.app(s) + `"],"evaluator_steps":{"` + pass + `":"auto"}}}`)
	<-g.waiting
	waiting := func(many int) func() bool {
		return func() bool {
			var n int
			err := s.Stores.Postgres.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n)
			require.NoError(t, err)
			return n == many
		}
	}
	started := make(chan reply, 1)
	run, err := uuid.Parse(id)
	require.NoError(t, err)
	require.NoError(t, s.Runs.Exclusive(t.Context(), s.accounts["ours"].Project.ID, run, func() error {
		go func() { started <- s.do(http.MethodPost, "/simple/evaluations/"+id+"/start", "") }()
		s.until("the start waits for its turn", waiting(1))
		// The runner sees it when it prolongs its lease, and comes after the start.
		s.ok(http.StatusOK, http.MethodPatch, "/evaluations/runs/"+id, `{"run":{"id":"`+id+`","status":"cancelled","flags":{"is_active":false}}}`)
		s.until("so does the runner", waiting(2))
		return nil
	}))
	require.NoError(t, s.Runs.Exclusive(t.Context(), s.accounts["ours"].Project.ID, run, func() error { // after both
		g.open()
		return nil
	}))
	again := <-started
	require.Equal(t, http.StatusOK, again.Code, again.Text)
	s.ends(id, "success")
}

// A process that ends while it runs an evaluation leaves it to the next one,
// which computes what is missing and nothing else: also one that ended without
// a word, once its lease is over.
func TestSimpleEvaluationSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	// Metrics wait for traces as long as a run does, not as long as a caller.
	s := newIdleService(t, append(g.settings(), "COLONNADE_EVALUATE_LEASE=2s", "COLONNADE_EVALUATE_POLL_INTERVAL=300ms", "COLONNADE_COMMANDS_WAIT_TIMEOUT=1ms")...)
	atWork(t, s.Sink.Run)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`, `{"n":1,"wait":true}`) + `"],"application_steps":["` + g.app(s) + `"],"evaluator_steps":{"` +
		s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`) + `":"auto"}}}`)
	steps := s.stepsOf(id)
	shown := s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
	require.Equal(t, "queued", shown.at("evaluation", "data", "status"))
	require.Equal(t, []string{"queued", "queued"}, s.of(id, steps[1]))

	stop := atWork(t, s.Runner.Run)
	<-g.waiting
	s.until("the other scenario is done", func() bool { return slices.Equal(s.of(id, steps[2]), []string{"queued", "success"}) })
	stop()
	shown = s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
	require.Equal(t, "queued", shown.at("evaluation", "data", "status"), "it waits for whoever comes next")
	before := s.resultsOf(id)

	// The next one dies without a word.
	s.until("the run can be taken", func() bool { // at the latest when the lease is over, where the release came too late
		claimed, err := s.Runs.Claim(t.Context(), uuid.New(), time.Millisecond, evaluations.Busy{})
		require.NoError(t, err)
		return claimed != nil && claimed.ID.String() == id
	})
	shown = s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
	require.Equal(t, "running", shown.at("evaluation", "data", "status"))

	g.open()
	atWork(t, s.Runner.Run)
	s.ends(id, "success")
	after := s.resultsOf(id)
	for place, r := range before {
		if r["status"] == "success" {
			require.Empty(t, cmp.Diff(r, after[place]), "what is there is not computed again")
		}
	}
	require.Equal(t, []string{"success", "success"}, s.of(id, steps[2]))
	require.Len(t, s.listed("metrics", "/evaluations/metrics/query", `{"metrics":{"run_id":"`+id+`"}}`), 3, "of the run and of each scenario, whoever computed it")
}

// A run whose traces nobody could see yet when its process ended is measured by the
// next one, which knows no more of them than their ids.
func TestSimpleEvaluationIsMeasuredWhenItsTracesCome(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	g.open()
	s := newIdleService(t, append(g.settings(), "COLONNADE_COMMANDS_WAIT_TIMEOUT=1ms")...)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`) + `"],"application_steps":["` + g.app(s) + `"],"evaluator_steps":{"` +
		s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`) + `":"auto"}}}`)
	steps := s.stepsOf(id)
	stop := atWork(t, s.Runner.Run)
	s.until("all is computed", func() bool { return slices.Equal(s.of(id, steps[2]), []string{"success"}) })
	stop() // the sink does not run
	atWork(t, s.Runner.Run)
	s.until("the next one has it", func() bool {
		return s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "").at("evaluation", "data", "status") == "running"
	})
	atWork(t, s.Sink.Run)
	s.ends(id, "success")
	require.Len(t, s.listed("metrics", "/evaluations/metrics/query", `{"metrics":{"run_id":"`+id+`"}}`), 2)
}

// A process that cannot prolong its lease gives the run up when that is over, when
// somebody else may take it: nothing is computed by both.
func TestSimpleEvaluationIsGivenUpWithItsLease(t *testing.T) {
	t.Parallel()
	begun, left := make(chan struct{}, 8), make(chan struct{}, 8) // more than there are calls
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or nobody notices that the caller leaves
		begun <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	t.Cleanup(app.Close)
	s := newIdleService(t, "COLONNADE_INVOKE_WEBHOOK_ALLOW_PRIVATE=true", "COLONNADE_INVOKE_WEBHOOK_TIMEOUT=5m", "COLONNADE_EVALUATE_POLL_INTERVAL=50ms", "COLONNADE_EVALUATE_LEASE=300ms")
	for _, statement := range []string{
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not prolonged'; END $$`,
		`CREATE TRIGGER refuse BEFORE UPDATE ON evaluation_runs FOR EACH ROW WHEN (OLD.runner IS NOT NULL) EXECUTE FUNCTION refuse()`,
	} {
		_, err := s.Stores.Postgres.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`) + `"],"application_steps":["` + s.subject("slow", `{"uri":"svc:custom:hook:v0","url":"`+app.URL+`"}`) + `"],"evaluator_steps":["` +
		s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`) + `"]}}`)
	atWork(t, s.Runner.Run)
	<-begun
	s.until("the call is given up", func() bool { return len(left) > 0 })
}

// What is done when a process ends is written down before it goes: the next one
// would do it once more.
func TestSimpleEvaluationWritesDownWhatIsDone(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := newIdleService(t, append(g.settings(), "COLONNADE_EVALUATE_POLL_INTERVAL=50ms")...)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":1,"wait":true}`) + `"],"application_steps":["` + g.app(s) + `"],"evaluator_steps":["` +
		s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`) + `"]}}`)
	stop := atWork(t, s.Runner.Run)
	<-g.waiting
	held, err := s.Stores.Postgres.Begin(t.Context())
	require.NoError(t, err)
	_, err = held.Exec(t.Context(), "SELECT id FROM evaluation_runs WHERE id = $1 FOR UPDATE", id)
	require.NoError(t, err)
	waits := func(like string) (is bool) {
		err := s.Stores.Postgres.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1)`, like).Scan(&is)
		require.NoError(t, err)
		return is
	}
	const writing, renewing = "%FROM evaluation_runs%FOR SHARE%", "%UPDATE evaluation_runs SET leased_until%"
	g.open()
	s.until("the answer is about to be written down", func() bool { return waits(writing) && waits(renewing) })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	s.until("the process stops extending the lease", func() bool { return !waits(renewing) })
	require.NoError(t, held.Rollback(t.Context()))
	<-stopped
	require.Equal(t, []string{"success"}, s.of(id, s.stepsOf(id)[1]))
}

// Starting a stopped run again with no work left returns how the run ended.
func TestSimpleEvaluationStartedAgainWithNothingToDo(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0"}`)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`) + `"],"evaluator_steps":{"` + people + `":"human"}}}`)
	status := func(command string) any {
		return s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/"+command, "").at("evaluation", "data", "status")
	}
	require.Equal(t, "cancelled", status("stop"))
	require.Equal(t, "pending", status("start"))
	require.Equal(t, "cancelled", status("stop"))
	step := s.judgedBy(id, people)
	results := s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["`+step+`"]}`)
	s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/populate", fmt.Sprintf(`{"results":[{"run_id":%q,"scenario_id":%q,"step_key":%q,"status":"success"}]}`, id, results[0]["scenario_id"], step))
	require.Equal(t, "success", status("start"))
}

// What is missing in the store when it fails in between is made when the run is
// started again, and nothing is left over that nobody would ever carry out.
func TestSimpleEvaluationStartsOverWhereTheStoreFailed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.evaluation(`{"flags":{"is_active":false},"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`, `{"n":1}`) + `"],"evaluator_steps":["` +
		s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`) + `"]}}`)
	for _, statement := range []string{
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not kept'; END $$`,
		`CREATE TRIGGER refuse BEFORE INSERT ON evaluation_results FOR EACH ROW EXECUTE FUNCTION refuse()`,
	} {
		_, err := s.Stores.Postgres.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.Equal(t, http.StatusInternalServerError, s.do(http.MethodPost, "/simple/evaluations/"+id+"/start", "").Code)
	_, err := s.Stores.Postgres.Exec(t.Context(), "DROP TRIGGER refuse ON evaluation_results")
	require.NoError(t, err)
	s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/start", "")
	s.ends(id, "success")
	require.Len(t, s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`"}}`), 2)
}

// A run of more results than fit is refused, by whatever road it would come to
// have them, and one that is refused as it is made is not there.
func TestSimpleEvaluationsAreBounded(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_EVALUATE_MAX_RESULTS=20")
	rows := s.testset("rows", `{"n":0}`, `{"n":1}`)
	data := func(repeats int) string {
		return fmt.Sprintf(`"data":{"testset_steps":[%q],"evaluator_steps":[%q],"repeats":%d}`, rows, s.judge(fmt.Sprint("pass", repeats), `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`), repeats)
	}
	refused := s.do(http.MethodPost, "/simple/evaluations/", `{"evaluation":{`+data(1000)+`}}`)
	require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "results")
	require.Empty(t, s.listed("evaluations", "/simple/evaluations/query", `{}`))

	id := s.evaluation(`{` + data(2) + `}`)
	s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/stop", "")
	s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/repeats", `{"repeats":1000}`)
	for _, command := range []string{"start", "process"} {
		body := ""
		if command == "process" {
			body = `{}`
		}
		refused := s.do(http.MethodPost, "/simple/evaluations/"+id+"/"+command, body)
		require.Equal(t, http.StatusBadRequest, refused.Code, "%s: %s", command, refused.Text)
	}
}

// Of a run with many results a part is shown at once, as much as is asked for.
func TestSimpleEvaluationIsProbedInParts(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`) + `"],"evaluator_steps":{"` + s.judge("people", `{"uri":"svc:custom:feedback:v0"}`) + `":"human"}}}`)
	_, err := s.Stores.Postgres.Exec(t.Context(), `INSERT INTO evaluation_results (project_id, run_id, scenario_id, step_key, repeat_idx, id, status, created_at, created_by_id)
SELECT project_id, run_id, id, 'more', n, gen_random_uuid(), 'success', created_at, created_by_id FROM evaluation_scenarios, generate_series(1, 50001) AS n WHERE run_id = $1`, id)
	require.NoError(t, err)
	refused := s.do(http.MethodPost, "/simple/evaluations/"+id+"/probe", `{}`)
	require.Equal(t, http.StatusBadRequest, refused.Code)
	require.Contains(t, refused.Text, "fewer")
	require.Len(t, s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["more"],"repeat_idxs":[7,8,9999999999]}`), 2)
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+id+"/prune", `{"step_keys":["more"],"repeat_idxs":[7,8]}`)
	require.Empty(t, s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["more"],"repeat_idxs":[7,8]}`))
}

// Who says something while a run is started keeps it from nothing: it goes on.
func TestSimpleEvaluationStartedWhileSomebodySpeaks(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0"}`)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`) + `"],"evaluator_steps":{"` + people + `":"human"}}}`)
	require.Equal(t, "pending", s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "").at("evaluation", "data", "status"))
	step := s.judgedBy(id, people)
	results := s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["`+step+`"]}`)
	cell := fmt.Sprintf(`{"results":[{"run_id":%q,"scenario_id":%q,"step_key":%q,"status":"success"}]}`, id, results[0]["scenario_id"], step)
	run, err := uuid.Parse(id)
	require.NoError(t, err)
	spoke := make(chan reply, 1)
	require.NoError(t, s.Runs.Exclusive(t.Context(), s.accounts["ours"].Project.ID, run, func() error {
		go func() { spoke <- s.do(http.MethodPost, "/simple/evaluations/"+id+"/populate", cell) }()
		s.until("the result is stored", func() bool { return slices.Equal([]string{"success"}, s.of(id, step)) })
		s.until("and waits for its turn, or does not", func() bool {
			var n int
			err := s.Stores.Postgres.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n)
			require.NoError(t, err)
			return n == 1 || len(spoke) == 1
		})
		require.Empty(t, spoke, "it decides what the run is only when nobody else does")
		s.ok(http.StatusOK, http.MethodPatch, "/evaluations/runs/"+id, `{"run":{"id":"`+id+`","status":"queued","flags":{"is_active":true}}}`)
		return nil
	}))
	require.Equal(t, http.StatusOK, (<-spoke).Code)
	shown := s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
	require.Equal(t, "queued", shown.at("evaluation", "data", "status"))
	require.Equal(t, true, shown.at("evaluation", "flags", "is_active"))
}

// What people say while the rest is still computed counts when that is done.
func TestSimpleEvaluationOfPeopleWhoAreFaster(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := newService(t, g.settings()...)
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0"}`)
	id := s.evaluation(`{"data":{"testset_steps":["` + s.testset("rows", `{"n":0}`, `{"n":1,"wait":true}`) + `"],"application_steps":["` + g.app(s) + `"],"evaluator_steps":{"` + people + `":"human"}}}`)
	<-g.waiting
	step := s.judgedBy(id, people)
	s.until("the runner is through with the other", func() bool {
		return len(s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`","status":"running"}}`)) == 1
	})
	for _, r := range s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["`+step+`"]}`) {
		s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+id+"/populate", fmt.Sprintf(`{"results":[{"run_id":%q,"scenario_id":%q,"step_key":%q,"status":"success"}]}`, id, r["scenario_id"], step))
	}
	g.open()
	s.ends(id, "success")
}

// What went with a step or was taken out shows in no metrics, and a deleted trace
// is not taken over by who would have it computed once.
func TestSimpleEvaluationForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	rows := s.testset("rows", `{"n":0}`, `{"n":1}`)
	app := s.subject("answers", `{"uri":"svc:custom:mock:v0","parameters":{"key":"static","kwargs":{"output":"Paris"}}}`)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	body := `{"flags":{"is_cached":true},"data":{"testset_steps":["` + rows + `"],"application_steps":["` + app + `"],"evaluator_steps":{"` + pass + `":"auto"}}}`
	id := s.evaluation(body)
	s.ends(id, "success")
	steps := s.stepsOf(id)
	results := s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["`+steps[1]+`"]}`)
	require.Len(t, results, 2)

	s.ok(http.StatusAccepted, http.MethodDelete, "/traces/"+results[0]["trace_id"].(string), "")
	s.until("it is gone", func() bool {
		return s.ok(http.StatusOK, http.MethodGet, "/traces/"+results[0]["trace_id"].(string), "").at("count") == 0.0
	})
	again := s.evaluation(body)
	s.ends(again, "success")
	taken := s.listed("results", "/simple/evaluations/"+again+"/probe", `{"step_keys":["`+s.stepsOf(again)[1]+`"]}`)
	require.Len(t, taken, 2)
	require.NotEqual(t, results[0]["trace_id"], taken[0]["trace_id"])
	require.Equal(t, results[1]["trace_id"], taken[1]["trace_id"])

	metrics := func() []map[string]any {
		return s.listed("metrics", "/evaluations/metrics/query", `{"metrics":{"run_id":"`+id+`"}}`)
	}
	require.Len(t, metrics(), 3)
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+id+"/steps/remove", `{"step_keys":["`+steps[2]+`"]}`)
	for _, m := range metrics() {
		require.NotContains(t, m["data"], steps[2])
	}
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+id+"/scenarios/remove", `{"scenario_ids":["`+results[0]["scenario_id"].(string)+`"]}`)
	left := metrics()
	require.Len(t, left, 2)
	for _, m := range left {
		require.InDelta(t, 1, at(m, "data", steps[1], "attributes.ag.metrics.duration.cumulative", "count"), 0)
	}
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+id+"/scenarios/remove", `{"scenario_ids":["`+results[1]["scenario_id"].(string)+`"]}`)
	require.Empty(t, metrics())
	s.ok(http.StatusNoContent, http.MethodPost, "/simple/evaluations/"+again+"/prune", `{}`)
	require.Empty(t, s.listed("metrics", "/evaluations/metrics/query", `{"metrics":{"run_id":"`+again+`"}}`))
}

// Evaluators judge stored traces that a saved query finds, without an application.
func TestSimpleEvaluationOfTraces(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.subject("echo", `{"uri":"svc:custom:mock:v0","parameters":{"key":"static","kwargs":{"output":"Paris"}}}`)
	for n := range 2 { // each is looked for by its own token: they may lie in different partitions
		invoked := s.ok(http.StatusOK, http.MethodPost, "/services/invoke", `{"data":{"inputs":{"correct_answer":"Paris"}},"references":{"application":{"slug":"echo"}},"tags":{"kind":"product"}}`)
		require.Len(t, s.spansOf(`{"field":"attributes","key":"ag.tags.kind","operator":"is","value":"product"}`, invoked.Header.Get("Colonnade-Token")), n+1)
	}
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/queries/", `{"query":{"slug":"products","data":{"filtering":{"conditions":[{"field":"attributes","key":"ag.tags.kind","operator":"is","value":"product"}]}}}}`)
	query, _ := made.at("query", "revision_id").(string)
	exact := s.judge("exact", `{"uri":"svc:builtin:auto_exact_match:v0","parameters":{"correct_answer_key":"correct_answer"}}`)

	id := s.evaluation(`{"data":{"query_steps":["` + query + `"],"evaluator_steps":["` + exact + `"],"repeats":2}}`)
	shown := s.ends(id, "success")
	require.Equal(t, map[string]any{query: "custom"}, at(shown, "data", "query_steps"))
	require.InDelta(t, 2, at(shown, "data", "repeats"), 0)
	steps := s.stepsOf(id)
	inputs := s.listed("results", "/simple/evaluations/"+id+"/probe", `{"step_keys":["`+steps[0]+`"]}`)
	require.Len(t, inputs, 2)
	judged := s.spansOf(`{"field":"attributes","key":"ag.meta.evaluation.run_id","operator":"is","value":"`+id+`"}`, "")
	require.Len(t, judged, 4, "two repeats of each trace")
	of := map[any]int{}
	for _, span := range judged {
		require.Equal(t, map[string]any{"success": true}, at(span, "attributes", "ag", "data", "outputs"))
		links, _ := at(span, "links").([]any)
		of[at(links[0], "trace_id")]++
	}
	require.Equal(t, map[any]int{inputs[0]["trace_id"]: 2, inputs[1]["trace_id"]: 2}, of)
	scenario := s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`"}}`)[0]
	require.Len(t, scenario["links"], 3, "the trace, and its two judgments")
}
