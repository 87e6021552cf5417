//go:build embedded

package sql_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/migrations"
	"colonnade/migrations/migrationstest"
	"colonnade/migrations/schema"
	analystsql "colonnade/read/sql"
	"colonnade/read/sql/guard"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// newRunner returns a Runner over two projects, of which the second has a span whose every
// text is "secret".
func newRunner(t *testing.T) (r *analystsql.Runner, mine domain.ProjectID, tables string) {
	t.Helper()
	address := migrationstest.Database(t)
	options, err := clickhouse.ParseDSN(address)
	require.NoError(t, err)
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	mine, other := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	for project, name := range map[domain.ProjectID]string{mine: "mine", other: "secret"} {
		require.NoError(t, migrations.CreateViews(t.Context(), conn, migrations.Deployment{}, project))
		t.Cleanup(func() {
			require.NoError(t, migrations.DropViews(context.WithoutCancel(t.Context()), conn, migrations.Deployment{}, project))
		})
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO spans (project_id, trace_type, start_time, end_time, sort_hash, partition_week, trace_id, span_id, span_name, status_message, session_id, user_id, model, application_slug, version, duration_ms, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total)
			SELECT toUUID(?), 'invocation', '2026-11-28 10:00:00', '2026-11-28 10:00:01', number, '2026-11-23', unhex('00112233445566778899aabbccddeeff'), unhex('0011223344556677'), ?, ?, ?, ?, ?, ?, 1, 1000, NaN, NaN, NaN, NaN, NaN, NaN, 0.5 FROM numbers(3)`,
			project.String(), name, name, name, name, name, name))
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO rejected_spans (project_id, rejected_at, reason, span_name) SELECT toUUID(?), now64(6), ?, ?`, project.String(), name, name))
		require.NoError(t, conn.Exec(t.Context(), `INSERT INTO attribute_keys (project_id, path, type, sample, seen_at) SELECT toUUID(?), ?, 'string', ?, now64(6)`, project.String(), name, name))
	}
	cfg := analystsql.DefaultConfig()
	base, err := url.Parse(address)
	require.NoError(t, err)
	cfg.ClickHouseURL, tables = address, strings.Trim(base.Path, "/")
	cfg.MaxConcurrentPerProject = 8
	r, err = analystsql.New(cfg, analystsql.Deps{Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	return r, mine, tables
}

func TestRunner(t *testing.T) {
	t.Parallel()
	r, mine, tables := newRunner(t)
	columns := func(text string) (analystsql.Columns, error) {
		return r.Columns(t.Context(), analystsql.Query{Project: mine, Text: text})
	}

	t.Run("columns", func(t *testing.T) {
		t.Parallel()
		out, err := r.Columns(t.Context(), analystsql.Query{
			Project: mine, Parameters: map[string]string{"from": "2026-11-28 00:00:00", "app": "mine"},
			Text: "SELECT name, sum(cost) AS cost, sum(tokens_total) AS tokens FROM spans WHERE start_time >= {from:DateTime64(6)} AND application = {app:String} GROUP BY name FORMAT JSON;",
		})
		require.NoError(t, err)
		require.Equal(t, []analystsql.Column{{Name: "name", Type: "String"}, {Name: "cost", Type: "Nullable(Float64)"}, {Name: "tokens", Type: "Nullable(Float64)"}}, out.Columns)
		require.Equal(t, `[[["mine"],[1.5],[null]] 1 false]`, fmt.Sprintf("[%s %d %v]", strings.ReplaceAll(fmt.Sprintf("%s", out.Data), " ", ","), out.Rows, out.Cut))
	})
	t.Run("cut and limits", func(t *testing.T) {
		t.Parallel()
		out, err := columns("SELECT number FROM numbers(20000)")
		require.NoError(t, err)
		require.True(t, out.Cut)
		require.Equal(t, 10_000, out.Rows)
		_, err = columns("SELECT count() FROM numbers(10000000000)")
		require.Equal(t, domain.Rejected, domain.KindOf(err), err)
		require.ErrorContains(t, err, "narrow its range of start_time")
		err = r.Run(t.Context(), analystsql.Query{Project: mine, Text: "SELECT number FROM numbers(2000000)", Format: "CSV", File: true}, func(analystsql.Reply) error { return nil })
		require.Equal(t, domain.Rejected, domain.KindOf(err), err)
		require.ErrorContains(t, err, "result is too large")
	})
	t.Run("words of ClickHouse", func(t *testing.T) {
		t.Parallel()
		_, err := columns("SELECT FROM WHERE")
		require.Equal(t, domain.Rejected, domain.KindOf(err), err)
		require.ErrorContains(t, err, "failed at position 1")
		require.NotContains(t, err.Error(), "EXPLAIN AST")
		_, err = columns("SELECT nothing_of_it FROM spans")
		require.ErrorContains(t, err, "nothing_of_it")
		require.NotContains(t, err.Error(), tables, "the text of the view")
		_, err = r.Columns(t.Context(), analystsql.Query{Project: domain.ProjectID(uuid.New()), Text: "SELECT 1"})
		require.Equal(t, domain.Unavailable, domain.KindOf(err), err)
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		for format, begin := range map[string]string{"Parquet": "PAR1", "CSVWithNames": `"name"`, "JSONEachRow": `{"name":"mine"}`, "ArrowStream": "\xff\xff\xff\xff"} {
			err := r.Run(t.Context(), analystsql.Query{Project: mine, Text: "SELECT name FROM spans", Format: format, File: true}, func(reply analystsql.Reply) error {
				text, err := io.ReadAll(reply.Body)
				require.True(t, strings.HasPrefix(string(text), begin), "%s: %q", format, text)
				return err
			})
			require.NoError(t, err)
		}
	})
	t.Run("describe", func(t *testing.T) {
		t.Parallel()
		out, err := columns("SHOW TABLES")
		require.NoError(t, err)
		require.Equal(t, len(schema.ViewNames()), out.Rows)
		out, err = columns("DESCRIBE traces")
		require.NoError(t, err)
		require.Positive(t, out.Rows)
	})
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"WITH s AS (SELECT * FROM spans) SELECT count() FROM s WHERE trace_id IN (SELECT trace_id FROM traces)",
			"SELECT toStartOfHour(start_time) AS t, quantiles(0.5, 0.95)(duration_ms), countIf(status = 'error'), any(attributes_number['a']) FROM spans GROUP BY t ORDER BY t WITH FILL STEP INTERVAL 1 HOUR",
			"SELECT name, row_number() OVER (PARTITION BY model ORDER BY start_time) AS n FROM spans QUALIFY n = 1",
			"SELECT CASE WHEN cost > 0 THEN 'a' ELSE 'b' END, cost::Decimal(10, 2), arrayMap(x -> x + 1, [1, 2]), links.trace_id FROM spans AS s LEFT JOIN traces AS t ON s.trace_id = t.trace_id",
			"SELECT 1 UNION ALL SELECT number FROM numbers(3) EXCEPT SELECT 2",
			"(SELECT id FROM sessions WHERE day = today()) UNION DISTINCT (SELECT id FROM users WHERE day = today())",
			"SELECT * EXCEPT (name) REPLACE (1 AS cost) FROM spans AS other",
			"SELECT e FROM spans ARRAY JOIN events AS e WHERE message ILIKE '%a%' OR (name, model) IN (('a', 'b'))",
		} {
			_, err := columns(text)
			require.NoError(t, err, text)
		}
	})
	t.Run("attacks", func(t *testing.T) {
		t.Parallel()
		for _, text := range attacks(tables) {
			out, err := columns(text)
			require.Error(t, err, "%s: %v", text, out)
			require.Contains(t, []domain.Kind{domain.Forbidden, domain.Rejected}, domain.KindOf(err), "%s: %v", text, err)
			require.NotContains(t, err.Error(), "secret", text)
		}
	})
	t.Run("attacks of tools", func(t *testing.T) {
		t.Parallel()
		answered := []string{}
		for _, text := range append(attacks(tables), "SHOW TABLES FROM "+tables, "EXISTS "+tables+".spans", "DESCRIBE TABLE "+tables+".secrets",
			"SELECT * FROM default.project_views", "SELECT count() FROM system_tables, information_schema.columns", "SELECT value FROM system.settings WHERE name ILIKE '%password%'") {
			out, err := asTool(t, r, mine, text)
			require.NotContains(t, out, "secret", text)
			require.NotContains(t, out, tables, text)
			if err != nil {
				require.Contains(t, []domain.Kind{domain.Forbidden, domain.Rejected}, domain.KindOf(err), "%s: %v", text, err)
				require.NotContains(t, err.Error(), "secret", text)
				continue
			}
			answered = append(answered, text)
		}
		require.ElementsMatch(t, answeredForTools(tables), answered)
	})
	t.Run("no row of another project for tools", func(t *testing.T) {
		t.Parallel()
		random := rand.New(rand.NewPCG(3, 4))
		for range 40 {
			text := randomSelect(random, 2)
			out, err := asTool(t, r, mine, text)
			require.NoError(t, err, text)
			require.NotContains(t, out, "secret", text)
		}
	})
	t.Run("no row of another project", func(t *testing.T) {
		t.Parallel()
		random := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			text := randomSelect(random, 2)
			out, err := columns(text)
			require.NoError(t, err, text)
			require.NotContains(t, fmt.Sprintf("%s", out.Data), "secret", text)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		id, ended := uuid.NewString(), make(chan error, 1)
		go func() {
			_, err := r.Columns(context.WithoutCancel(t.Context()), analystsql.Query{Project: mine, ID: id, Text: "SELECT sum(cityHash64(a.number, b.number)) FROM numbers(100000) AS a, numbers(10000) AS b"})
			ended <- err
		}()
		require.Error(t, r.Cancel(domain.ProjectID(uuid.New()), id), "a statement of another project")
		require.Eventually(t, func() bool { return r.Cancel(mine, id) == nil }, 10*time.Second, time.Millisecond)
		require.ErrorContains(t, <-ended, "cancelled")
	})
}

