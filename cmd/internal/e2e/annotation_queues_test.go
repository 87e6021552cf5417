//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// queue makes a simple queue and gives its id and that of its run.
func (s *service) queue(data string) (id, run string) {
	s.t.Helper()
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/queues/", `{"queue":{"name":"people","data":`+data+`}}`)
	id, _ = made.at("queue", "id").(string)
	run, _ = made.at("queue", "run_id").(string)
	require.NotEmpty(s.t, id, made.Text)
	return id, run
}

// judgedBy is the key of an evaluation's step that an evaluator revision carries out.
func (s *service) judgedBy(id, revision string) string {
	s.t.Helper()
	run := s.ok(http.StatusOK, http.MethodGet, "/evaluations/runs/"+id, "")
	steps, _ := run.at("run", "data", "steps").([]any)
	for _, step := range steps {
		if at(step, "references", "evaluator_revision", "id") == revision {
			return at(step, "key").(string)
		}
	}
	require.Fail(s.t, "no step of "+revision)
	return ""
}

// say sets what a person says about every scenario of a run, with the trace of an annotation.
func (s *service) say(run, step string) {
	s.t.Helper()
	for _, r := range s.listed("results", "/simple/evaluations/"+run+"/probe", `{"step_keys":["`+step+`"]}`) {
		annotation := s.ok(http.StatusAccepted, http.MethodPost, "/simple/traces/", `{"trace":{"origin":"human","kind":"eval","data":{"outputs":{"approved":true}},"references":{"evaluator":{"slug":"people"}},"links":{}}}`)
		s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/"+run+"/populate", fmt.Sprintf(`{"results":[{"run_id":%q,"scenario_id":%q,"step_key":%q,"repeat_idx":%v,"status":"success","trace_id":%q}]}`,
			run, r["scenario_id"], step, r["repeat_idx"], annotation.at("trace", "trace_id")))
	}
}

