//go:build embedded

package entitycopy_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/migrations"
	"colonnade/migrations/migrationstest"
	"colonnade/migrations/schema"
	"colonnade/write/registry/entitycopy"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// stores are databases with our tables, and two projects with the views of the first.
type stores struct {
	pool  *pgxpool.Pool
	conn  driver.Conn
	mine  uuid.UUID
	other uuid.UUID
}

func newStores(t *testing.T) stores {
	t.Helper()
	options, err := clickhouse.ParseDSN(migrationstest.Database(t))
	require.NoError(t, err)
	s := stores{mine: uuid.New(), other: uuid.New()}
	s.conn, err = clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.conn.Close() })
	s.pool, err = pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(s.pool.Close)
	_, err = migrations.Postgres(t.Context(), s.pool)
	require.NoError(t, err)
	for _, id := range []uuid.UUID{s.mine, s.other} {
		s.exec(t, `INSERT INTO users (id, email, username, created_at) VALUES ($1, gen_random_uuid()::text || '@example.com', 'u', now())`, id)
		s.exec(t, `INSERT INTO organizations (id, name, owner_id, created_at) VALUES ($1, 'o', $1, now())`, id)
		s.exec(t, `INSERT INTO workspaces (id, organization_id, name, created_at) VALUES ($1, $1, 'w', now())`, id)
		s.exec(t, `INSERT INTO projects (id, organization_id, workspace_id, name, is_default, created_at) VALUES ($1, $1, $1, 'p', true, now())`, id)
	}
	require.NoError(t, migrations.CreateViews(t.Context(), s.conn, migrations.Deployment{}, domain.ProjectID(s.mine)))
	t.Cleanup(func() {
		require.NoError(t, migrations.DropViews(context.WithoutCancel(t.Context()), s.conn, migrations.Deployment{}, domain.ProjectID(s.mine)))
	})
	return s
}

func (s stores) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// addArtifact inserts an artifact with a variant and its revision 1.
func (s stores) addArtifact(t *testing.T, project uuid.UUID, kind, slug, flags string, at time.Time) uuid.UUID {
	t.Helper()
	id := uuid.New()
	s.exec(t, `INSERT INTO artifacts (project_id, id, kind, slug, name, flags, tags, created_at, created_by_id) VALUES ($1, $2, $3, $4, 'a name', $5, '{"team": "x"}', $6, $2)`, project, id, kind, slug, flags, at)
	s.exec(t, `INSERT INTO variants (project_id, id, kind, artifact_id, slug, created_at, created_by_id) VALUES ($1, $2, $3, $2, $4 || '.default', $5, $2)`, project, id, kind, slug, at)
	s.exec(t, `INSERT INTO revisions (project_id, id, kind, artifact_id, variant_id, version, slug, author_id, date, message, created_at, created_by_id)
		VALUES ($1, $2, $3, $2, $2, 1, $4 || '.1', $2, $5, 'first', $5, $2)`, project, id, kind, slug, at)
	return id
}

// view returns an expression over the rows of a view, in order.
func (s stores) view(t *testing.T, view, expression string) []string {
	t.Helper()
	rows, err := s.conn.Query(t.Context(), "SELECT "+expression+" AS line FROM "+schema.Quote(schema.ViewsDatabase(domain.ProjectID(s.mine)))+"."+view+" ORDER BY line")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := []string{}
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		out = append(out, line)
	}
	require.NoError(t, rows.Err())
	return out
}

// Views show the entities of their project as Postgres has them after a pass, whichever
// copier made it, each row once.
func TestSync(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Microsecond)
	app := s.addArtifact(t, s.mine, "workflow", "shop", `{"is_application": true}`, at)
	s.addArtifact(t, s.mine, "workflow", "judge", `{"is_evaluator": true}`, at)
	s.addArtifact(t, s.mine, "environment", "production", `{}`, at)
	set := s.addArtifact(t, s.mine, "testset", "cases", `{}`, at)
	s.addArtifact(t, s.other, "workflow", "secret", `{"is_application": true}`, at)
	s.exec(t, `INSERT INTO testcases (project_id, id, testset_id, place, data, created_at, created_by_id)
		SELECT $1, gen_random_uuid(), $2, n, ('{"n": ' || n || '}')::json, $3, $2 FROM generate_series(1, 3) AS n`, s.mine, set, at)
	run := uuid.New()
	s.exec(t, `INSERT INTO evaluation_runs (project_id, id, name, flags, status, refs, created_at, created_by_id) VALUES ($1, $2, 'nightly', '{}', 'running', '[]', $3, $2)`, s.mine, run, at)

	deps := entitycopy.Deps{Postgres: s.pool, ClickHouse: s.conn, Log: slog.New(slog.DiscardHandler)}
	copier := entitycopy.New(deps)
	require.NoError(t, copier.Sync(t.Context()))
	require.Empty(t, cmp.Diff([]string{"shop a name {\"team\": \"x\"} live"}, s.view(t, "applications", "concat(slug, ' ', name, ' ', tags, ' ', if(archived_at IS NULL, 'live', 'archived'))")))
	require.Equal(t, []string{"judge"}, s.view(t, "evaluators", "slug"))
	require.Equal(t, []string{"production"}, s.view(t, "environments", "slug"))
	require.Equal(t, []string{"cases"}, s.view(t, "testsets", "slug"))
	require.Equal(t, []string{`cases {"n": 1}`, `cases {"n": 2}`, `cases {"n": 3}`}, s.view(t, "testcases", "concat(testset, ' ', data)"))
	require.Equal(t, []string{"nightly running"}, s.view(t, "runs", "concat(name, ' ', status)"))
	require.Equal(t, []string{"application shop shop.default 1 first", "environment production production.default 1 first", "evaluator judge judge.default 1 first", "testset cases cases.default 1 first"},
		s.view(t, "revisions", "concat(kind, ' ', artifact, ' ', variant, ' ', toString(version), ' ', message)"))
	require.Equal(t, []string{fmt.Sprint(at.Format("2006-01-02 15:04:05.000000"), " ", app)}, s.view(t, "applications", "concat(toString(created_at), ' ', toString(id))"))

	// Changes, those of a transaction that commits late too.
	late := at.Add(time.Second)
	s.exec(t, `UPDATE artifacts SET name = 'changed', updated_at = $2, deleted_at = $2 WHERE id = $1`, app, time.Now())
	require.NoError(t, entitycopy.New(deps).Sync(t.Context()), "another process")
	require.Equal(t, []string{"changed archived"}, s.view(t, "applications", "concat(name, ' ', if(archived_at IS NULL, 'live', 'archived'))"))
	s.exec(t, `UPDATE evaluation_runs SET status = 'success', updated_at = $2 WHERE id = $1`, run, late)
	require.NoError(t, copier.Sync(t.Context()))
	require.Equal(t, []string{"success"}, s.view(t, "runs", "status"))

	s.exec(t, `DELETE FROM evaluation_runs WHERE id = $1`, run)
	require.NoError(t, copier.Sync(t.Context()))
	require.Empty(t, s.view(t, "runs", "status"))

	// A pass without changes inserts nothing.
	count := func() (n uint64) {
		require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT sum(rows) FROM system.parts WHERE database = currentDatabase() AND table = 'entities' AND active").Scan(&n))
		return n
	}
	before := count()
	require.NoError(t, copier.Sync(t.Context()))
	require.LessOrEqual(t, count(), before)
}
