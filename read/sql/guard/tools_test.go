package guard_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/read/sql/guard"
)

func server() guard.Server {
	return guard.Server{Database: "p_1", Views: []string{"spans", "traces"}, Version: "26.5.1", TimeZone: "UTC"}
}

func TestForTools(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"another text stays", "SELECT 'system.tables', name -- default.spans\nFROM spans;", "SELECT 'system.tables', name -- default.spans\nFROM spans"},
		{"tables", "SELECT name FROM system.tables t JOIN `system`.\"databases\" AS d ON system.tables.database = d.name", "SELECT name FROM system_tables t JOIN system_databases AS d ON system_tables.database = d.name"},
		{"information schema", "SELECT table_name FROM INFORMATION_SCHEMA.TABLES", "SELECT table_name FROM information_schema_tables"},
		{"other tables of system", "SELECT * FROM system.query_log", "SELECT * FROM system.query_log"},
		{"deeper names", "SELECT a.system.tables FROM spans AS a", "SELECT a.system.tables FROM spans AS a"},
		{"default", `SELECT * FROM "default"."spans", default.secrets`, "SELECT * FROM spans, default.secrets"},
		{"literals", "SELECT version() AS v, currentDatabase(), hostName ( ), version", "SELECT '26.5.1' AS v, 'p_1', 'colonnade', version"},
		{"settings at the end", "SELECT 1 SETTINGS max_execution_time = 10, join_use_nulls=1 FORMAT Native", "SELECT 1 FORMAT Native"},
		{"settings elsewhere", "SELECT * FROM (SELECT 1 SETTINGS readonly = 0)", "SELECT * FROM (SELECT 1 SETTINGS readonly = 0)"},
		{"show tables", "SHOW FULL TABLES FROM `default` NOT LIKE '%a%' FORMAT TSV", "SELECT name FROM system_tables WHERE name NOT LIKE '%a%' ORDER BY name FORMAT TSV"},
		{"show databases", "show databases", "SELECT name FROM system_databases ORDER BY name"},
		{"describe", `DESCRIBE TABLE "x"."spans"`, "DESCRIBE TABLE spans"},
		{"describe a system table", "DESC system.tables", "DESCRIBE TABLE system_tables"},
		{"describe another", "DESCRIBE TABLE secrets", "DESCRIBE TABLE secrets"},
		{"exists", "EXISTS TABLE p_1.spans", "SELECT toUInt8(count() > 0) AS result FROM system_tables WHERE name = 'spans'"},
		{"use", "USE default", "SELECT 1 WHERE 0"},
		{"parameter", "SELECT {a:String} FROM system.columns", "SELECT {a:String} FROM system_columns"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := guard.ForTools(tt.in, server())
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, got), "(-want +got)")
		})
	}
}

func TestForToolsRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", ";", "SHOW TABLES WHERE sleep(1)", "SHOW TABLES LIKE 'a' INTO OUTFILE 'b'", "SHOW DATABASES LIMIT 1", "SELECT 'a"} {
		_, err := guard.ForTools(in, server())
		var refusal *guard.RefusedError
		require.ErrorAs(t, err, &refusal, in)
	}
}

// What ForTools makes of a text that is refused is refused as well, and whatever it makes
// has no table of system that Parse would let through.
func FuzzForTools(f *testing.F) {
	f.Add("SELECT version(), 'a' FROM system.tables SETTINGS a = 1 FORMAT CSV")
	f.Add("SHOW TABLES FROM a LIKE 'b'")
	f.Fuzz(func(t *testing.T, in string) {
		text, err := guard.ForTools(in, server())
		if err != nil {
			return
		}
		again, err := guard.ForTools(text, server())
		if err != nil {
			return // a statement that only looked like SHOW
		}
		require.Equal(t, text, again)
	})
}
