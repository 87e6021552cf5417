//go:build embedded

package entities_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	readregistry "colonnade/read/entities"
	readruns "colonnade/read/entities/runs"
	"colonnade/write/registry/evaluations"
)

// runModel is an evaluation in memory: the expected result of each sequence of commands.
type runModel struct {
	status    evaluation.Status
	closed    bool
	gone      bool
	scenarios []*scenarioModel
}

type scenarioModel struct {
	id uuid.UUID
	// results holds statuses by step and repeat.
	results map[string]evaluation.Status
}

// machine applies random commands to the service and to the model.
type machine struct {
	t      *testing.T
	w      *service
	caller domain.Principal
	runs   *evaluations.Runs
	read   *readruns.Reader
	random *rand.Rand

	ids    []uuid.UUID
	models map[uuid.UUID]*runModel
}

// refused reports whether the run's state forbids a command, and checks that it was refused.
func (m *machine) refused(run *runModel, err error, what string) bool {
	m.t.Helper()
	switch {
	case run.gone:
		require.Equal(m.t, domain.Rejected, domain.KindOf(err), "%s: %v", what, err)
		return true
	case run.closed:
		require.Equal(m.t, domain.Conflict, domain.KindOf(err), "%s: %v", what, err)
		return true
	default:
		return false
	}
}

func (m *machine) pick() (uuid.UUID, *runModel) {
	id := m.ids[m.random.IntN(len(m.ids))]
	return id, m.models[id]
}

func (m *machine) anyStatus() evaluation.Status {
	all := evaluation.Statuses()
	return all[m.random.IntN(len(all))]
}

func (m *machine) step(ctx context.Context) {
	t := m.t
	if len(m.ids) == 0 || m.random.IntN(12) == 0 {
		made, err := m.runs.CreateRuns(ctx, m.caller, []evaluation.RunDraft{{}, {RecordDraft: evaluation.RecordDraft{Status: evaluation.Running}}})
		require.NoError(t, err)
		for _, r := range made {
			m.ids = append(m.ids, r.ID)
			m.models[r.ID] = &runModel{status: r.Status}
		}
		return
	}
	id, run := m.pick()
	switch m.random.IntN(7) {
	case 0:
		m.edit(ctx, id, run)
	case 1:
		m.close(ctx, id, run)
	case 2:
		opened, err := m.runs.OpenRuns(ctx, m.caller, []uuid.UUID{id})
		require.NoError(t, err)
		require.Len(t, opened, present(!run.gone))
		run.closed = false
	case 3:
		m.add(ctx, id, run)
	case 4, 5:
		m.set(ctx, id, run)
	default:
		m.remove(ctx, id, run)
	}
}