// randomSelect returns a SELECT over the views.
func randomSelect(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	from := pick(schema.ViewNames()...)
	if depth > 0 && r.IntN(3) == 0 {
		from = "(" + randomSelect(r, depth-1) + ")"
	}
	text := "SELECT * FROM " + from + " AS a"
	if r.IntN(3) == 0 {
		text += pick(" CROSS JOIN ", " LEFT JOIN ") + pick(schema.ViewNames()...) + " AS b"
		if strings.Contains(text, " LEFT JOIN ") {
			text += " ON 1 = 1"
		}
	}
	text += pick("", " WHERE 1", " WHERE 1 IN (SELECT 1)", " WHERE NOT (0 OR NULL)", " WHERE toString(tuple(*)) != ''") + pick("", " LIMIT 5", " LIMIT 2 OFFSET 1")
	if depth > 0 && r.IntN(4) == 0 {
		text = "SELECT toString(groupArray(tuple(*))) FROM (" + text + ")" + pick("", " UNION ALL SELECT name FROM spans")
	}
	return text
}

// Every function of the pinned engine is decided about.
func TestEveryFunctionIsListed(t *testing.T) {
	t.Parallel()
	options, err := clickhouse.ParseDSN(embeddedtest.Database(t))
	require.NoError(t, err)
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	rows, err := conn.Query(t.Context(), "SELECT name FROM system.functions")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var missing []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		if !guard.Listed(name) {
			missing = append(missing, name)
		}
	}
	require.NoError(t, rows.Err())
	require.Empty(t, missing, "functions without a line in functions.txt")
	var there uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.table_functions WHERE lower(name) IN (?)", guard.TableFunctions()).Scan(&there))
	require.EqualValues(t, len(guard.TableFunctions()), there)
}

