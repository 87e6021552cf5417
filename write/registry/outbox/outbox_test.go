//go:build embedded

package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/evaluation"
	"colonnade/domain/trace"
	"colonnade/migrations"
	"colonnade/migrations/migrationstest"
	"colonnade/write/registry"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/evaluations"
	"colonnade/write/registry/outbox"
)

// childVariable makes a test process a publisher: it holds a child.
const childVariable = "COLONNADE_TEST_PUBLISHER"

// child is what a publisher process needs to know.
type child struct{ Postgres, ClickHouse string }

func TestMain(m *testing.M) {
	if raw := os.Getenv(childVariable); raw != "" {
		if err := publish(raw); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(embeddedtest.Main(m))
}

// publish runs a publisher until the process is killed. It prints a line at its start.
func publish(raw string) error {
	var c child
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		return err
	}
	pool, err := pgxpool.New(context.Background(), c.Postgres)
	if err != nil {
		return err
	}
	conn, err := connect(c.ClickHouse)
	if err != nil {
		return err
	}
	fmt.Println("publishing")
	return publisher(pool, conn, visible).Run(context.Background())
}

func connect(dsn string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return clickhouse.Open(options)
}

// visible returns an outcome for every trace.
func visible(_ context.Context, _ domain.ProjectID, ids []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error) {
	out := map[trace.TraceID]evaluation.Outcome{}
	for _, id := range ids {
		o := evaluation.NoOutcome()
		o.LatencyMs = 1
		out[id] = o
	}
	return out, nil
}

type outcomes = func(context.Context, domain.ProjectID, []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error)

func publisher(pool *pgxpool.Pool, conn driver.Conn, of outcomes) *outbox.Publisher {
	runs, found := commands(pool)
	return outbox.New(outbox.Deps{Postgres: pool, ClickHouse: conn, Entities: found, Runs: runs, Outcomes: of, Log: slog.New(slog.DiscardHandler)})
}

func commands(pool *pgxpool.Pool) (*evaluations.Runs, *entities.Registry) {
	cfg := registry.DefaultConfig()
	db, err := registry.New(cfg, registry.Deps{Pool: pool, Now: time.Now, Random: credential.Random()})
	if err != nil {
		panic(err)
	}
	found, err := entities.New(db, cfg.ServicesURL)
	if err != nil {
		panic(err)
	}
	return evaluations.New(db, found, evaluations.Spans{}), found
}

// stores are those of one test, with a project.
type stores struct {
	child
	pool   *pgxpool.Pool
	conn   driver.Conn
	runs   *evaluations.Runs
	caller domain.Principal
}

func open(t *testing.T) *stores {
	t.Helper()
	s := &stores{child: child{Postgres: embeddedtest.PostgresDatabase(t), ClickHouse: migrationstest.Database(t)}}
	var err error
	s.pool, err = pgxpool.New(t.Context(), s.Postgres)
	require.NoError(t, err)
	t.Cleanup(s.pool.Close)
	_, err = migrations.Postgres(t.Context(), s.pool)
	require.NoError(t, err)
	s.conn, err = connect(s.ClickHouse)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.conn.Close() })
	s.caller = s.project(t)
	s.runs, _ = commands(s.pool)
	return s
}

// project adds a project and returns its owner.
func (s *stores) project(t *testing.T) domain.Principal {
	t.Helper()
	id := uuid.New()
	for _, sql := range []string{
		`INSERT INTO users (id, email, username, created_at) VALUES ($1, gen_random_uuid()::text || '@example.com', 'u', now())`,
		`INSERT INTO organizations (id, name, owner_id, created_at) VALUES ($1, 'o', $1, now())`,
		`INSERT INTO workspaces (id, organization_id, name, created_at) VALUES ($1, $1, 'w', now())`,
		`INSERT INTO projects (id, organization_id, workspace_id, name, is_default, created_at) VALUES ($1, $1, $1, 'p', true, now())`,
	} {
		_, err := s.pool.Exec(t.Context(), sql, id)
		require.NoError(t, err)
	}
	return domain.Principal{Project: domain.ProjectID(id), User: id}
}

// run makes a run of one step with scenarios.
func (s *stores) run(t *testing.T, scenarios int) (run uuid.UUID, ids []uuid.UUID) {
	t.Helper()
	made, err := s.runs.CreateRuns(t.Context(), s.caller, []evaluation.RunDraft{{Data: &evaluation.Data{Steps: []evaluation.Step{{Key: "answer", Type: evaluation.Invocation, Origin: evaluation.Custom}}}}})
	require.NoError(t, err)
	drafts := make([]evaluation.ScenarioDraft, scenarios)
	for i := range drafts {
		drafts[i].RunID = made[0].ID
	}
	rows, err := s.runs.AddScenarios(t.Context(), s.caller, drafts)
	require.NoError(t, err)
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return made[0].ID, ids
}

func result(run, scenario uuid.UUID, status evaluation.Status, id trace.TraceID) evaluation.ResultDraft {
	d := evaluation.ResultDraft{PartDraft: evaluation.PartDraft{RunID: run}, ScenarioID: scenario, StepKey: "answer", TraceID: id}
	d.Status = status
	return d
}

// published returns the status, latency and trace of each scenario in ClickHouse.
func (s *stores) published(t *testing.T, run uuid.UUID) map[uuid.UUID]string {
	t.Helper()
	rows, err := s.conn.Query(t.Context(), "SELECT scenario_id, concat(status, ' ', toString(latency_ms), ' ', lower(hex(trace_id))) FROM run_results FINAL WHERE project_id = ? AND run_id = ? AND NOT deleted", uuid.UUID(s.caller.Project), run)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := map[uuid.UUID]string{}
	for rows.Next() {
		var id uuid.UUID
		var text string
		require.NoError(t, rows.Scan(&id, &text))
		out[id] = text
	}
	require.NoError(t, rows.Err())
	return out
}

