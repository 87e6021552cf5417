//go:build embedded

package migrationstest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations"
	"colonnade/migrations/migrationstest"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// Each database is as the migrations leave one, and they find nothing to do in it.
func TestDatabaseIsMigrated(t *testing.T) {
	want := tables(t, embeddedtest.Database(t), true)
	require.Contains(t, strings.Join(want, "\n"), "CREATE VIEW")
	for range 3 {
		require.Equal(t, want, tables(t, migrationstest.Database(t), false))
	}
}

// tables are the statements that would make what a database has.
func tables(t *testing.T, address string, migrates bool) (all []string) {
	t.Helper()
	options, err := clickhouse.ParseDSN(address)
	require.NoError(t, err)
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	applied, err := migrations.ClickHouse(t.Context(), conn, migrations.Deployment{})
	require.NoError(t, err)
	require.Equal(t, migrates, len(applied) > 0)
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT arraySort(groupArray(replaceAll(create_table_query, database || '.', ''))) FROM system.tables WHERE database = currentDatabase()").Scan(&all))
	return all
}
