package evaluation_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/request"
)

func step(key string, t evaluation.StepType, o evaluation.Origin, references map[string]domain.Reference, inputs ...string) evaluation.Step {
	s := evaluation.Step{Key: key, Type: t, Origin: o, References: references}
	for _, i := range inputs {
		s.Inputs = append(s.Inputs, evaluation.StepInput{Key: i})
	}
	return s
}

func refs(names ...string) map[string]domain.Reference {
	out := map[string]domain.Reference{}
	for _, n := range names {
		out[n] = domain.Reference{Slug: "x"}
	}
	return out
}

func TestDataCheck(t *testing.T) {
	t.Parallel()
	less := -1
	little := -0.5
	tests := []struct {
		name string
		in   evaluation.Data
		want [][]any // locations
	}{
		{"nothing", evaluation.Data{}, nil},
		{"three steps", evaluation.Data{Steps: []evaluation.Step{
			step("in", evaluation.Input, evaluation.Custom, refs("testset_revision")), step("app", evaluation.Invocation, evaluation.Auto, refs("application", "application_revision"), "in"),
			step("judge", evaluation.Annotation, evaluation.Human, nil, "in", "app", "__all_inputs__"),
		}}, nil},
		{"no key", evaluation.Data{Steps: []evaluation.Step{step("", evaluation.Input, evaluation.Custom, nil)}}, [][]any{{"body", "steps", 0, "key"}}},
		{"a key twice, an input that is itself", evaluation.Data{Steps: []evaluation.Step{
			step("a", evaluation.Input, evaluation.Custom, nil), step("a", evaluation.Input, evaluation.Custom, nil), step("b", evaluation.Invocation, evaluation.Custom, nil, "b"),
		}}, [][]any{{"body", "steps", 1, "key"}, {"body", "steps", 2, "inputs", 0, "key"}}},
		{
			"references",
			evaluation.Data{Steps: []evaluation.Step{step("a", evaluation.Input, evaluation.Custom, map[string]domain.Reference{"query": {}, "teapot_revision": {Slug: "x"}})}},
			[][]any{{"body", "steps", 0, "references", "query"}, {"body", "steps", 0, "references", "teapot_revision"}},
		},
		{"repeats", evaluation.Data{Repeats: evaluation.MaxRepeats + 1}, [][]any{{"body", "repeats"}}},
		{"a mapping of no step", evaluation.Data{Mappings: []evaluation.Mapping{{}}}, [][]any{{"body", "mappings", 0, "step", "key"}}},
		{
			"concurrency",
			evaluation.Data{Concurrency: &evaluation.Concurrency{BatchSize: &less, MaxRetries: &less, RetryDelay: &little}},
			[][]any{{"body", "concurrency", "batch_size"}, {"body", "concurrency", "max_retries"}, {"body", "concurrency", "retry_delay"}},
		},
		{"too many steps", evaluation.Data{Steps: many(evaluation.MaxSteps + 1)}, [][]any{{"body", "steps"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.in.Check("body")
			var got [][]any
			if e, ok := errors.AsType[*domain.Error](err); ok {
				require.Equal(t, domain.Invalid, e.Kind)
				for _, f := range e.Fields {
					got = append(got, f.Loc)
				}
			}
			require.Empty(t, cmp.Diff(tt.want, got))
			if err == nil {
				require.Equal(t, 1, tt.in.Repeats)
			}
		})
	}
}

func many(n int) []evaluation.Step {
	all := make([]evaluation.Step, n)
	for i := range all {
		all[i] = step(uuid.NewString(), evaluation.Input, evaluation.Custom, nil)
	}
	return all
}

func TestFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		data       *evaluation.Data
		now, given evaluation.Flags
		want       []evaluation.Flag // those that are true
	}{
		{"nothing", nil, nil, nil, nil},
		{"set flags stay", nil, evaluation.Flags{evaluation.IsLive: true, evaluation.IsActive: true}, evaluation.Flags{evaluation.IsActive: false, evaluation.IsCached: true}, []evaluation.Flag{evaluation.IsLive, evaluation.IsCached}},
		{"derived flags cannot be set", nil, evaluation.Flags{evaluation.HasAuto: true}, evaluation.Flags{evaluation.HasHuman: true}, nil},
		{"queries", &evaluation.Data{Steps: []evaluation.Step{step("a", evaluation.Input, evaluation.Auto, refs("query_revision"))}}, nil, nil, []evaluation.Flag{evaluation.HasQueries}},
		{"testsets", &evaluation.Data{Steps: []evaluation.Step{step("trace-a", evaluation.Input, evaluation.Auto, refs("testset"))}}, nil, nil, []evaluation.Flag{evaluation.HasTestsets}},
		{"traces by key", &evaluation.Data{Steps: []evaluation.Step{step("traces", evaluation.Input, evaluation.Auto, nil)}}, nil, nil, []evaluation.Flag{evaluation.HasTraces}},
		{"testcases by key", &evaluation.Data{Steps: []evaluation.Step{step("testcases-1", evaluation.Input, evaluation.Auto, nil)}}, nil, nil, []evaluation.Flag{evaluation.HasTestcases}},
		{"an input of no source", &evaluation.Data{Steps: []evaluation.Step{step("in", evaluation.Input, evaluation.Auto, nil)}}, nil, nil, nil},
		{"judges", &evaluation.Data{Steps: []evaluation.Step{step("a", evaluation.Annotation, evaluation.Human, nil), step("b", evaluation.Annotation, evaluation.Custom, nil)}}, nil, nil, []evaluation.Flag{evaluation.HasEvaluators, evaluation.HasCustom, evaluation.HasHuman}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tt.data.Flags(tt.now, tt.given)
			require.Len(t, got, len(evaluation.RunFlags()), "every flag is present")
			var is []evaluation.Flag
			for _, f := range evaluation.RunFlags() {
				if got[f] {
					is = append(is, f)
				}
			}
			require.Equal(t, tt.want, is)
		})
	}
}