// attacks are statements that would leave the project's views.
func attacks(tables string) []string {
	return []string{
		"SELECT * FROM " + tables + ".spans", "SELECT * FROM `" + tables + "`.`spans`", "SELECT * FROM system.tables", "SELECT * FROM \"system\".\"tables\"",
		"SELECT * FROM information_schema.tables", "SELECT 1 WHERE 1 IN system.one", "SELECT 1 WHERE 1 NOT IN (system.one)", "SELECT 1 WHERE 1 GLOBAL IN system.one",
		"WITH spans AS (SELECT * FROM " + tables + ".spans) SELECT * FROM spans", "SELECT (SELECT count() FROM " + tables + ".spans)",
		"SELECT 1 UNION ALL SELECT count() FROM " + tables + ".spans", "SELECT * FROM merge('" + tables + "', '.*')", "SELECT * FROM merge(REGEXP('.*'), 'spans')",
		"SELECT * FROM mergeTreeIndex('" + tables + "', 'spans')", "SELECT * FROM view(SELECT 1)", "SELECT * FROM viewExplain('', '', (SELECT 1))", "SELECT * FROM loop(" + tables + ".spans)",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')", "SELECT * FROM url('http://127.0.0.1/', 'LineAsString')", "SELECT * FROM remote('127.0.0.1', system.one)",
		"SELECT * FROM postgresql('a', 'b', 'c', 'd', 'e')", "SELECT * FROM executable('a', 'TSV', 'x String')", "SELECT * FROM dictionary('a')", "SELECT * FROM cluster('default', system.one)",
		"SELECT * FROM input('x String')", "SELECT * FROM format(TSV, 'a')", "SELECT * FROM generateRandom('x String')", "SELECT file('/etc/passwd')", "SELECT dictGet('a', 'b', 1)",
		"SELECT joinGet('" + tables + ".spans', 'a', 1)", "SELECT hasColumnInTable('" + tables + "', 'spans', 'project_id')", "SELECT getSetting('readonly')", "SELECT sleep(3)", "SELECT sleepEachRow(1) FROM spans",
		"SELECT currentUser()", "SELECT hostName()", "SELECT catboostEvaluate('/a', 1)", "SELECT * FROM spans SETTINGS max_rows_to_read = 0", "SELECT 1 SETTINGS readonly = 1",
		"SELECT 1; DROP DATABASE " + tables, "DROP TABLE " + tables + ".spans", "ALTER TABLE spans DELETE WHERE 1", "SET readonly = 0", "SELECT 1 INTO OUTFILE '/tmp/x'",
		"SELECT /* ; */ * FROM/**/" + tables + "/**/./**/spans", "SELECT * FROM {t:Identifier}", "SELECT * FROM $$a$$", "SELECT * FROM spans AS system, system.tables",
		"SELECT count() FROM spans WHERE sleep(1) = 0", "SELECT * FROM spans ORDER BY sleep(1)", "SELECT * FROM spans LIMIT (SELECT count() FROM system.one)",
		"SELECT row_number() OVER (PARTITION BY (SELECT count() FROM system.one)) FROM spans", "SELECT * FROM spans JOIN " + tables + ".spans AS b USING (trace_id)",
		"SELECT * FROM spans ARRAY JOIN (SELECT groupArray(name) FROM " + tables + ".spans) AS n", "SELECT * APPLY(sleep) FROM numbers(1)", "SELECT arrayMap(x -> sleep(x), [1])",
		"WITH RECURSIVE a AS (SELECT * FROM " + tables + ".spans) SELECT * FROM a", "SELECT sumState(1)", "SELECT CAST(unhex('00'), 'AggregateFunction(sum, UInt8)')",
		"SELECT * FROM spans SAMPLE 1 OFFSET (SELECT count() FROM system.one)", "EXPLAIN SELECT 1", "EXPLAIN TABLE OVERRIDE mysql('a')", "SHOW DATABASES", "SHOW CREATE TABLE spans", "KILL QUERY WHERE 1",
		"SELECT 1 FORMAT CSV SETTINGS readonly = 0", "SELECT 1 ORDER BY 1 INTERPOLATE (a AS sleep(1))", "SELECT count() FILTER (WHERE sleep(1) = 0) FROM spans",
	}
}

