//go:build embedded

package views_test

import (
	"log/slog"
	"os"
	"slices"
	"testing"

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
	"colonnade/write/registry/views"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// addProject inserts a project with what it belongs to.
func addProject(t *testing.T, pool *pgxpool.Pool) domain.ProjectID {
	t.Helper()
	id := uuid.New()
	for _, sql := range []string{
		`INSERT INTO users (id, email, username, created_at) VALUES ($1, gen_random_uuid()::text || '@example.com', 'u', now())`,
		`INSERT INTO organizations (id, name, owner_id, created_at) VALUES ($1, 'o', $1, now())`,
		`INSERT INTO workspaces (id, organization_id, name, created_at) VALUES ($1, $1, 'w', now())`,
		`INSERT INTO projects (id, organization_id, workspace_id, name, is_default, created_at) VALUES ($1, $1, $1, 'p', true, now())`,
	} {
		_, err := pool.Exec(t.Context(), sql, id)
		require.NoError(t, err)
	}
	return domain.ProjectID(id)
}

func column(t *testing.T, conn driver.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := []string{}
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(t, rows.Err())
	return out
}

// A project has its views after a pass, each once, with a comment on every column, and no
// row of another project in them; a deleted project has none.
func TestViewsFollowProjects(t *testing.T) {
	t.Parallel()
	options, err := clickhouse.ParseDSN(migrationstest.Database(t))
	require.NoError(t, err)
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	pool, err := pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = migrations.Postgres(t.Context(), pool)
	require.NoError(t, err)
	mine, other := addProject(t, pool), addProject(t, pool)

	maker := views.New(views.Deps{Postgres: pool, ClickHouse: conn, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, maker.Sync(t.Context()))
	require.NoError(t, maker.Sync(t.Context()), "a second pass finds nothing to do")

	database := schema.ViewsDatabase(mine)
	want := schema.ViewNames()
	require.Len(t, want, 20)
	got := column(t, conn, "SELECT name FROM system.tables WHERE database = ?", database)
	require.ElementsMatch(t, slices.Concat(want, schema.ToolViewNames()), got)
	require.Empty(t, column(t, conn, "SELECT concat(table, '.', name) FROM system.columns WHERE database = ? AND comment = '' AND table NOT IN (?)", database, schema.ToolViewNames()))
	for _, name := range schema.ToolViewNames() {
		require.Len(t, column(t, conn, "SELECT toString(count()) FROM "+schema.Quote(database)+"."+schema.Quote(name)), 1, name)
	}
	require.ElementsMatch(t, want, column(t, conn, "SELECT table_name FROM "+schema.Quote(database)+".information_schema_tables"))

	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO spans (project_id, trace_type, start_time, start_ns, end_time, sort_hash, partition_week, trace_id, span_id, span_name, span_kind, status_code, version, duration_ms, errors, tokens_total, costs_total, application_id)
		SELECT toUUID(p), 'invocation', '2026-11-28 10:00:00.000001', 7, '2026-11-28 10:00:01', 1, '2026-11-23', unhex('00112233445566778899aabbccddeeff'), unhex('0011223344556677'), p,
			'SPAN_KIND_SERVER', 'STATUS_CODE_ERROR', v, 1000, NaN, NaN, 0.5, toUUID('00000000-0000-0000-0000-000000000000')
		FROM (SELECT arrayJoin([?, ?]) AS p, arrayJoin([1, 2]) AS v)`, mine.String(), other.String()))
	require.Empty(t, cmp.Diff(
		[]string{mine.String() + " 00112233445566778899aabbccddeeff 0011223344556677 server error NULL NULL NULL NULL 0.5 7"},
		column(t, conn, `SELECT concat(name, ' ', trace_id, ' ', span_id, ' ', kind, ' ', status, ' ', ifNull(parent_id, 'NULL'), ' ', ifNull(toString(errors), 'NULL'), ' ',
			ifNull(toString(tokens_total), 'NULL'), ' ', ifNull(toString(application_id), 'NULL'), ' ', toString(cost), ' ', toString(start_ns)) FROM `+schema.Quote(database)+".spans")))
	for _, name := range want {
		require.Len(t, column(t, conn, "SELECT toString(count()) FROM "+schema.Quote(database)+"."+schema.Quote(name)), 1, name)
	}
	require.Equal(t, []string{"false NULL"}, column(t, conn, "SELECT concat(toString(finalized), ' ', ifNull(toString(spans), 'NULL')) FROM "+schema.Quote(database)+".traces"))

	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO run_results (project_id, run_id, scenario_id, repeat, step, version, deleted, step_type, status, trace_id, judged_trace_id, evaluator, latency_ms, cost, outputs, numbers, bools)
		SELECT toUUID(p), toUUID('00000000-0000-0000-0000-00000000000a'), toUUID('00000000-0000-0000-0000-00000000000b'), 0, s, v, s = 'gone' AND v = 2, if(s = 'judge', 'annotation', 'invocation'), if(v = 1, 'running', 'success'),
			unhex('00112233445566778899aabbccddeeff'), if(s = 'judge', unhex('ffeeddccbbaa99887766554433221100'), ''), 'exact', if(s = 'judge', NaN, 12), 0.5, '{}', map('Score', 0.75), map('success', true)
		FROM (SELECT arrayJoin([?, ?]) AS p, arrayJoin([1, 2]) AS v, arrayJoin(['answer', 'judge', 'gone']) AS s)`, mine.String(), other.String()))
	require.Empty(t, cmp.Diff(
		[]string{"answer 00112233445566778899aabbccddeeff  12 success 0.75 true NULL", "judge ffeeddccbbaa99887766554433221100 00112233445566778899aabbccddeeff NULL success 0.75 true NULL"},
		column(t, conn, `SELECT concat(step, ' ', trace_id, ' ', annotation_trace_id, ' ', ifNull(toString(latency_ms), 'NULL'), ' ', status, ' ', toString(score), ' ', toString(success), ' ', ifNull(toString(testcase_id), 'NULL'))
			FROM `+schema.Quote(database)+".evaluation_results ORDER BY step")))

	// Conditions on time and type choose granules through the view.
	plan := column(t, conn, "SELECT explain FROM (EXPLAIN indexes = 1 SELECT count() FROM "+schema.Quote(database)+".traces WHERE trace_type = 'invocation' AND start_time > '2026-11-28 00:00:00')")
	keys := 0
	for _, line := range plan {
		if cut := len(line) - len("start_time"); cut > 0 && line[cut:] == "start_time" {
			keys++
		}
	}
	require.Positive(t, keys, plan)

	_, err = pool.Exec(t.Context(), `DELETE FROM projects WHERE id = $1`, uuid.UUID(mine))
	require.NoError(t, err)
	require.NoError(t, maker.Sync(t.Context()))
	require.Empty(t, column(t, conn, "SELECT name FROM system.databases WHERE name = ?", database))
	_, err = pool.Exec(t.Context(), `DELETE FROM projects`)
	require.NoError(t, err)
	require.NoError(t, maker.Sync(t.Context()))
}
