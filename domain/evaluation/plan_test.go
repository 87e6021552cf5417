package evaluation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/evaluation"
)

func planned(repeats int, split bool, evaluators ...evaluation.Part) evaluation.Run {
	parts := evaluation.Parts{
		Testsets: []evaluation.Part{part(1, "rows", evaluation.Custom, "")}, Applications: []evaluation.Part{part(2, "app", evaluation.Auto, "")},
		Evaluators: evaluators, Repeats: repeats,
	}
	return evaluation.Run{Data: parts.Data(), Flags: evaluation.Flags{evaluation.IsSplit: split}}
}

func TestOpenCells(t *testing.T) {
	t.Parallel()
	judge := part(3, "judge", evaluation.Auto, "")
	one, two := uuid.UUID{1}, uuid.UUID{2}
	const input, app, annotated = "testset-rows-r", "application-app-r", "evaluator-judge-r"
	result := func(scenario uuid.UUID, step string, repeat int) evaluation.Result {
		return evaluation.Result{ScenarioID: scenario, StepKey: step, RepeatIdx: repeat}
	}
	tests := []struct {
		name    string
		run     evaluation.Run
		of      []uuid.UUID
		results []evaluation.Result
		within  evaluation.Slice
		want    []evaluation.Cell
	}{
		{"everything", planned(1, false, judge), []uuid.UUID{one, two}, nil, evaluation.Slice{}, []evaluation.Cell{{one, app, 0}, {one, annotated, 0}, {two, app, 0}, {two, annotated, 0}}},
		{
			"what is there is not open, whatever it says", planned(1, false, judge),
			[]uuid.UUID{one},
			[]evaluation.Result{result(one, app, 0), result(two, annotated, 0)},
			evaluation.Slice{},
			[]evaluation.Cell{{one, annotated, 0}},
		},
		{"repeats are those of judges", planned(2, false, judge), []uuid.UUID{one}, nil, evaluation.Slice{}, []evaluation.Cell{{one, app, 0}, {one, annotated, 0}, {one, annotated, 1}}},
		{"unless they fan out before", planned(2, true, judge), []uuid.UUID{one}, nil, evaluation.Slice{}, []evaluation.Cell{{one, app, 0}, {one, app, 1}, {one, annotated, 0}, {one, annotated, 1}}},
		{"without judges they are the application's", planned(2, false), []uuid.UUID{one}, nil, evaluation.Slice{}, []evaluation.Cell{{one, app, 0}, {one, app, 1}}},
		{"of a step", planned(1, false, judge), []uuid.UUID{one, two}, nil, evaluation.Slice{Steps: []string{annotated}}, []evaluation.Cell{{one, annotated, 0}, {two, annotated, 0}}},
		{"of a scenario and a repeat", planned(2, false, judge), []uuid.UUID{one, two}, nil, evaluation.Slice{Scenarios: []uuid.UUID{two}, Repeats: []int{1}}, []evaluation.Cell{{two, annotated, 1}}},
		{"an input is nobody's to compute", planned(1, false, judge), []uuid.UUID{one}, nil, evaluation.Slice{Steps: []string{input}}, nil},
		{"of nothing", planned(1, false, judge), []uuid.UUID{one}, nil, evaluation.Slice{Steps: []string{}}, nil},
		{"of a run without steps", evaluation.Run{}, []uuid.UUID{one}, nil, evaluation.Slice{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, tt.run.Open(tt.of, tt.results, tt.within)), "(-want +got)")
		})
	}
}

func TestWhatAJudgeIsAbout(t *testing.T) {
	t.Parallel()
	parts := evaluation.Parts{
		Testsets:     []evaluation.Part{part(1, "rows", evaluation.Custom, "")},
		Applications: []evaluation.Part{part(2, "a", evaluation.Auto, ""), part(3, "b", evaluation.Auto, "")},
		Evaluators:   []evaluation.Part{part(4, "judge", evaluation.Auto, "")},
	}
	several := parts.Data()
	require.Equal(t, "application-a-r", several.Judged(several.Steps[3]).Key)
	require.Equal(t, "application-b-r", several.Judged(several.Steps[4]).Key)
	parts.Applications = parts.Applications[:1]
	one := parts.Data()
	require.Equal(t, "application-a-r", one.Judged(one.Steps[2]).Key)
	parts.Applications = nil
	none := parts.Data()
	require.Nil(t, none.Judged(none.Steps[1]), "it is about the testcase itself")

	run := planned(3, false, part(3, "judge", evaluation.Auto, ""))
	require.Equal(t, 0, run.Lane(run.Data.Steps[1], 2), "every repeat judges the one answer")
	run.Flags[evaluation.IsSplit] = true
	require.Equal(t, 2, run.Lane(run.Data.Steps[1], 2), "each judges its own")
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		parts []evaluation.Status
		want  evaluation.Status
	}{
		{"nothing", nil, evaluation.Success},
		{"all well", []evaluation.Status{evaluation.Success, evaluation.Success}, evaluation.Success},
		{"one went wrong", []evaluation.Status{evaluation.Success, evaluation.Failure, evaluation.Cancelled}, evaluation.Errors},
		{"one of its parts did", []evaluation.Status{evaluation.Errors, evaluation.Success}, evaluation.Errors},
		{"one was given up", []evaluation.Status{evaluation.Cancelled, evaluation.Success}, evaluation.Cancelled},
		{"one is somebody's to say", []evaluation.Status{evaluation.Failure, evaluation.Pending}, evaluation.Pending},
		{"one waits", []evaluation.Status{evaluation.Pending, evaluation.Queued}, evaluation.Running},
		{"one is under way", []evaluation.Status{evaluation.Success, evaluation.Running}, evaluation.Running},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, evaluation.StatusOf(tt.parts))
		})
	}
}
