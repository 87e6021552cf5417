package migrations

import (
	"flag"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var golden = flag.Bool("golden", false, "rewrite golden files")

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", " \n", nil},
		{"comments only", "-- a; b\n/* ; */;", nil},
		{"two", "SELECT 1;\nSELECT 2;", []string{"SELECT 1", "SELECT 2"}},
		{"no last semicolon", "SELECT 1;\nSELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"semicolons in quotes", "SELECT ';', \"a;\", `b;`; SELECT 'it''s;', 'a\\';b'", []string{"SELECT ';', \"a;\", `b;`", "SELECT 'it''s;', 'a\\';b'"}},
		{"semicolon in a comment", "SELECT 1 -- one; two\n; SELECT /* ; */ 2;", []string{"SELECT 1 -- one; two", "SELECT /* ; */ 2"}},
		{"a quote in a comment", "-- it's\nSELECT 1;", []string{"-- it's\nSELECT 1"}},
		{"unfinished", "SELECT 'a;", []string{"SELECT 'a;"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, split(tt.in)))
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("SELECT ';'; -- x\n/* */ SELECT `a\\`;")
	f.Fuzz(func(t *testing.T, in string) {
		total := 0
		for _, s := range split(in) {
			require.NotEmpty(t, s)
			total += len(s)
		}
		require.LessOrEqual(t, total, len(in))
	})
}

func TestPending(t *testing.T) {
	t.Parallel()
	all, err := read(fstest.MapFS{
		"clickhouse/0002_b.sql": {Data: []byte("b")},
		"clickhouse/0001_a.sql": {Data: []byte("a")},
		"clickhouse/notes.txt":  {Data: []byte("x")},
	}, "clickhouse")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "0001_a.sql", all[0].name)

	todo, err := pending("ClickHouse", all, map[string]string{"0001_a.sql": all[0].checksum, "0009_newer.sql": "from a newer release"})
	require.NoError(t, err)
	require.Equal(t, all[1:], todo)

	for _, recorded := range []map[string]string{{"0001_a.sql": all[1].checksum}, {"0001_a.sql": all[0].checksum, "0002_b.sql": "another"}, {"0001_z.sql": all[0].checksum}} {
		_, err = pending("ClickHouse", all, recorded)
		require.ErrorContains(t, err, "ClickHouse was set up by another build")
	}
}

// The cluster's DDL is only looked at here: no cluster is at hand to run it.
func TestScriptGolden(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   Deployment
	}{
		{"node", Deployment{}},
		{"replicated", Deployment{Database: "colonnade", Replicated: true}},
		{"cluster", Deployment{Database: "colonnade", Cluster: "main", Replicated: true, DeduplicationWindow: 500}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Script(tt.in)
			require.NoError(t, err)
			path := "testdata/" + tt.name + ".sql"
			if *golden {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got), "run with -golden to rewrite")
		})
	}
}

func TestDeploymentNames(t *testing.T) {
	t.Parallel()
	node, cluster := Deployment{}, Deployment{Database: "d`b", Cluster: "c"}
	require.Equal(t, "`spans`", node.Table("spans"))
	require.Equal(t, "`spans`", node.Local("spans"))
	require.Empty(t, node.OnCluster())
	require.Equal(t, "`d\\`b`.`spans`", cluster.Table("spans"))
	require.Equal(t, "`d\\`b`.`spans_local`", cluster.Local("spans"))
	require.Equal(t, " ON CLUSTER `c`", cluster.OnCluster())
}