// What people are to say stays pending until they say it: in an evaluation
// beside what is computed, and in queues of testsets, of queries, and of traces
// and testcases that are added one by one.
func TestSimpleQueues(t *testing.T) {
	t.Parallel()
	s := newService(t)
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0","schemas":{"outputs":{"type":"object","properties":{"approved":{"type":"boolean"}}}}}`)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	app := s.subject("answers", `{"uri":"svc:custom:mock:v0","parameters":{"key":"static","kwargs":{"output":"Paris"}}}`)
	rows := s.testset("rows", `{"n":0}`, `{"n":1}`)
	user := s.accounts["ours"].User.ID.String()

	t.Run("an evaluation with a person", func(t *testing.T) {
		s := s.with(t)
		id := s.evaluation(`{"data":{"testset_steps":["` + rows + `"],"application_steps":["` + app + `"],"evaluator_steps":{"` + people + `":"human","` + pass + `":"auto"}}}`)
		s.until("the rest is computed", func() bool {
			r := s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "")
			return r.at("evaluation", "data", "status") == "pending" && r.at("evaluation", "flags", "is_active") == false
		})
		theirs := s.judgedBy(id, people)
		for _, step := range s.stepsOf(id) {
			want := "success"
			if step == theirs {
				want = "pending"
			}
			require.Equal(t, []string{want, want}, s.of(id, step), step)
		}
		queues := s.listed("queues", "/evaluations/queues/query", `{"queue":{"run_id":"`+id+`"}}`)
		require.Len(t, queues, 1)
		require.Equal(t, true, at(queues[0], "flags", "is_default"))
		require.Len(t, s.listed("scenarios", "/simple/queues/"+queues[0]["id"].(string)+"/scenarios/query", `{"queue":{"user_id":"`+user+`"},"scenario":{"status":"pending"}}`), 2)
		s.say(id, theirs)
		s.ends(id, "success")
		for _, scenario := range s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`"}}`) {
			require.Equal(t, "success", scenario["status"])
			require.Len(t, scenario["links"], 3)
		}
	})

	t.Run("a queue of a testset", func(t *testing.T) {
		s := s.with(t)
		other := uuid.NewString()
		id, run := s.queue(`{"testsets":["` + rows + `"],"evaluators":["` + people + `"],"assignments":[["` + user + `"],["` + other + `"]]}`)
		shown := s.ok(http.StatusOK, http.MethodGet, "/simple/queues/"+id, "")
		require.Equal(t, "testsets", shown.at("queue", "data", "kind"))
		require.Equal(t, []any{rows}, shown.at("queue", "data", "testsets"))
		require.Equal(t, map[string]any{people: "human"}, shown.at("queue", "data", "evaluators"))
		require.InDelta(t, 2, shown.at("queue", "data", "repeats"), 0)
		require.Equal(t, []any{[]any{user}, []any{other}}, shown.at("queue", "data", "assignments"))
		whole := s.ok(http.StatusOK, http.MethodGet, "/evaluations/runs/"+run, "")
		require.Equal(t, true, whole.at("run", "flags", "is_queue"))
		require.Equal(t, true, whole.at("run", "flags", "has_human"))
		require.Equal(t, "pending", whole.at("run", "status"))
		require.Len(t, s.listed("scenarios", "/simple/queues/"+id+"/scenarios/query", `{}`), 2)
		mine := s.listed("scenarios", "/simple/queues/"+id+"/scenarios/query", `{"queue":{"user_id":"`+user+`"},"scenario":{"status":"pending"}}`)
		require.Len(t, mine, 2)
		require.Empty(t, s.listed("scenarios", "/simple/queues/"+id+"/scenarios/query", `{"queue":{"user_id":"`+uuid.NewString()+`"}}`))
		step := s.stepsOf(run)[1]
		require.Equal(t, []string{"pending", "pending", "pending", "pending"}, s.of(run, step), "of two repeats each")
		s.say(run, step)
		s.ends(run, "success")
	})

	t.Run("a queue of testcases", func(t *testing.T) {
		s := s.with(t)
		testset := s.ok(http.StatusOK, http.MethodPost, "/testsets/revisions/retrieve", `{"testset_revision_ref":`+ref(rows)+`}`)
		ids, _ := testset.at("testset_revision", "data", "testcase_ids").([]any)
		require.Len(t, ids, 2, testset.Text)
		id, run := s.queue(`{"kind":"testcases","evaluators":{"` + people + `":"human","` + pass + `":"auto"}}`)
		require.Empty(t, s.listed("scenarios", "/simple/queues/"+id+"/scenarios/query", `{}`))
		both := fmt.Sprintf(`{"testcase_ids":[%q,%q,%q]}`, ids[0], ids[1], ids[0])
		var adding sync.WaitGroup
		for range 3 { // the same at the same time is added once
			adding.Go(func() { s.do(http.MethodPost, "/simple/queues/"+id+"/testcases/", both) })
		}
		adding.Wait()
		require.Len(t, s.listed("scenarios", "/simple/queues/"+id+"/scenarios/query", `{}`), 2)
		require.Equal(t, []string{"pending", "pending"}, s.of(run, s.judgedBy(run, people)))
		s.until("the rest is computed", func() bool { return slices.Equal(s.of(run, s.judgedBy(run, pass)), []string{"success", "success"}) })
		missing := s.do(http.MethodPost, "/simple/queues/"+id+"/testcases/", `{"testcase_ids":["`+uuid.NewString()+`"]}`)
		require.Equal(t, http.StatusBadRequest, missing.Code, missing.Text)
		wrong := s.do(http.MethodPost, "/simple/queues/"+id+"/traces/", `{"trace_ids":["`+newTraceID()+`"]}`)
		require.Equal(t, http.StatusBadRequest, wrong.Code, wrong.Text)
	})

	t.Run("queues of traces and of what a query finds", func(t *testing.T) {
		s := s.with(t)
		id, _ := s.queue(`{"kind":"traces","evaluators":["` + people + `"]}`)
		s.ok(http.StatusOK, http.MethodPost, "/simple/queues/"+id+"/traces/", `{"trace_ids":["`+newTraceID()+`"]}`)
		scenarios := s.listed("scenarios", "/simple/queues/"+id+"/scenarios/query", `{}`)
		require.Len(t, scenarios, 1)
		require.Equal(t, "pending", scenarios[0]["status"])
		made := s.ok(http.StatusOK, http.MethodPost, "/simple/queries/", `{"query":{"slug":"none","data":{"filtering":{"conditions":[{"field":"span_name","operator":"is","value":"nobody"}]}}}}`)
		query, _ := made.at("query", "revision_id").(string)
		source, _ := s.queue(`{"queries":["` + query + `"],"evaluators":["` + people + `"]}`)
		refused := s.do(http.MethodPost, "/simple/queues/"+source+"/traces/", `{"trace_ids":["`+newTraceID()+`"]}`)
		require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
		require.Equal(t, "Cannot add traces directly to a source-backed queue. Create a direct traces queue instead.", refused.at("detail", "message"))
		ofKind := func(kind string) int {
			return len(s.listed("queues", "/simple/queues/query", `{"queue":{"kind":"`+kind+`"}}`))
		}
		require.Equal(t, []int{1, 1, 2, 1}, []int{ofKind("traces"), ofKind("queries"), ofKind("testsets"), ofKind("testcases")}, "that of the evaluation is one of a testset, too")
	})

	for _, tt := range []struct{ name, data, words string }{
		{"nobody", `{"kind":"traces"}`, `"evaluators"`},
		{"no person", `{"kind":"traces","evaluators":{"` + pass + `":"auto"}}`, "at least one human evaluator"},
		{"two sources", `{"queries":["` + uuid.NewString() + `"],"testsets":["` + rows + `"],"evaluators":["` + people + `"]}`, "either queries or testsets"},
		{"no source", `{"evaluators":["` + people + `"]}`, "requires kind, queries, or testsets"},
		{"another kind", `{"kind":"traces","testsets":["` + rows + `"],"evaluators":["` + people + `"]}`, "must use kind='testsets'"},
		{"a kind without its source", `{"kind":"queries","evaluators":["` + people + `"]}`, "requires query sources"},
		{"an unknown kind", `{"kind":"more","evaluators":["` + people + `"]}`, `"enum"`},
		{"an unknown member", `{"kind":"traces","evaluators":["` + people + `"],"more":1}`, "extra_forbidden"},
	} {
		got := s.do(http.MethodPost, "/simple/queues/", `{"queue":{"data":`+tt.data+`}}`)
		require.Equal(t, http.StatusUnprocessableEntity, got.Code, "%s: %s", tt.name, got.Text)
		require.Contains(t, got.Text, tt.words, tt.name)
	}
}

