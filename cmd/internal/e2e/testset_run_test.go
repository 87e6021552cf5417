//go:build embedded

package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Interface.md §1: "Each run invokes a subject (an application revision) over
// a testset." A testset is named as in retrieve; its traces refer to its
// revision and to the testcase.
func TestEvaluationOverATestset(t *testing.T) {
	t.Parallel()
	s := newService(t)
	application := s.subject("echo", `{"uri":"svc:custom:mock:v0","parameters":{"key":"echo"}}`)
	pass := s.judge("pass", `{"uri":"svc:custom:mock:v0","parameters":{"key":"pass"}}`)
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/testsets/", `{"testset":{"slug":"golden","data":{"testcases":[{"data":{"a":1}},{"data":{"a":2}}]}}}`)
	testset, _ := made.at("testset", "id").(string)
	revision, _ := made.at("testset", "revision_id").(string)
	ids, _ := made.at("testset", "data", "testcase_ids").([]any)
	require.Len(t, ids, 2)
	request := func(of string) string {
		return `{"evaluation":{"application_revision_ref":` + ref(application) + `,"evaluator_revision_refs":[` + ref(pass) + `],` + of + `}}`
	}
	run := s.ok(http.StatusOK, http.MethodPost, "/simple/evaluations/run", request(`"testset_ref":{"slug":"golden"}`))
	require.Equal(t, "success", run.at("evaluation", "status"), run.Text)
	require.Equal(t, revision, run.at("evaluation", "references", "testset_revision", "id"))
	scenarios, _ := run.at("evaluation", "scenarios").([]any)
	require.Len(t, scenarios, 2)
	for i, scenario := range scenarios {
		require.Equal(t, ids[i], at(scenario, "testcase_id"))
	}
	id, _ := run.at("evaluation", "id").(string)
	spans := s.spansOf(`{"field":"attributes","key":"ag.meta.evaluation.run_id","operator":"is","value":"`+id+`"}`, run.Header.Get("Colonnade-Token"))
	require.Len(t, spans, 4)
	for _, span := range spans {
		require.Equal(t, testset, at(span, "attributes", "ag", "references", "testset", "id"))
		require.Equal(t, revision, at(span, "attributes", "ag", "references", "testset_revision", "id"))
		require.Contains(t, ids, at(span, "attributes", "ag", "references", "testcase", "id"))
	}

	for name, tt := range map[string]struct {
		who, of string
		code    int
	}{
		"a revision":            {"ours owner", `"testset_revision_ref":` + ref(revision), http.StatusOK},
		"both":                  {"ours owner", `"testset_ref":{"slug":"golden"},"testcases":[{"data":{}}]`, http.StatusBadRequest},
		"neither":               {"ours owner", `"tags":{}`, http.StatusUnprocessableEntity},
		"an unknown testset":    {"ours owner", `"testset_ref":{"slug":"silver"}`, http.StatusNotFound},
		"a version of nothing":  {"ours owner", `"testset_revision_ref":{"version":"1"}`, http.StatusBadRequest},
		"a placeholder":         {"ours owner", `"testset_ref":{"slug":"golden"},"testset_revision_ref":{"version":"0"}`, http.StatusBadRequest},
		"another one's testset": {"theirs owner", `"testset_revision_ref":` + ref(revision), http.StatusNotFound},
	} {
		got := s.as(tt.who, http.MethodPost, "/simple/evaluations/run", request(tt.of))
		require.Equal(t, tt.code, got.Code, "%s: %s", name, got.Text)
	}
}
