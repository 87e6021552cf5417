package evaluation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
)

// part is a revision of a slug, whose ids follow from its number.
func part(n byte, slug string, origin evaluation.Origin, data string, columns ...string) evaluation.Part {
	r := &entity.Revision{ArtifactID: uuid.UUID{n, 1}, ArtifactSlug: slug, VariantID: uuid.UUID{n, 2}, VariantSlug: slug + ".default", Version: int(n)}
	r.ID, r.Slug = uuid.UUID{n, 3}, slug+"-r"
	if data != "" {
		if err := json.Unmarshal([]byte(data), &r.Data); err != nil {
			panic(err)
		}
	}
	return evaluation.Part{Revision: r, Origin: origin, Columns: columns}
}

// shown is a run's data in one line for each step and mapping.
func shown(d *evaluation.Data) []string {
	var lines []string
	for _, s := range d.Steps {
		words := []string{s.Key, string(s.Type), string(s.Origin)}
		for _, i := range s.Inputs {
			words = append(words, "<"+i.Key)
		}
		lines = append(lines, strings.Join(words, " "))
	}
	for _, m := range d.Mappings {
		lines = append(lines, m.Column.Kind+":"+m.Column.Name+" = "+m.Step.Key+" "+m.Step.Path)
	}
	return lines
}

func TestStepsFollowFromParts(t *testing.T) {
	t.Parallel()
	const scored = `{"schemas":{"outputs":{"type":"object","properties":{"score":{"type":"number"},"why":{"type":"object","properties":{"b":{},"a":{}}}}}}}`
	rows := part(1, "rows", evaluation.Custom, "", "country", "expected")
	app := part(2, "app", evaluation.Custom, "")
	judge := part(3, "judge", evaluation.Auto, scored)
	people := part(4, "people", evaluation.Human, "")
	tests := []struct {
		name string
		in   evaluation.Parts
		want []string
	}{
		{"nothing", evaluation.Parts{}, nil},
		{"a testset, an application, those who judge it", evaluation.Parts{Testsets: []evaluation.Part{rows}, Applications: []evaluation.Part{app}, Evaluators: []evaluation.Part{judge, people}}, []string{
			"testset-rows-r input custom",
			"application-app-r invocation custom <__all_inputs__",
			"evaluator-judge-r annotation auto <__all_invocations__ <__all_inputs__",
			"evaluator-people-r annotation human <__all_invocations__ <__all_inputs__",
			"testset:country = testset-rows-r data.country",
			"testset:expected = testset-rows-r data.expected",
			"invocation:outputs = application-app-r attributes.ag.data.outputs",
			"annotation:score = evaluator-judge-r attributes.ag.data.outputs.score",
			"annotation:why.a = evaluator-judge-r attributes.ag.data.outputs.why.a",
			"annotation:why.b = evaluator-judge-r attributes.ag.data.outputs.why.b",
			"annotation:outputs = evaluator-people-r attributes.ag.data.outputs",
		}},
		{"traces that a query finds", evaluation.Parts{Queries: []evaluation.Part{part(5, "found", evaluation.Custom, "")}, Evaluators: []evaluation.Part{people}}, []string{
			"query-found-r input custom",
			"evaluator-people-r annotation human <__all_inputs__",
			"query:data = query-found-r attributes.ag.data",
			"annotation:outputs = evaluator-people-r attributes.ag.data.outputs",
		}},
		{"each of several applications has judges of its own", evaluation.Parts{Testsets: []evaluation.Part{rows}, Applications: []evaluation.Part{app, part(6, "other", evaluation.Auto, "")}, Evaluators: []evaluation.Part{people}}, []string{
			"testset-rows-r input custom",
			"application-app-r invocation custom <__all_inputs__",
			"application-other-r invocation auto <__all_inputs__",
			"evaluator-people-r.app-r annotation human <application-app-r <__all_inputs__",
			"evaluator-people-r.other-r annotation human <application-other-r <__all_inputs__",
			"testset:country = testset-rows-r data.country",
			"testset:expected = testset-rows-r data.expected",
			"invocation:outputs = application-app-r attributes.ag.data.outputs",
			"invocation:outputs = application-other-r attributes.ag.data.outputs",
			"annotation:outputs = evaluator-people-r.app-r attributes.ag.data.outputs",
			"annotation:outputs = evaluator-people-r.other-r attributes.ag.data.outputs",
		}},
		{"given one by one", evaluation.Parts{Direct: evaluation.DirectTraces, Evaluators: []evaluation.Part{people}}, []string{
			"traces input custom",
			"evaluator-people-r annotation human <__all_inputs__",
			"annotation:outputs = evaluator-people-r attributes.ag.data.outputs",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := tt.in.Data()
			require.NoError(t, data.Check("body"))
			require.Empty(t, cmp.Diff(tt.want, shown(data)), "(-want +got)")
			require.Equal(t, 1, data.Repeats)
		})
	}
	refs := evaluation.Parts{Applications: []evaluation.Part{app}}.Data().Steps[0].References
	require.Equal(t, map[string]domain.Reference{
		"application": {ID: uuid.UUID{2, 1}, Slug: "app"}, "application_variant": {ID: uuid.UUID{2, 2}, Slug: "app.default"},
		"application_revision": {ID: uuid.UUID{2, 3}, Slug: "app-r", Version: "2"},
	}, refs)
}

func TestASimpleEvaluationShowsWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	size := 3
	parts := evaluation.Parts{
		Testsets: []evaluation.Part{part(1, "rows", evaluation.Custom, "")}, Queries: []evaluation.Part{part(5, "found", evaluation.Auto, "")},
		Applications: []evaluation.Part{part(2, "app", evaluation.Auto, ""), part(6, "other", evaluation.Custom, "")},
		Evaluators:   []evaluation.Part{part(4, "people", evaluation.Human, "")},
		Repeats:      2, Concurrency: &evaluation.Concurrency{BatchSize: &size},
	}
	run := evaluation.Run{Status: evaluation.Running, Data: parts.Data()}
	require.Equal(t, evaluation.SimpleData{
		Status: evaluation.Running, Repeats: 2, Concurrency: parts.Concurrency,
		QuerySteps:       map[uuid.UUID]evaluation.Origin{{5, 3}: evaluation.Auto},
		TestsetSteps:     map[uuid.UUID]evaluation.Origin{{1, 3}: evaluation.Custom},
		ApplicationSteps: map[uuid.UUID]evaluation.Origin{{2, 3}: evaluation.Auto, {6, 3}: evaluation.Custom},
		EvaluatorSteps:   map[uuid.UUID]evaluation.Origin{{4, 3}: evaluation.Human},
	}, run.Simple().Data)
	none := evaluation.Run{Status: evaluation.Pending}
	require.Equal(t, evaluation.SimpleData{Status: evaluation.Pending, Repeats: 1}, none.Simple().Data)
}

func TestASimpleQueueShowsItsSource(t *testing.T) {
	t.Parallel()
	size, person := 5, uuid.UUID{9}
	for _, tt := range []struct {
		name  string
		parts evaluation.Parts
		kind  evaluation.QueueKind
		data  *evaluation.QueueData
		want  evaluation.SimpleQueueData
	}{
		{
			"a query's",
			evaluation.Parts{Queries: []evaluation.Part{part(5, "found", evaluation.Custom, "")}, Repeats: 2},
			evaluation.OfQueries, nil,
			evaluation.SimpleQueueData{Queries: []uuid.UUID{{5, 3}}, Repeats: 2},
		},
		{
			"a testset's, shared",
			evaluation.Parts{Testsets: []evaluation.Part{part(1, "rows", evaluation.Custom, "")}},
			evaluation.OfTestsets,
			&evaluation.QueueData{UserIDs: [][]uuid.UUID{{person}, {person}}, BatchSize: &size},
			evaluation.SimpleQueueData{Testsets: []uuid.UUID{{1, 3}}, Repeats: 2, Assignments: [][]uuid.UUID{{person}, {person}}, Settings: &evaluation.QueueSettings{BatchSize: &size}},
		},
		{"traces", evaluation.Parts{Direct: evaluation.DirectTraces}, evaluation.OfTraces, nil, evaluation.SimpleQueueData{}},
		{"testcases", evaluation.Parts{Direct: evaluation.DirectTestcases}, evaluation.OfTestcases, nil, evaluation.SimpleQueueData{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.parts.Evaluators = []evaluation.Part{part(4, "people", evaluation.Human, "")}
			run := evaluation.Run{Data: tt.parts.Data()}
			run.Flags = run.Data.Flags(nil, nil)
			tt.want.Kind, tt.want.Evaluators = tt.kind, map[uuid.UUID]evaluation.Origin{{4, 3}: evaluation.Human}
			got := (&evaluation.Queue{Data: tt.data}).Simple(&run).Data
			if len(got.Queries) == 0 {
				got.Queries = nil
			}
			if len(got.Testsets) == 0 {
				got.Testsets = nil
			}
			require.Empty(t, cmp.Diff(tt.want, got), "(-want +got)")
		})
	}
}

func TestTargetsHaveTwoForms(t *testing.T) {
	t.Parallel()
	a, b := uuid.UUID{1}, uuid.UUID{2}
	for _, tt := range []struct {
		name, in string
		want     []evaluation.Target
		wrong    string
	}{
		{"none", `[]`, []evaluation.Target{}, ""},
		{"ids, each once", `["` + b.String() + `","` + a.String() + `","` + b.String() + `"]`, []evaluation.Target{{ID: b, Origin: "custom"}, {ID: a, Origin: "custom"}}, ""},
		{"origins", `{"` + b.String() + `":"human","` + a.String() + `":"auto"}`, []evaluation.Target{{ID: a, Origin: "auto"}, {ID: b, Origin: "human"}}, ""},
		{"no id", `["x"]`, nil, "uuid_parsing"},
		{"no id in an object", `{"x":"auto"}`, nil, "uuid_parsing"},
		{"no origin", `{"` + a.String() + `":"else"}`, nil, "enum"},
		{"numbers", `[1]`, nil, "list_type"},
		{"a word", `"x"`, nil, "dict_type"},
		{"origins that are no words", `{"` + a.String() + `":1}`, nil, "dict_type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got evaluation.Targets
			err := got.UnmarshalJSON([]byte(tt.in))
			if tt.wrong != "" {
				var e *domain.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.wrong, e.Fields[0].Type)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got.By(evaluation.Custom))
		})
	}
}

func FuzzTargets(f *testing.F) {
	f.Add([]byte(`["00000000-0000-0000-0000-000000000001"]`))
	f.Add([]byte(`{"00000000-0000-0000-0000-000000000001":"auto"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var got evaluation.Targets
		if got.UnmarshalJSON(in) != nil {
			return
		}
		seen := map[uuid.UUID]bool{}
		for _, target := range got {
			require.False(t, seen[target.ID], "each once")
			seen[target.ID] = true
		}
	})
}
