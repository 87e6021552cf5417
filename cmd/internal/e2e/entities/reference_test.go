//go:build embedded

package entities_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Requests of the reference's clients on versioned entities.
func TestReferenceEntities(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)

	// A workflow without a role is found by the id of its revision through every family.
	plain := objectAt(t, c.post("/simple/workflows/", object{"workflow": object{"slug": "plain", "data": object{"parameters": object{"greeting": "hi"}}}}), "workflow")
	for _, family := range []string{"application", "evaluator", "workflow"} {
		found := c.post("/"+family+"s/revisions/retrieve", object{family + "_revision_ref": object{"id": plain["revision_id"]}})
		require.Equal(t, plain["revision_id"], at(t, found, family+"_revision", "id"))
	}
	require.EqualValues(t, 0, c.post("/evaluators/query", object{})["count"], "a list is of the role")
	require.EqualValues(t, 0, c.post("/evaluators/revisions/retrieve", object{"evaluator_ref": object{"slug": "plain"}})["count"])

	judge := objectAt(t, c.post("/workflows/", object{"workflow": object{"slug": "judge", "name": "Judge", "is_evaluator": true}}), "workflow")
	require.Equal(t, true, at(t, judge, "flags", "is_evaluator"))
	require.EqualValues(t, 1, c.post("/evaluators/query", object{})["count"])

	id := text(t, judge, "id")
	c.fails(http.StatusUnprocessableEntity, http.MethodPut, "/workflows/"+id, object{"workflow": object{"id": id, "name": " "}})
	missing := uuid.NewString()
	c.fails(http.StatusNotFound, http.MethodPut, "/workflows/"+missing, object{"workflow": object{"id": missing, "name": "x"}})
	c.post("/workflows/"+id+"/archive", nil)
	c.fails(http.StatusNotFound, http.MethodPut, "/workflows/"+id, object{"workflow": object{"id": id, "name": "x"}})

	// A revision's scope may stand in the record that filters.
	other := objectAt(t, c.post("/simple/workflows/", object{"workflow": object{"slug": "beside", "data": object{}}}), "workflow")
	for _, scope := range []object{{"workflow_variant_id": plain["variant_id"]}, {"workflow_id": plain["id"]}} {
		found := listAt(t, c.post("/workflows/revisions/query", object{"workflow_revision": scope}), "workflow_revisions")
		require.Len(t, found, 2)
		require.Equal(t, plain["revision_id"], at(t, found, 0, "id"))
		require.NotEqual(t, other["revision_id"], at(t, found, 1, "id"))
	}
	c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/workflows/revisions/query",
		object{"workflow_id": plain["id"], "workflow_revision": object{"workflow_id": plain["id"]}})
	for _, action := range []string{"view_secret", "view_secrets", "EDIT_SECRET"} {
		require.Equal(t, "allow", c.get("/access/permissions/check?action=" + action + "&resource_type=local_secrets")["effect"])
	}

	// The slug of a simple record stays, and the reply says so.
	app := c.app("my-app")
	status, reply, header := c.do(http.MethodPut, "/simple/applications/"+text(t, app, "id"), object{"application": object{"id": app["id"], "slug": "other", "name": "New"}})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "my-app", at(t, reply, "application", "slug"))
	require.Equal(t, "New", at(t, reply, "application", "name"))
	require.Equal(t, "application.slug", header.Get("Colonnade-Ignored"))
}

// An environment keeps what its references name, also where nothing of it exists.
func TestReferenceEnvironments(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	app := c.app("my-app")
	made := objectAt(t, c.post("/simple/environments/", object{"environment": object{"slug": "stage"}}), "environment")
	nowhere := uuid.NewString()
	held := objectAt(t, c.post("/environments/revisions/commit", object{"environment_revision_commit": object{
		"environment_variant_id": made["variant_id"], "data": object{"references": object{
			"by-version": object{"application_revision": object{"slug": "my-app", "version": app["version"]}},
			"nothing":    object{"application_revision": object{"id": nowhere}},
			"unknown":    object{"application": object{"slug": "gone", "version": "3"}},
			"empty":      object{},
		}},
	}}), "environment_revision", "data", "references")
	require.Equal(t, app["revision_id"], at(t, held, "by-version", "application_revision", "id"))
	require.Equal(t, "my-app", at(t, held, "by-version", "application", "slug"))
	require.Equal(t, object{"application_revision": object{"id": nowhere}}, held["nothing"])
	require.Equal(t, object{"application": object{"slug": "gone", "version": "3"}}, held["unknown"])
	require.Equal(t, object{}, held["empty"])
}