// waiting returns the number of rows of the outbox.
func (s *stores) waiting(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM evaluation_outbox`).Scan(&n))
	return n
}

// A result is published as it is, first without the values of a trace that is not visible,
// then with them; changed and deleted results follow.
func TestPublishes(t *testing.T) {
	t.Parallel()
	s := open(t)
	run, scenarios := s.run(t, 3)
	seen := false
	p := publisher(s.pool, s.conn, func(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error) {
		if !seen {
			return map[trace.TraceID]evaluation.Outcome{}, nil
		}
		return visible(ctx, project, ids)
	})
	pass := func(want int) {
		t.Helper()
		n, err := p.Publish(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	pass(0)
	one := trace.TraceID{1}
	_, err := s.runs.SetResults(t.Context(), s.caller, []evaluation.ResultDraft{
		result(run, scenarios[0], evaluation.Success, one), result(run, scenarios[1], evaluation.Running, trace.TraceID{}), result(run, scenarios[2], evaluation.Queued, trace.TraceID{}),
	})
	require.NoError(t, err)
	require.Equal(t, 3, s.waiting(t))
	pass(3)
	zero := trace.TraceID{}.String()
	require.Equal(t, map[uuid.UUID]string{scenarios[0]: "success nan " + one.String(), scenarios[1]: "running nan " + zero, scenarios[2]: "queued nan " + zero}, s.published(t, run))
	require.Equal(t, 1, s.waiting(t), "the trace is awaited")

	seen = true
	_, err = s.pool.Exec(t.Context(), `UPDATE evaluation_outbox SET due_at = now()`)
	require.NoError(t, err)
	pass(1)
	require.Equal(t, "success 1 "+one.String(), s.published(t, run)[scenarios[0]])
	require.Zero(t, s.waiting(t))

	_, err = s.runs.SetResults(t.Context(), s.caller, []evaluation.ResultDraft{result(run, scenarios[1], evaluation.Failure, trace.TraceID{})})
	require.NoError(t, err)
	_, err = s.runs.DeleteScenarios(t.Context(), s.caller, scenarios[2:])
	require.NoError(t, err)
	pass(2)
	require.Equal(t, map[uuid.UUID]string{scenarios[0]: "success 1 " + one.String(), scenarios[1]: "failure nan " + zero}, s.published(t, run))

	// The rows of a deleted project go away and are published nowhere.
	_, err = s.pool.Exec(t.Context(), `DELETE FROM projects WHERE id = $1`, uuid.UUID(s.caller.Project))
	require.NoError(t, err)
	pass(2)
	require.Zero(t, s.waiting(t))
	require.Len(t, s.published(t, run), 2, "the purge of a deleted project removes them")
}

// The results of a project whose traces cannot be read do not hold up those of another.
func TestAProjectThatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := open(t)
	other := *s
	other.caller = s.project(t)
	failing := s.caller.Project
	p := publisher(s.pool, s.conn, func(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error) {
		if project == failing {
			return nil, domain.E(domain.Unavailable, "not now")
		}
		return visible(ctx, project, ids)
	})
	one := trace.TraceID{1}
	runs := map[*stores]uuid.UUID{}
	for _, of := range []*stores{s, &other} {
		run, scenarios := of.run(t, 2)
		runs[of] = run
		_, err := of.runs.SetResults(t.Context(), of.caller, []evaluation.ResultDraft{result(run, scenarios[0], evaluation.Success, one), result(run, scenarios[1], evaluation.Success, one)})
		require.NoError(t, err)
	}
	n, err := p.Publish(t.Context())
	require.ErrorContains(t, err, uuid.UUID(failing).String())
	require.Equal(t, 2, n)
	for _, text := range other.published(t, runs[&other]) {
		require.Equal(t, "success 1 "+one.String(), text)
	}
	require.Len(t, other.published(t, runs[&other]), 2)
	require.Empty(t, s.published(t, runs[s]))
	require.Equal(t, 2, s.waiting(t), "those of the other project")
}

// No result is missing in ClickHouse, and none is out of date, however often publishers are
// killed while results are set.
func TestEveryResultAcrossKills(t *testing.T) {
	t.Parallel()
	s := open(t)
	const scenarios, kills, rounds = 2000, 4, 8
	run, ids := s.run(t, scenarios)
	raw, err := json.Marshal(s.child)
	require.NoError(t, err)
	start := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+string(raw))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 1)) // it runs
		require.NoError(t, err)
		return cmd
	}
	want := map[uuid.UUID]string{}
	running := start()
	for round := range rounds {
		for from := 0; from < scenarios; from += 500 {
			drafts := make([]evaluation.ResultDraft, 500)
			for i := range drafts {
				id := ids[from+i]
				var of trace.TraceID
				of[0], of[1], of[2] = byte(round+1), byte((from+i)>>8), byte(from+i)
				drafts[i] = result(run, id, evaluation.Success, of)
				want[id] = "success 1 " + of.String()
			}
			_, err := s.runs.SetResults(t.Context(), s.caller, drafts)
			require.NoError(t, err)
		}
		if round < kills {
			require.NoError(t, running.Process.Kill())
			_ = running.Wait() // it was killed
			running = start()
		}
	}
	require.NoError(t, running.Process.Kill())
	_ = running.Wait()                                                               // it was killed
	_, err = s.pool.Exec(t.Context(), `UPDATE evaluation_outbox SET due_at = now()`) // instead of waiting for the leases of those killed
	require.NoError(t, err)
	p := publisher(s.pool, s.conn, visible)
	for s.waiting(t) > 0 {
		_, err := p.Publish(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, want, s.published(t, run))
}