// answeredForTools are the statements of attacks that have an answer for tools: what they ask
// about the server is exchanged, and settings at their end are left out.
func answeredForTools(tables string) []string {
	return []string{
		"SELECT * FROM system.tables", `SELECT * FROM "system"."tables"`, "SELECT * FROM information_schema.tables", "SELECT currentUser()", "SELECT hostName()",
		"SELECT * FROM spans SETTINGS max_rows_to_read = 0", "SELECT 1 SETTINGS readonly = 1", "SELECT * FROM spans AS system, system.tables", "SHOW DATABASES",
		"SELECT 1 FORMAT CSV SETTINGS readonly = 0", "SELECT count() FROM system_tables, information_schema.columns", "SELECT value FROM system.settings WHERE name ILIKE '%password%'",
		"SHOW TABLES FROM " + tables, "EXISTS " + tables + ".spans",
	}
}

// asTool returns what a tool gets.
func asTool(t *testing.T, r *analystsql.Runner, project domain.ProjectID, text string) (out string, err error) {
	t.Helper()
	err = r.Run(t.Context(), analystsql.Query{Project: project, Text: text, Format: "TabSeparated", Tool: &analystsql.Tool{Settings: url.Values{}}}, func(reply analystsql.Reply) error {
		body, err := io.ReadAll(reply.Body)
		out = string(body)
		return err
	})
	return out, err
}