// A row that a testset has twice is listed twice, over pages too.
func TestReferenceTestcases(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	row := func(q string) object { return object{"data": object{"q": q}} }
	made := c.testset("twice", []any{row("a"), row("b"), row("b"), object{}, row("a")})
	list := func(body object) (ids []any) {
		for {
			reply := c.post("/testcases/query", body)
			for _, one := range listAt(t, reply, "testcases") {
				ids = append(ids, at(t, one, "id"))
			}
			window, _ := reply["windowing"].(object)
			if window["next"] == nil {
				return ids
			}
			body["windowing"] = object{"limit": 2, "next": window["next"]}
		}
	}
	whole := list(object{"testset_revision_ref": object{"id": made["revision_id"]}})
	require.Len(t, whole, 5)
	require.Equal(t, whole[1], whole[2])
	require.Equal(t, whole[0], whole[4])
	require.Equal(t, whole, list(object{"testset_revision_ref": object{"id": made["revision_id"]}, "windowing": object{"limit": 2}}))
	require.Equal(t, whole, list(object{"testcase_ids": whole, "windowing": object{"limit": 2}}))
}

// Requests of the reference's clients on evaluations.
func TestReferenceEvaluations(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	run := text(t, c.makeRun("one", nil), "id")
	ids := c.scenarios(run, 2)
	result := func(scenario any, step string) object {
		return object{"run_id": run, "scenario_id": scenario, "step_key": step, "status": "success"}
	}
	set := objectAt(t, c.patch("/evaluations/results/", object{"results": []any{result(ids[0], "testset-1"), result(ids[0], "judge-auto")}}), "results", 0)
	again := c.put("/evaluations/results/", object{"results": []any{result(ids[0], "testset-1"), object{"id": set["id"], "status": "errors"}}})
	require.EqualValues(t, 2, again["count"])
	require.Equal(t, set["id"], at(t, again, "results", 1, "id"), "the same place is the same result")
	c.fails(http.StatusUnprocessableEntity, http.MethodPatch, "/evaluations/results/", object{"results": []any{object{"run_id": run, "step_key": "x"}}})
	metrics := c.patch("/evaluations/metrics/", object{"metrics": []any{object{"run_id": run, "data": object{"x": 1}}}})
	require.EqualValues(t, 1, metrics["count"])
	require.Equal(t, object{"count": 0.0, "metrics": []any{}}, c.post("/evaluations/metrics/refresh", object{"metrics": object{}}))
	c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/evaluations/metrics/", object{"metrics": []any{
		object{"run_id": run, "scenario_id": ids[0], "timestamp": "2026-01-01T00:00:00Z", "interval": 1, "data": object{}},
	}})

	// Steps that go take their results, and the scenarios of which they were the only input.
	less := objectAt(t, c.patch("/evaluations/runs/"+run, object{"run": object{"id": run, "data": object{"steps": []any{
		object{"key": "judge-auto", "type": "annotation", "origin": "auto", "references": object{"evaluator_revision": object{"slug": "exact"}}},
	}}}}), "run")
	require.Len(t, listAt(t, less, "data", "steps"), 1)
	require.EqualValues(t, 0, c.post("/evaluations/results/query", object{"result": object{"run_id": run}})["count"])
	left := c.post("/evaluations/scenarios/query", object{"scenario": object{"run_id": run}})
	require.Equal(t, ids[1], at(t, left, "scenarios", 0, "id"))
	require.EqualValues(t, 1, left["count"])
	none := c.patch("/evaluations/runs/"+run, object{"run": object{"id": run, "data": object{"steps": []any{}}}})
	require.Empty(t, listAt(t, none, "run", "data", "steps"))

	for _, path := range []string{"/evaluations/runs/" + run + "/close", "/evaluations/runs/" + run + "/open"} {
		for _, body := range []any{"[]", object{"colour": 1}} {
			c.fails(http.StatusUnprocessableEntity, http.MethodPost, path, body)
		}
	}
	c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/evaluations/runs/"+run+"/close?status=over", nil)
	closed := objectAt(t, c.post("/evaluations/runs/"+run+"/close?status=success", object{}), "run")
	require.Equal(t, "success", closed["status"])
	require.Equal(t, true, at(t, closed, "flags", "is_closed"))
}