func present(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (m *machine) edit(ctx context.Context, id uuid.UUID, run *runModel) {
	to := m.anyStatus()
	edited, err := m.runs.EditRuns(ctx, m.caller, []evaluation.RunDraft{{RecordDraft: evaluation.RecordDraft{ID: id, Status: to}}})
	if run.gone {
		require.NoError(m.t, err)
		require.Empty(m.t, edited)
		return
	}
	if m.refused(run, err, "edit") {
		return
	}
	if !run.status.Becomes(to) {
		require.Equal(m.t, domain.Conflict, domain.KindOf(err))
		return
	}
	require.NoError(m.t, err)
	run.status = to
}

func (m *machine) close(ctx context.Context, id uuid.UUID, run *runModel) {
	to := m.anyStatus()
	closed, err := m.runs.CloseRuns(ctx, m.caller, []uuid.UUID{id}, to)
	if !run.gone && !run.status.Becomes(to) {
		require.Equal(m.t, domain.Conflict, domain.KindOf(err))
		return
	}
	require.NoError(m.t, err)
	require.Len(m.t, closed, present(!run.gone))
	run.closed, run.status = true, to
}

func (m *machine) add(ctx context.Context, id uuid.UUID, run *runModel) {
	made, err := m.runs.AddScenarios(ctx, m.caller, []evaluation.ScenarioDraft{{PartDraft: evaluation.PartDraft{RunID: id}}})
	if m.refused(run, err, "add") {
		return
	}
	require.NoError(m.t, err)
	run.scenarios = append(run.scenarios, &scenarioModel{id: made[0].ID, results: map[string]evaluation.Status{}})
}

func (m *machine) set(ctx context.Context, id uuid.UUID, run *runModel) {
	var s *scenarioModel
	scenario := uuid.New()
	if len(run.scenarios) > 0 {
		s = run.scenarios[m.random.IntN(len(run.scenarios))]
		scenario = s.id
	}
	step, repeat, status := fmt.Sprint("step-", m.random.IntN(2)), m.random.IntN(2), m.anyStatus()
	_, err := m.runs.SetResults(ctx, m.caller, []evaluation.ResultDraft{{
		PartDraft: evaluation.PartDraft{RunID: id, RecordDraft: evaluation.RecordDraft{Status: status}}, ScenarioID: scenario, StepKey: step, RepeatIdx: repeat,
	}})
	if m.refused(run, err, "set") {
		return
	}
	if s == nil {
		require.Equal(m.t, domain.Rejected, domain.KindOf(err))
		return
	}
	require.NoError(m.t, err)
	s.results[fmt.Sprint(step, "/", repeat)] = status
}

func (m *machine) remove(ctx context.Context, id uuid.UUID, run *runModel) {
	if m.random.IntN(4) == 0 {
		gone, err := m.runs.DeleteRuns(ctx, m.caller, []uuid.UUID{id})
		require.NoError(m.t, err)
		require.Len(m.t, gone, present(!run.gone))
		*run = runModel{gone: true}
		return
	}
	if len(run.scenarios) == 0 {
		return
	}
	i := m.random.IntN(len(run.scenarios))
	_, err := m.runs.DeleteScenarios(ctx, m.caller, []uuid.UUID{run.scenarios[i].id})
	if m.refused(run, err, "delete") {
		return
	}
	require.NoError(m.t, err)
	run.scenarios = slices.Delete(run.scenarios, i, i+1)
}

// compare reads the run with its parts and compares them with the model.
func (m *machine) compare(ctx context.Context) {
	got := map[uuid.UUID]*runModel{}
	page, err := m.read.Runs(ctx, m.caller.Project, readruns.RunQuery{})
	require.NoError(m.t, err)
	for _, r := range page.Items {
		got[r.ID] = &runModel{status: r.Status, closed: r.Closed()}
	}
	scenarios, err := m.read.Scenarios(ctx, m.caller.Project, readruns.PartQuery{Common: readruns.Common{Window: domain.Window{Order: domain.Ascending}}})
	require.NoError(m.t, err)
	byID := map[uuid.UUID]*scenarioModel{}
	for _, s := range scenarios.Items {
		byID[s.ID] = &scenarioModel{id: s.ID, results: map[string]evaluation.Status{}}
		got[s.RunID].scenarios = append(got[s.RunID].scenarios, byID[s.ID])
	}
	results, err := m.read.Results(ctx, m.caller.Project, readruns.ResultQuery{})
	require.NoError(m.t, err)
	for _, r := range results.Items {
		byID[r.ScenarioID].results[fmt.Sprint(r.StepKey, "/", r.RepeatIdx)] = r.Status
	}
	want := map[uuid.UUID]*runModel{}
	for id, r := range m.models {
		if !r.gone {
			want[id] = r
		}
	}
	require.Empty(m.t, cmp.Diff(want, got, cmp.AllowUnexported(runModel{}, scenarioModel{}), cmpopts.EquateEmpty()))
}

func TestRandomCommandsOnRunsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newService(t)
			c := w.owner(t, "a@b.c", false)
			m := &machine{
				t: t, w: w, caller: c.principal(), runs: evaluations.New(w.db, w.write, counted()), read: readruns.New(w.read), random: rand.New(rand.NewPCG(seed, 1)),
				models: map[uuid.UUID]*runModel{},
			}
			for i := range 250 {
				m.step(t.Context())
				if i%25 == 0 {
					m.compare(t.Context())
				}
			}
			m.compare(t.Context())
		})
	}
}