// The places of an evaluation: steps, scenarios and repeats come and go,
// results are looked at, written, removed and computed again.
func TestSimpleEvaluationPlaces(t *testing.T) {
	t.Parallel()
	s := newService(t)
	rows := s.testset("rows", `{"n":0}`, `{"n":1}`)
	app := s.subject("answers", `{"uri":"svc:custom:mock:v0","parameters":{"key":"static","kwargs":{"output":"Paris"}}}`)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	id := s.evaluation(`{"data":{"testset_steps":["` + rows + `"],"application_steps":["` + app + `"]}}`)
	path := "/simple/evaluations/" + id + "/"
	s.ends(id, "success")
	steps := s.stepsOf(id)
	before := s.resultsOf(id)

	// Another evaluator: only its cells are computed.
	edited := s.ok(http.StatusOK, http.MethodPatch, "/simple/evaluations/"+id, `{"evaluation":{"id":"`+id+`","name":"judged","data":{"testset_steps":["`+rows+`"],"application_steps":["`+app+`"],"evaluator_steps":{"`+pass+`":"auto"}}}}`)
	require.Equal(t, "judged", edited.at("evaluation", "name"))
	judge := s.stepsOf(id)[2]
	require.Empty(t, s.of(id, judge))
	s.ok(http.StatusAccepted, http.MethodPost, path+"process", `{"step_keys":["`+judge+`"]}`)
	s.ends(id, "success")
	require.Equal(t, []string{"success", "success"}, s.of(id, judge))
	after := s.resultsOf(id)
	for place, r := range before {
		require.Equal(t, r["trace_id"], after[place]["trace_id"])
	}

	// Repeats fan out at the evaluator; a slice is computed again where the request asks for it.
	set := s.ok(http.StatusOK, http.MethodPost, path+"repeats/set", `{"repeats":2}`)
	require.InDelta(t, 2, set.at("run", "data", "repeats"), 0)
	s.ok(http.StatusAccepted, http.MethodPost, path+"process", `{}`)
	s.ends(id, "success")
	require.Len(t, s.of(id, judge), 4)
	require.Len(t, s.of(id, steps[1]), 2)
	first := s.listed("results", path+"probe", `{"step_keys":["`+judge+`"],"repeat_idxs":[1]}`)
	require.Len(t, first, 2)
	again := fmt.Sprintf(`{"scenario_ids":[%q],"step_keys":[%q],"repeat_idxs":[1]`, first[0]["scenario_id"], judge)
	s.ok(http.StatusAccepted, http.MethodPost, path+"process", again+`,"overwrite":true}`)
	s.ends(id, "success")
	second := s.listed("results", path+"probe", `{"step_keys":["`+judge+`"],"repeat_idxs":[1]}`)
	require.NotEqual(t, first[0]["trace_id"], second[0]["trace_id"])
	require.Equal(t, first[1]["trace_id"], second[1]["trace_id"])

	// Results and steps go.
	s.ok(http.StatusNoContent, http.MethodPost, path+"prune", again+`}`)
	require.Len(t, s.of(id, judge), 3)
	s.ok(http.StatusNoContent, http.MethodPost, path+"refresh", `{}`)
	added := s.ok(http.StatusOK, http.MethodPost, path+"steps/add", `{"steps":[{"key":"by-hand","type":"annotation","origin":"human","references":{},"inputs":[{"key":"`+steps[1]+`"}]}]}`)
	require.Len(t, added.at("run", "data", "steps"), 4)
	s.ok(http.StatusNoContent, http.MethodPost, path+"steps/remove", `{"step_keys":["`+judge+`"]}`)
	require.Empty(t, s.of(id, judge))
	require.Len(t, s.stepsOf(id), 3)

	// Scenarios come without results, and take them along.
	made := s.listed("scenarios", path+"scenarios/add", `{"count":2,"timestamp":"2026-06-02T14:23:47.5Z"}`)
	require.Equal(t, "2026-06-02T14:23:00Z", made[0]["timestamp"])
	require.InDelta(t, 1, made[0]["interval"], 0)
	scenario := made[0]["id"].(string)
	cell := `{"results":[{"run_id":"` + id + `","scenario_id":"` + scenario + `","step_key":"` + steps[0] + `","status":"success"}]}`
	s.ok(http.StatusOK, http.MethodPost, path+"populate", cell)
	require.Len(t, s.listed("results", path+"probe", `{"scenario_ids":["`+scenario+`"]}`), 1)
	require.Empty(t, s.listed("results", path+"probe", `{"scenario_ids":[]}`))
	require.Empty(t, s.listed("results", path+"populate", `{"results":[]}`))
	other := s.evaluation(`{"flags":{"is_active":false},"data":{"testset_steps":["` + rows + `"]}}`)
	refused := s.do(http.MethodPost, "/simple/evaluations/"+other+"/populate", cell)
	require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
	refused = s.do(http.MethodPost, "/simple/evaluations/"+other+"/scenarios/remove", `{"scenario_ids":["`+scenario+`"]}`)
	require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
	s.ok(http.StatusNoContent, http.MethodPost, path+"scenarios/remove", `{"scenario_ids":["`+scenario+`"]}`)
	require.Empty(t, s.listed("results", path+"probe", `{"scenario_ids":["`+scenario+`"]}`))

	// Closed, nothing of it changes; open again, all does.
	closed := s.ok(http.StatusOK, http.MethodPost, path+"close", "")
	require.Equal(t, true, closed.at("evaluation", "flags", "is_closed"))
	for _, call := range [][2]string{{"scenarios/add", `{"count":1}`}, {"start", ""}, {"process", `{}`}, {"prune", `{}`}, {"repeats", `{"repeats":1}`}, {"populate", strings.Replace(cell, scenario, made[1]["id"].(string), 1)}} {
		refused := s.do(http.MethodPost, path+call[0], call[1])
		require.Equal(t, http.StatusConflict, refused.Code, "%s: %s", call[0], refused.Text)
	}
	s.ok(http.StatusOK, http.MethodPost, path+"open", "")
	require.Len(t, s.listed("evaluations", "/simple/evaluations/query", `{"evaluation":{"ids":["`+id+`"],"flags":{"is_closed":false}}}`), 1)
	gone := s.ok(http.StatusOK, http.MethodDelete, "/simple/evaluations/"+id, "")
	require.Equal(t, id, gone.at("evaluation_id"))
	require.InDelta(t, 0, s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+id, "").at("count"), 0)
}

