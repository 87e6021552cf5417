package guard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/read/sql/guard"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     guard.Statement
	}{
		{"plain", "SELECT 1", guard.Statement{SQL: "SELECT 1"}},
		{"semicolon and format", "SELECT 1 FORMAT CSV;", guard.Statement{SQL: "SELECT 1", Format: "CSV"}},
		{"comments keep places", "SELECT /* a;b */ 1 -- x", guard.Statement{SQL: "SELECT           1"}},
		{"alias in quotes", "SELECT cost AS \"Cost (USD)\" FROM spans", guard.Statement{SQL: "SELECT cost AS \"Cost (USD)\" FROM spans"}},
		{"functions", "SELECT quantilesIf(0.5, 0.9)(duration_ms, status = 'ok') FROM spans GROUP BY (a)", guard.Statement{SQL: "SELECT quantilesIf(0.5, 0.9)(duration_ms, status = 'ok') FROM spans GROUP BY (a)"}},
		{"parameter", "SELECT {a: Array(String)}", guard.Statement{SQL: "SELECT {a: Array(String)}"}},
		{"describe", "DESCRIBE TABLE spans", guard.Statement{SQL: "DESCRIBE TABLE spans", Describe: "spans"}},
		{"tables", "show tables", guard.Statement{SQL: "show tables", Tables: true}},
		{"other letters in texts", "SELECT 'é;' WHERE name = '--'", guard.Statement{SQL: "SELECT 'é;' WHERE name = '--'"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := guard.Parse(tt.in)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", ";", "-- nothing", "SELECT 1; SELECT 2", "DROP TABLE spans", "INSERT INTO spans SELECT 1", "SET readonly = 0", "EXPLAIN SELECT 1",
		"SELECT 1 SETTINGS max_threads = 1", "SELECT 1 INTO OUTFILE 'x'", "SELECT * APPLY(sum)", "SELECT 1 PARALLEL WITH SELECT 2",
		"SELECT $$a$$", "SELECT @@version", "SELECT ‘a’", "SELECT “a”", "SELECT 1\u00a0", "SELECT \"a\\x\"", "SELECT `a\nFunction file`", "SELECT `a``b`",
		"SELECT {t:Identifier}", "SELECT {'a':1}", "SELECT x'41'", "SELECT 'a", "SELECT /* a", "SELECT file('/etc/passwd')", "SELECT `file`('x')",
		"SELECT \"sleep\"(3)", "SELECT sleep /* */ (3)", "SELECT FILE('x')", "SELECT db.f(1)", "SELECT getSetting('x')", "SELECT * FROM url('http://x')",
		"SELECT * FROM merge('system', '.*')", "SELECT * FROM view(SELECT 1)", "SELECT row_number() OVER (ORDER BY sleep(1))",
		"SELECT 1 ORDER BY 1 WITH FILL FROM sleep(1)", "SELECT dictGet('a', 'b', 1)", "SELECT joinGet('a', 'b', 1)", "SELECT sumState(1)",
		"SELECT CAST('x' AS AggregateFunction(sum, UInt8))", "SELECT CAST('x', 'AggregateFunction(sum, UInt8)')", "SELECT hostName()", "SELECT arrayReduce('sum', [1])",
		"SHOW CREATE TABLE spans", "DESCRIBE system.tables", "DESCRIBE (SELECT 1)", "KILL QUERY WHERE 1", "SYSTEM RELOAD CONFIG",
	} {
		_, err := guard.Parse(in)
		var refusal *guard.RefusedError
		require.ErrorAs(t, err, &refusal, in)
	}
}

func TestCheckSyntaxRefuses(t *testing.T) {
	t.Parallel()
	const head = "SelectWithUnionQuery (children 1)"
	for name, lines := range map[string][]string{
		"nothing":        nil,
		"other":          {"DropQuery"},
		"settings":       {head, " Set"},
		"transformer":    {head, " ColumnsApplyTransformer"},
		"table":          {head, " TableIdentifier system.tables"},
		"table function": {head, " TableExpression (children 1)", "  Function merge (children 1)"},
		"function":       {head, " Function sleep (alias count) (children 1)"},
		"after in":       {head, " Function in (children 1)", "  ExpressionList (children 2)", "   Identifier a", "   Identifier system.tables"},
		"depth":          {head, "   Literal 1"},
	} {
		require.Error(t, guard.CheckSyntax(lines, "p_1"), name)
	}
	require.NoError(t, guard.CheckSyntax([]string{head, " TableIdentifier p_1.spans (alias sleep)", " Function sumIf (children 1)", "  ExpressionList", " Identifier s.name"}, "p_1"))
}

func TestCheckNames(t *testing.T) {
	t.Parallel()
	views := []string{"spans"}
	require.NoError(t, guard.CheckNames([]string{"QUERY id: 0", "  TABLE id: 3, alias: __table1, table_name: p_1.spans"}, "p_1", views))
	require.NoError(t, guard.CheckNames([]string{"  TABLE id: 3, alias: __table1, table_name: p_1.spans, final: 1"}, "p_1", views))
	require.Error(t, guard.CheckNames([]string{"  TABLE id: 3, table_name: system.tables"}, "p_1", views))
	require.Error(t, guard.CheckNames([]string{"  TABLE id: 3, table_name: p_2.spans"}, "p_1", views))
	require.Error(t, guard.CheckNames([]string{"  TABLE_FUNCTION id: 10, alias: __table3, table_function_name: file"}, "p_1", views))
}

func FuzzParse(f *testing.F) {
	f.Add("SELECT 'a' /* b */ FROM `c` -- d")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := guard.Parse(in)
		if err != nil {
			return
		}
		// What passed is its own text: a second pass finds nothing to take out.
		again, err := guard.Parse(s.SQL)
		require.NoError(t, err)
		require.Equal(t, s.SQL, again.SQL)
	})
}

func FuzzCheckSyntax(f *testing.F) {
	f.Add("SelectWithUnionQuery (children 1)\n Literal 1")
	f.Fuzz(func(_ *testing.T, in string) {
		_ = guard.CheckSyntax(strings.Split(in, "\n"), "p_1") // it returns
	})
}