// One runner at a time has a run, and another one takes it when the first has gone.
func TestRunnersTakeTurns(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c, other := w.owner(t, "a@b.c", false), w.owner(t, "b@b.c", false)
	all := evaluations.New(w.db, w.write, counted())
	ctx := t.Context()
	active := object{"status": "queued", "flags": object{"is_active": true}}
	mine, theirs := text(t, c.makeRun("one", active), "id"), text(t, other.makeRun("two", active), "id")
	c.makeRun("not started", object{"flags": object{"is_active": true}})
	c.makeRun("not active", object{"status": "queued"})
	c.makeRun("a client's own", object{"status": "running", "flags": object{"is_active": true}})
	c.makeRun("closed", object{"status": "queued", "flags": object{"is_active": true, "is_closed": true}})

	// Each run is claimed once, however many runners claim at the same time.
	taken := make(chan *evaluations.Claimed, 20)
	var together sync.WaitGroup
	for range 10 {
		together.Go(func() {
			claimed, err := all.Claim(ctx, uuid.New(), time.Hour, evaluations.Busy{})
			if err != nil {
				t.Error(err)
			}
			taken <- claimed
		})
	}
	together.Wait()
	close(taken)
	got := map[string]domain.ProjectID{}
	for claimed := range taken {
		if claimed != nil {
			require.Equal(t, evaluation.Running, claimed.Status)
			got[claimed.ID.String()] = claimed.Project
		}
	}
	require.Equal(t, map[string]domain.ProjectID{mine: c.account.Project.ID, theirs: other.account.Project.ID}, got)

	// Another runner claims a run whose lease is over, and the first one gets an error.
	run, err := uuid.Parse(mine)
	require.NoError(t, err)
	first, second := uuid.New(), uuid.New()
	c.patch("/evaluations/runs/"+mine, object{"run": object{"id": mine, "status": "queued"}})
	claimed, err := all.Claim(ctx, first, -time.Hour, evaluations.Busy{})
	require.NoError(t, err)
	require.Equal(t, run, claimed.ID)
	again, err := all.Claim(ctx, second, time.Hour, evaluations.Busy{})
	require.NoError(t, err)
	require.Equal(t, run, again.ID)
	renewed, err := all.Renew(ctx, c.account.Project.ID, run, first, time.Hour)
	require.NoError(t, err)
	require.False(t, renewed)
	done, err := all.Release(ctx, c.account.Project.ID, run, first, evaluation.Failure)
	require.NoError(t, err)
	require.False(t, done)
	c.patch("/evaluations/runs/"+mine, object{"run": object{"id": mine, "name": "renamed", "status": "running"}})
	renewed, err = all.Renew(ctx, c.account.Project.ID, run, second, time.Hour)
	require.NoError(t, err)
	require.True(t, renewed, "an edit that changes no status takes it from nobody")

	// A runner that shuts down releases the run; a runner whose run was stopped does not finish it.
	done, err = all.Release(ctx, c.account.Project.ID, run, second, "")
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, "queued", at(t, c.get("/evaluations/runs/"+mine), "run", "status"))
	claimed, err = all.Claim(ctx, second, time.Hour, evaluations.Busy{})
	require.NoError(t, err)
	require.Equal(t, run, claimed.ID)
	c.patch("/evaluations/runs/"+mine, object{"run": object{"id": mine, "status": "cancelled"}})
	renewed, err = all.Renew(ctx, c.account.Project.ID, run, second, time.Hour)
	require.NoError(t, err)
	require.False(t, renewed)
	done, err = all.Release(ctx, c.account.Project.ID, run, second, evaluation.Success)
	require.NoError(t, err)
	require.False(t, done)
	require.Equal(t, "cancelled", at(t, c.get("/evaluations/runs/"+mine), "run", "status"))

	c.patch("/evaluations/runs/"+mine, object{"run": object{"id": mine, "status": "queued"}})
	claimed, err = all.Claim(ctx, second, time.Hour, evaluations.Busy{})
	require.NoError(t, err)
	require.Equal(t, run, claimed.ID)
	done, err = all.Release(ctx, c.account.Project.ID, run, second, evaluation.Errors)
	require.NoError(t, err)
	require.True(t, done)
	ended := objectAt(t, c.get("/evaluations/runs/"+mine), "run")
	require.Equal(t, "errors", ended["status"])
	require.Equal(t, false, at(t, ended, "flags", "is_active"))
}