func TestGivenFlags(t *testing.T) {
	t.Parallel()
	var b struct {
		Run   evaluation.GivenRunFlags   `json:"run"`
		Queue evaluation.GivenQueueFlags `json:"queue"`
	}
	require.NoError(t, request.Decode([]byte(`{"run":{"is_live":true,"has_auto":null},"queue":{"is_default":false}}`), &b))
	require.Equal(t, evaluation.Flags{evaluation.IsLive: true}, b.Run.Flags())
	require.Equal(t, evaluation.Flags{evaluation.IsDefault: false}, b.Queue.Flags())
	require.Nil(t, evaluation.GivenRunFlags(nil).Flags())
	require.Error(t, request.Decode([]byte(`{"run":{"is_default":true}}`), &b))
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, from := range evaluation.Statuses() {
		for _, to := range evaluation.Statuses() {
			undone := from == evaluation.Cancelled && (to == evaluation.Success || to == evaluation.Failure || to == evaluation.Errors)
			require.Equal(t, !undone, from.Becomes(to), "%s %s", from, to)
		}
		var read evaluation.Status
		require.NoError(t, json.Unmarshal([]byte(`"`+string(from)+`"`), &read))
		require.Equal(t, from, read)
	}
	var s evaluation.Status
	require.ErrorContains(t, s.UnmarshalText([]byte("done")), "'pending', 'queued', 'running', 'success', 'failure', 'errors' or 'cancelled'")
}

// Shares are even, whole, disjoint, and always the same.
func TestAssign(t *testing.T) {
	t.Parallel()
	people := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	scenarios := make([]uuid.UUID, 300)
	for i := range scenarios {
		scenarios[i] = uuid.New()
	}
	ten, one := 10, 1
	tests := []struct {
		name       string
		sequential bool
		data       evaluation.QueueData
		most       int // of one person
	}{
		{"by id", false, evaluation.QueueData{UserIDs: [][]uuid.UUID{people}}, 150},
		{"in order", true, evaluation.QueueData{UserIDs: [][]uuid.UUID{people}}, 120},
		{"in order, by tens", true, evaluation.QueueData{UserIDs: [][]uuid.UUID{people}, BatchSize: &ten}, 120},
		{"in order, later", true, evaluation.QueueData{UserIDs: [][]uuid.UUID{people}, BatchSize: &ten, BatchOffset: &one}, 120},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := evaluation.Queue{Flags: evaluation.Flags{evaluation.IsSequential: tt.sequential}, Data: &tt.data}
			seen := map[uuid.UUID]int{}
			for _, p := range people {
				mine := q.Assign(p, scenarios)
				require.Len(t, mine, 1)
				require.LessOrEqual(t, len(mine[0]), tt.most)
				require.NotEmpty(t, mine[0])
				for _, id := range mine[0] {
					seen[id]++
				}
				require.Equal(t, mine, q.Assign(p, scenarios))
			}
			require.Len(t, seen, len(scenarios), "nothing is nobody's")
			for id, n := range seen {
				require.Equal(t, 1, n, id)
			}
			require.Empty(t, q.Assign(uuid.New(), scenarios)[0])
		})
	}
	t.Run("repeats are shared by themselves", func(t *testing.T) {
		t.Parallel()
		q := evaluation.Queue{Data: &evaluation.QueueData{UserIDs: [][]uuid.UUID{people[:1], people[1:2], {}}}}
		require.Equal(t, [][]uuid.UUID{scenarios, nil, nil}, q.Assign(people[0], scenarios))
		require.Equal(t, [][]uuid.UUID{nil, scenarios, nil}, q.Assign(people[1], scenarios))
	})
	t.Run("fewer scenarios than people", func(t *testing.T) {
		t.Parallel()
		q := evaluation.Queue{Flags: evaluation.Flags{evaluation.IsSequential: true}, Data: &evaluation.QueueData{UserIDs: [][]uuid.UUID{people}}}
		n := 0
		for _, p := range people {
			n += len(q.Assign(p, scenarios[:2])[0])
			require.Empty(t, q.Assign(p, nil)[0])
		}
		require.Equal(t, 2, n)
	})
}

func TestMetricsShape(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	var d evaluation.MetricsDraft
	require.NoError(t, d.CheckShape())
	d.ScenarioID = &id
	require.NoError(t, d.CheckShape())
	minutes := 5
	d.ScenarioID, d.Interval = nil, &minutes
	require.Error(t, d.CheckShape(), "an interval of no time")
}

// What was written down is read back the same.
func FuzzData(f *testing.F) {
	f.Add([]byte(`{"steps":[{"key":"a","type":"input","origin":"auto","references":{"query":{"slug":"x"}},"inputs":[]}],"repeats":2,"concurrency":{"retry_delay":0.5},"mappings":[{"column":{"kind":"a","name":"b"},"step":{"key":"a","path":"p"}}]}`))
	f.Add([]byte(`{"repeats":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d evaluation.Data
		if request.Decode(text, &d) != nil || d.Check("body") != nil {
			return
		}
		written, err := json.Marshal(&d)
		require.NoError(t, err)
		var again evaluation.Data
		require.NoError(t, request.Decode(written, &again))
		require.NoError(t, again.Check("body"))
		rewritten, err := json.Marshal(&again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}
