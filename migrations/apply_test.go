//go:build embedded

package migrations

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

func openClickHouse(t *testing.T) driver.Conn {
	t.Helper()
	opts, err := clickhouse.ParseDSN(embeddedtest.Database(t))
	require.NoError(t, err)
	conn, err := clickhouse.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

func openPostgres(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func TestClickHouseAppliesOnce(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	all, err := read(files, "clickhouse")
	require.NoError(t, err)

	applied, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	require.Len(t, applied, len(all))
	require.True(t, slices.IsSorted(applied))

	applied, err = ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	require.Empty(t, applied)

	changed := slices.Clone(all)
	changed[0].checksum = "different"
	_, err = applyClickHouse(t.Context(), conn, Deployment{}, changed)
	require.ErrorContains(t, err, "ClickHouse was set up by another build")
}

// Every table that a sink writes says that its parts are removed by one thread: one without it stops every page for a moment now and then.
func TestPartsAreRemovedByOneThread(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	_, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	var tables []string
	require.NoError(t, conn.QueryRow(t.Context(), `
SELECT arraySort(groupArray(name)) FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND position(engine_full, 'concurrent_part_removal_threshold = 10000') = 0`).Scan(&tables))
	require.Equal(t, []string{recordName}, tables, "no sink writes that")
}

// Every table and column says what it is, for people and for the views that they read.
func TestEveryColumnHasAComment(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	_, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	const own = "database = currentDatabase() AND %[1]s NOT IN ('" + recordName + "', 'sink_history_view')" // the view that fills a table has its columns
	for _, statement := range []string{
		"SELECT arraySort(groupArray(concat(table, '.', name))) FROM system.columns WHERE comment = '' AND " + fmt.Sprintf(own, "table"),
		"SELECT arraySort(groupArray(name)) FROM system.tables WHERE comment = '' AND engine LIKE '%MergeTree' AND " + fmt.Sprintf(own, "name"),
	} {
		var without []string
		require.NoError(t, conn.QueryRow(t.Context(), statement).Scan(&without))
		require.Empty(t, without)
	}
	var columns uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.columns WHERE "+fmt.Sprintf(own, "table")).Scan(&columns))
	require.Greater(t, columns, uint64(150))
}

// A database that an earlier build made has its files in the record and not these: it
// is refused before a statement runs.
func TestDatabasesOfEarlierBuildsAreRefused(t *testing.T) {
	t.Parallel()
	conn, pool := openClickHouse(t), openPostgres(t)
	_, err := applyClickHouse(t.Context(), conn, Deployment{}, []file{{name: "0001_spans.sql", text: "CREATE TABLE kept (a Int8) ENGINE = Memory", checksum: "x"}})
	require.NoError(t, err)
	_, err = applyPostgres(t.Context(), pool, []file{{name: "0001_access.sql", text: "CREATE TABLE kept (a int)", checksum: "x"}})
	require.NoError(t, err)

	const what = "start with an empty data directory"
	_, err = ClickHouse(t.Context(), conn, Deployment{})
	require.ErrorContains(t, err, what)
	_, err = Postgres(t.Context(), pool)
	require.ErrorContains(t, err, what)
	_, err = Waiting(t.Context(), conn, pool, Deployment{})
	require.ErrorContains(t, err, what)
	var tables []string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT arraySort(groupArray(name)) FROM system.tables WHERE database = currentDatabase()").Scan(&tables))
	require.Equal(t, []string{"kept", recordName}, tables)
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT array_agg(tablename::text ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables))
	require.Equal(t, []string{"kept", recordName}, tables)
}

// A file that stopped in the middle was not recorded; it runs again whole.
func TestClickHouseRepeatsAnUnrecordedFile(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	_, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	require.NoError(t, conn.Exec(t.Context(), "TRUNCATE TABLE schema_migrations"))
	applied, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	require.NotEmpty(t, applied)
}

func TestPostgresAppliesOnce(t *testing.T) {
	t.Parallel()
	pool := openPostgres(t)
	all, err := read(files, "postgres")
	require.NoError(t, err)

	// Several at once: one applies, the others wait and find nothing to do.
	var mu sync.Mutex
	var applied []string
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			names, err := Postgres(context.WithoutCancel(t.Context()), pool)
			mu.Lock()
			defer mu.Unlock()
			applied = append(applied, names...)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	require.Len(t, applied, len(all))

	again, err := Postgres(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, again)

	changed := slices.Clone(all)
	changed[0].checksum = "different"
	_, err = applyPostgres(t.Context(), pool, changed)
	require.ErrorContains(t, err, "Postgres was set up by another build")
}

func TestPostgresFileIsOneTransaction(t *testing.T) {
	t.Parallel()
	pool := openPostgres(t)
	bad := []file{{name: "0001_bad.sql", text: "CREATE TABLE half (a int); SELECT nonsense;", checksum: "x"}}
	_, err := applyPostgres(t.Context(), pool, bad)
	require.ErrorContains(t, err, "0001_bad.sql")
	var exists bool
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT to_regclass('half') IS NOT NULL").Scan(&exists))
	require.False(t, exists)
	// The lock was released.
	_, err = applyPostgres(t.Context(), pool, nil)
	require.NoError(t, err)
}