// spy records the statements that a pool sends.
type spy struct {
	mu   sync.Mutex // guards sent
	sent []pgx.TraceQueryStartData
}

func (s *spy) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, q)
	return ctx
}

func (s *spy) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *spy) take() []pgx.TraceQueryStartData {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// The frequent queries of evaluations use their indexes. The statements are those that
// the reader sends, on a database with many runs.
func TestEvaluationReadsUseIndexes(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	project := c.account.Project.ID
	fillEvaluations(t, w, project)
	cfg := w.pool.Config()
	s := &spy{}
	cfg.ConnConfig.Tracer = s
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	entities, err := readregistry.New(readregistry.DefaultConfig(), readregistry.Deps{Pool: pool})
	require.NoError(t, err)
	reader := readruns.New(entities)
	run := uuid.MustParse("0190f3a0-0001-7000-8000-00000000000a")
	scenario := uuid.MustParse("0190f3a0-0002-7000-8000-00000000000a")
	window := readruns.Common{Window: domain.Window{Limit: 50}}
	part := readruns.PartQuery{Common: window, RunIDs: []uuid.UUID{run}}
	for _, tt := range []struct {
		name  string
		read  func(ctx context.Context) error
		index []string // one for each statement
	}{
		{"a run", func(ctx context.Context) error { _, err := reader.Run(ctx, project, run); return err }, []string{"evaluation_runs_"}},
		{"a page of runs", func(ctx context.Context) error {
			_, err := reader.Runs(ctx, project, readruns.RunQuery{Common: window})
			return err
		}, []string{"evaluation_runs_pkey"}},
		{"runs by reference", func(ctx context.Context) error {
			_, err := reader.Runs(ctx, project, readruns.RunQuery{Common: window, References: []map[string]domain.Reference{{"application_revision": {Slug: "app-7"}}}})
			return err
		}, []string{"evaluation_runs_refs"}},
		{"runs by tag", func(ctx context.Context) error {
			q := readruns.RunQuery{Common: window}
			q.Tags = object{"n": 7}
			_, err := reader.Runs(ctx, project, q)
			return err
		}, []string{"evaluation_runs_tags"}},
		{"runs by status", func(ctx context.Context) error {
			q := readruns.RunQuery{Common: window}
			q.Statuses = []evaluation.Status{evaluation.Queued}
			_, err := reader.Runs(ctx, project, q)
			return err
		}, []string{"evaluation_runs_status"}},
		{"scenarios of a run, with links", func(ctx context.Context) error { _, err := reader.Scenarios(ctx, project, part); return err }, []string{"evaluation_scenarios_run", "evaluation_results_"}},
		{"results of a run", func(ctx context.Context) error {
			_, err := reader.Results(ctx, project, readruns.ResultQuery{PartQuery: part})
			return err
		}, []string{"evaluation_results_"}},
		{"results of a scenario", func(ctx context.Context) error {
			_, err := reader.Results(ctx, project, readruns.ResultQuery{PartQuery: readruns.PartQuery{Common: window}, ScenarioIDs: []uuid.UUID{scenario}})
			return err
		}, []string{"evaluation_results_"}},
		{"results of a trace", func(ctx context.Context) error {
			of := trace.TraceID{0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0, 0, 0, 10}
			_, err := reader.Results(ctx, project, readruns.ResultQuery{PartQuery: readruns.PartQuery{Common: window}, TraceIDs: []trace.TraceID{of}})
			return err
		}, []string{"evaluation_results_trace"}},
		{"metrics of a run", func(ctx context.Context) error {
			_, err := reader.Metrics(ctx, project, readruns.MetricsQuery{PartQuery: part})
			return err
		}, []string{"evaluation_metrics_"}},
		{"queues of a run", func(ctx context.Context) error {
			_, err := reader.Queues(ctx, project, readruns.QueueQuery{Common: window, RunIDs: []uuid.UUID{run}})
			return err
		}, []string{"evaluation_queues_run"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.take()
			require.NoError(t, tt.read(t.Context()))
			sent := s.take()
			require.Len(t, sent, len(tt.index))
			for i, q := range sent {
				require.Contains(t, q.SQL, "e.project_id = $1")
				p := plan(t, w, q.SQL, q.Args...)
				require.Contains(t, p, tt.index[i], q.SQL)
				require.NotContains(t, p, "Seq Scan on evaluation", q.SQL)
			}
		})
	}
	t.Run("the next run for a runner", func(t *testing.T) {
		p := plan(t, w, `SELECT project_id, id FROM evaluation_runs
	WHERE status IN ('queued', 'running') AND (status = 'queued' OR leased_until IS NOT NULL) AND (leased_until IS NULL OR leased_until < now()) AND flags @> '{"is_active": true}' AND NOT flags @> '{"is_closed": true}'
	ORDER BY leased_until NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED`)
		require.Contains(t, p, "evaluation_runs_waiting")
	})
}

// fillEvaluations creates two thousand runs of five scenarios and ten results each.
func fillEvaluations(t *testing.T, w *service, project domain.ProjectID) {
	t.Helper()
	const id = `('0190f3a0-%s-7000-8000-' || lpad(to_hex(%s), 12, '0'))::uuid`
	run, scenario := fmt.Sprintf(id, "0001", "i"), fmt.Sprintf(id, "0002", "(i * 20 + n)")
	for _, sql := range []string{
		`INSERT INTO evaluation_runs (project_id, id, flags, tags, status, refs, created_at, created_by_id)
		SELECT $1, ` + run + `, '{"is_active": true}', jsonb_build_object('n', i), CASE WHEN i % 100 = 0 THEN 'queued' ELSE 'success' END,
			jsonb_build_array(jsonb_build_object('application_revision', jsonb_build_object('slug', 'app-' || i))), now(), $1 FROM generate_series(1, 2000) i`,
		`INSERT INTO evaluation_scenarios (project_id, run_id, id, status, created_at, created_by_id)
		SELECT $1, ` + run + `, ` + scenario + `, 'success', now(), $1 FROM generate_series(1, 2000) i, generate_series(0, 4) n`,
		`INSERT INTO evaluation_results (project_id, run_id, scenario_id, step_key, repeat_idx, id, status, trace_id, created_at, created_by_id)
		SELECT $1, ` + run + `, ` + scenario + `, 'step-' || k, 0, ` + fmt.Sprintf(id, "0003", "((i * 20 + n) * 2 + k)") + `, 'success', '0af7651916cd43dd8448eb21' || lpad(to_hex((i * 20 + n) * 2 + k), 8, '0'), now(), $1
		FROM generate_series(1, 2000) i, generate_series(0, 4) n, generate_series(0, 1) k`,
		`INSERT INTO evaluation_metrics (project_id, run_id, id, status, data, created_at, created_by_id)
		SELECT $1, ` + run + `, ` + fmt.Sprintf(id, "0004", "i") + `, 'success', '{}', now(), $1 FROM generate_series(1, 2000) i`,
		`INSERT INTO evaluation_queues (project_id, run_id, id, flags, status, created_at, created_by_id)
		SELECT $1, ` + run + `, ` + fmt.Sprintf(id, "0005", "i") + `, '{}', 'success', now(), $1 FROM generate_series(1, 2000) i`,
	} {
		_, err := w.pool.Exec(t.Context(), sql, uuid.UUID(project))
		require.NoError(t, err)
	}
	_, err := w.pool.Exec(t.Context(), `ANALYZE`)
	require.NoError(t, err)
}
