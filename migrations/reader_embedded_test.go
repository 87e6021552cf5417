//go:build embedded

package migrations

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The embedded engine has no users, but it parses the statements that create one and
// knows their settings.
func TestReaderScriptParses(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	script := ReaderScript(Deployment{Database: "colonnade", Cluster: "main"}, ReaderLimits{Timeout: 15 * time.Second, MemoryBytes: 1 << 30})
	statements := strings.Split(strings.TrimSpace(script), ";\n")
	require.Greater(t, len(statements), 20)
	for _, statement := range statements {
		var formatted string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT formatQuerySingleLine(?)", strings.TrimSuffix(statement, ";")).Scan(&formatted), statement)
		require.NotEmpty(t, formatted)
	}
	for _, setting := range []string{"readonly", "allow_ddl", "allow_introspection_functions", "max_execution_time", "max_memory_usage"} {
		require.Contains(t, script, " "+setting+" = ")
		var n uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.settings WHERE name = ?", setting).Scan(&n))
		require.EqualValues(t, 1, n, setting)
	}
}
