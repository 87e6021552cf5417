package evaluate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/evaluation"
)

// What is marked before a run goes on is the inside's: nobody sees it but by
// what is computed, which says nothing about what was computed in vain.
func TestWhatIsMarkedBeforeARunGoesOn(t *testing.T) {
	t.Parallel()
	one, two := uuid.UUID{1}, uuid.UUID{2}
	run := func(active bool) *evaluation.Run {
		return &evaluation.Run{
			Status: evaluation.Running, Flags: evaluation.Flags{evaluation.IsActive: active},
			Data: &evaluation.Data{Repeats: 1, Steps: []evaluation.Step{
				{Key: "in", Type: evaluation.Input},
				{Key: "app", Type: evaluation.Invocation},
				{Key: "judge", Type: evaluation.Annotation},
				{Key: "people", Type: evaluation.Annotation},
			}},
		}
	}
	result := func(scenario uuid.UUID, step string, status evaluation.Status) evaluation.Result {
		r := evaluation.Result{ScenarioID: scenario, StepKey: step, Status: status}
		if step == "in" {
			r.TestcaseID = &uuid.UUID{9}
		}
		return r
	}
	bound := []evaluation.Result{result(one, "in", evaluation.Success)}
	tests := []struct {
		name      string
		run       *evaluation.Run
		results   []evaluation.Result
		within    evaluation.Slice
		overwrite bool
		want      map[string]evaluation.Status
	}{
		{"all of a fresh scenario", run(false), bound, evaluation.Slice{}, false, map[string]evaluation.Status{"1 app": "queued", "1 judge": "queued", "1 people": "pending"}},
		{"nothing of one without input", run(false), []evaluation.Result{{ScenarioID: two, StepKey: "in"}, result(two, "app", evaluation.Queued)}, evaluation.Slice{}, true, map[string]evaluation.Status{}},
		{
			"what was given up, and nothing that ended", run(false),
			append(bound, result(one, "app", evaluation.Success), result(one, "judge", evaluation.Cancelled), result(one, "people", evaluation.Pending)),
			evaluation.Slice{},
			false,
			map[string]evaluation.Status{"1 judge": "queued"},
		},
		{
			"what never ended", run(false), append(bound, result(one, "app", evaluation.Running), result(one, "judge", evaluation.Queued), result(one, "people", evaluation.Success)),
			evaluation.Slice{},
			false,
			map[string]evaluation.Status{"1 app": "queued", "1 judge": "queued"},
		},
		{
			"of a run under way that is its runner's", run(true), append(bound, result(one, "app", evaluation.Running), result(one, "judge", evaluation.Queued), result(one, "people", evaluation.Success)),
			evaluation.Slice{},
			true,
			map[string]evaluation.Status{},
		},
		{
			"what ended, where that is said, but not what people said", run(false),
			append(bound, result(one, "app", evaluation.Success), result(one, "judge", evaluation.Failure), result(one, "people", evaluation.Success)),
			evaluation.Slice{},
			true,
			map[string]evaluation.Status{"1 app": "queued", "1 judge": "queued"},
		},
		{"a slice", run(false), bound, evaluation.Slice{Steps: []string{"judge"}}, false, map[string]evaluation.Status{"1 judge": "queued"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]evaluation.Status{}
			for _, d := range wanted(tt.run, tt.results, tt.within, tt.overwrite, map[string]bool{"people": true}) {
				name := map[uuid.UUID]string{one: "1 ", two: "2 "}[d.ScenarioID] + d.StepKey
				require.NotContains(t, got, name, "each once")
				got[name] = d.Status
			}
			require.Empty(t, cmp.Diff(tt.want, got), "(-want +got)")
		})
	}
}
