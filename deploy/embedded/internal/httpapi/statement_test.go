//go:build embedded

package httpapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestAnalyse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sql string
		want      statement
	}{
		{"select", "SELECT 1", statement{keyword: "SELECT", head: -1}},
		{"comments first", "-- c; FORMAT x\n /* ; */ # d\nselect 1", statement{keyword: "SELECT", head: -1}},
		{"format", "SELECT ';FORMAT a' FORMAT JSON", statement{keyword: "SELECT", format: "JSON", head: -1}},
		{"format then settings", "SELECT 1 FORMAT JSON SETTINGS a=1", statement{keyword: "SELECT", format: "JSON", head: -1}},
		{"format in a subquery is none", "SELECT (SELECT format FROM t)", statement{keyword: "SELECT", head: -1}},
		{"one with its semicolon", "SELECT 1; -- end\n", statement{keyword: "SELECT", head: -1}},
		{"two", "SELECT 1; SELECT 2", statement{keyword: "SELECT", head: -1, several: true}},
		{"quotes", `SELECT 'it''s \'; ', "a;b", ` + "`c;`", statement{keyword: "SELECT", head: -1}},
		{"unended string", "SELECT 'x", statement{keyword: "SELECT", head: -1}},
		{"insert with data", "INSERT INTO t (a) FORMAT CSV\r\n1;2\n", statement{keyword: "INSERT", format: "CSV", head: 18, data: 30}},
		{"insert with values", "INSERT INTO t VALUES (1);", statement{keyword: "INSERT", format: "Values", head: 14, data: 20}},
		{"insert into a table named format", "INSERT INTO format FORMAT Native", statement{keyword: "INSERT", format: "Native", head: 19, data: 32}},
		{"insert select", "INSERT INTO t SELECT 1 FROM u", statement{keyword: "INSERT", head: -1, selects: true}},
		{"insert from input", "INSERT INTO t SELECT a FROM input('a Int8') FORMAT CSV 1", statement{keyword: "INSERT", format: "CSV", head: 44, data: 55, selects: true}},
		{"temporary", "CREATE TEMPORARY TABLE t (a Int8)", statement{keyword: "CREATE", head: -1, temporary: true}},
		{"outfile", "SELECT 1 INTO OUTFILE 'x'", statement{keyword: "SELECT", head: -1, outside: true}},
		{"infile", "INSERT INTO t FROM INFILE 'x' FORMAT CSV", statement{keyword: "INSERT", format: "CSV", head: 30, data: 40, outside: true}},
		{"a column named outfile", "SELECT outfile FROM t", statement{keyword: "SELECT", head: -1}},
		{"file", "SELECT file('x')", statement{keyword: "SELECT", head: -1, file: true}},
		{"file of a table", "SELECT t.file, files, 'file'", statement{keyword: "SELECT", head: -1}},
		{"quoted file", `SELECT "file"('x')`, statement{keyword: "SELECT", head: -1, file: true}},
		{"escaped name", "SELECT `fi\\x6ce`('x')", statement{keyword: "SELECT", head: -1, file: true}},
		{"empty", " /* nothing */ ", statement{head: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.want.sql = c.sql
			if diff := cmp.Diff(c.want, analyse(c.sql), cmp.AllowUnexported(statement{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// FuzzAnalyse checks that any text is walked within its bounds.
func FuzzAnalyse(f *testing.F) {
	for _, sql := range []string{"SELECT 1", "INSERT INTO t FORMAT CSV 1", "/* ", "-- ", "'\\", "\"", "a.`b", "INSERT INTO t VALUES", "SELECT 1; ;", "#!", "FORMAT"} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s := analyse(sql)
		require.Equal(t, sql, s.sql)
		if s.head >= 0 {
			require.LessOrEqual(t, s.head, s.data)
			require.LessOrEqual(t, s.data, len(sql))
			require.Equal(t, "INSERT", s.keyword)
		}
	})
}

func TestExceptionCode(t *testing.T) {
	t.Parallel()
	require.Equal(t, 60, exception("Code: 60. DB::Exception: Unknown table. (UNKNOWN_TABLE)").code())
	require.Equal(t, 404, exception("Code: 60. DB::Exception: Unknown table. (UNKNOWN_TABLE)").status())
	require.Equal(t, 1001, exception("something else").code())
	require.Equal(t, 500, exception("Code: x. y").status())
}
