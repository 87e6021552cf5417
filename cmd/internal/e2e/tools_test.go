//go:build embedded && analysts

package e2e_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/migrations/schema"
)

// The clients that analysts have read the demo: a notebook with clickhouse-connect and
// pandas, DuckDB with a Parquet file of curl, and the JDBC driver as BI tools use it.
// `make test-analysts` runs it with the versions that deploy/analysts locks.
func TestClientsOfAnalysts(t *testing.T) {
	a := newAnalysts(t)
	conn := a.demonstrate(t, 40)
	web := httptest.NewServer(a.Server.Handler())
	t.Cleanup(web.Close)
	key := a.keys["ours owner"]
	clients := os.Getenv("COLONNADE_TEST_ANALYSTS")
	require.NotEmpty(t, clients, "make test-analysts sets it")
	var cost float64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT assumeNotNull(sum(cost)) FROM traces WHERE trace_type = 'invocation'").Scan(&cost))
	var tools uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM spans WHERE span_type = 'tool'").Scan(&tools))

	t.Run("notebook", func(t *testing.T) {
		host, port, err := net.SplitHostPort(a.addr)
		require.NoError(t, err)
		var got struct {
			Traces  int
			Columns []string
			Start   bool `json:"start_is_time"`
			Cost    float64
			Models  map[string]float64
			Tools   uint64
			Tables  []string
			Refused bool
			Parquet []float64
		}
		out := run(t, filepath.Join(clients, "venv", "bin", "python"), "notebook.py", host, port, key, web.URL)
		require.NoError(t, json.Unmarshal([]byte(out), &got), out)
		require.Equal(t, 40, got.Traces)
		require.Equal(t, list(t, conn, "SELECT name FROM system.columns WHERE table = 'traces' ORDER BY position"), got.Columns)
		require.True(t, got.Start, "start_time is a time of pandas")
		require.InEpsilon(t, cost, got.Cost, 1e-9)
		require.Len(t, got.Models, 3)
		require.Equal(t, tools, got.Tools)
		require.ElementsMatch(t, schema.ViewNames(), got.Tables)
		require.True(t, got.Refused, "another table of system")
		require.InDeltaSlice(t, []float64{40, cost, 40}, got.Parquet, 1e-9, "rows, cost and sessions by DuckDB")
	})
	t.Run("jdbc", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(run(t, "java", "-cp", filepath.Join(clients, "jars", "*"), "Tables.java", a.addr, key)), "\n")
		found := map[string][]string{}
		for _, line := range lines {
			kind, rest, _ := strings.Cut(line, " ")
			found[kind] = append(found[kind], rest)
		}
		require.Equal(t, []string{schema.ViewsDatabase(a.accounts["ours"].Project.ID) + " more false"}, found["schema"])
		want := make([]string, 0, len(schema.ViewNames()))
		for _, name := range schema.ViewNames() {
			want = append(want, name+" VIEW")
		}
		require.ElementsMatch(t, want, found["table"])
		require.Empty(t, cmp.Diff(list(t, conn, "SELECT concat(name, ' ', type) FROM system.columns WHERE table = 'traces' ORDER BY position"), found["column"]))
		require.Len(t, found["row"], 3, "applications")
		require.Equal(t, []string{"true 497"}, found["refused"])
	})
}

// run returns what a program prints, in the folder of the clients of analysts.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = "../../../deploy/analysts"
	cmd.Stderr = os.Stderr
	began := time.Now()
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	_, _ = io.WriteString(os.Stderr, program+" took "+time.Since(began).String()+"\n")
	return string(out)
}