// A list of queues has all of them, also where the runs behind them are more than
// is read at once.
func TestSimpleQueuesOfLargeRuns(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_ENTITIES_READ_MAX_PAGE_BYTES=8000")
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0"}`)
	for range 3 {
		_, run := s.queue(`{"kind":"traces","evaluators":["` + people + `"]}`)
		s.ok(http.StatusOK, http.MethodPatch, "/evaluations/runs/"+run, `{"run":{"id":"`+run+`","description":"`+strings.Repeat("long ", 1200)+`"}}`)
	}
	require.Len(t, s.listed("queues", "/simple/queues/query", `{}`), 3)
}

// What cannot be run is refused with a sentence, and what clients run
// themselves is left to them.
func TestSimpleEvaluationRefuses(t *testing.T) {
	t.Parallel()
	s := newService(t)
	rows := s.testset("rows", `{"n":0}`)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	for _, tt := range []struct {
		name, body string
		code       int
		words      string
	}{
		{"no data", `{"evaluation":{}}`, http.StatusUnprocessableEntity, `"data"`},
		{"an unknown member", `{"evaluation":{"data":{"more":1}}}`, http.StatusUnprocessableEntity, "extra_forbidden"},
		{"an unknown flag", `{"evaluation":{"flags":{"is_more":true},"data":{}}}`, http.StatusUnprocessableEntity, "is_more"},
		{"an unknown origin", `{"evaluation":{"data":{"evaluator_steps":{"` + pass + `":"else"}}}}`, http.StatusUnprocessableEntity, `"enum"`},
		{"no repeats", `{"evaluation":{"data":{"repeats":0}}}`, http.StatusUnprocessableEntity, "Repeats"},
		{"a revision that is not there", `{"evaluation":{"data":{"evaluator_steps":["` + uuid.NewString() + `"]}}}`, http.StatusBadRequest, "There is no evaluator revision"},
		{"a testset that is none", `{"evaluation":{"data":{"testset_steps":["` + pass + `"]}}}`, http.StatusBadRequest, "There is no testset revision"},
		{"what comes as it comes", `{"evaluation":{"flags":{"is_live":true},"data":{}}}`, http.StatusBadRequest, "is_live"},
	} {
		got := s.do(http.MethodPost, "/simple/evaluations/", tt.body)
		require.Equal(t, tt.code, got.Code, "%s: %s", tt.name, got.Text)
		require.Contains(t, got.Text, tt.words, tt.name)
	}
	empty := s.evaluation(`{"data":{"testset_steps":["` + rows + `"]}}`)
	refused := s.do(http.MethodPost, "/simple/evaluations/"+empty+"/start", "")
	require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "nothing to run")

	// A client that runs it itself says so, and nobody else does.
	theirs := s.evaluation(`{"data":{"status":"running","testset_steps":["` + rows + `"],"evaluator_steps":["` + pass + `"]}}`)
	stays := s.evaluation(`{"data":{"testset_steps":["` + rows + `"],"evaluator_steps":["` + pass + `"]}}`)
	s.ends(stays, "success")
	require.Equal(t, "running", s.ok(http.StatusOK, http.MethodGet, "/simple/evaluations/"+theirs, "").at("evaluation", "data", "status"))
	require.Empty(t, s.resultsOf(theirs))

	// Those who start it at once start it once. What an evaluator cannot run is an outcome.
	people := s.judge("people", `{"uri":"svc:custom:feedback:v0"}`)
	id := s.evaluation(`{"flags":{"is_active":false,"is_cached":true},"data":{"testset_steps":["` + rows + `"],"evaluator_steps":{"` + people + `":"auto","` + pass + `":"auto"},"concurrency":{"max_retries":1,"retry_delay":0}}}`)
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() { s.do(http.MethodPost, "/simple/evaluations/"+id+"/start", "") })
	}
	starting.Wait()
	s.ends(id, "errors")
	require.Len(t, s.listed("scenarios", "/evaluations/scenarios/query", `{"scenario":{"run_id":"`+id+`"}}`), 1)
	annotation, taken := map[any]bool{}, 0
	for _, r := range s.resultsOf(stays) {
		annotation[r["trace_id"]] = r["trace_id"] != nil
	}
	for _, r := range s.resultsOf(id) {
		if r["status"] == "success" && annotation[r["trace_id"]] {
			taken++
		}
	}
	require.Equal(t, 1, taken, "what another run computed from the same is taken over")
}
