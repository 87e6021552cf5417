//go:build embedded

package migrations

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations/schema"
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
	require.ErrorContains(t, err, "was changed after it was applied")
}

// Every table that a sink writes says that its parts are removed by one thread,
// migration 0019: one without it stops every page for a moment now and then.
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

// The default of label is schema.Label, for rows from before it and for those
// that come without it.
func TestLabelsByDefault(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	all, err := read(files, "clickhouse")
	require.NoError(t, err)
	before := slices.IndexFunc(all, func(f file) bool { return f.name == "0020_label.sql" })
	require.Positive(t, before)
	_, err = applyClickHouse(t.Context(), conn, Deployment{}, all[:before])
	require.NoError(t, err)

	paths := []string{""}
	keys := []string{"", "0", "12", "1a", "é", "a", "model", "models", "finish_reasons", "name\n", `type\`, "KIND"}
	for _, a := range keys {
		paths = append(paths, a)
		for _, b := range keys {
			paths = append(paths, a+"."+b)
			for _, c := range keys {
				paths = append(paths, a+"."+b+"."+c, a+"."+b+"."+c+".kind.3")
			}
		}
	}
	insert := func(week string) {
		require.NoError(t, conn.Exec(t.Context(), "INSERT INTO spans (week, tie, str) SELECT '"+week+"', number, map(path, 'a value') FROM (SELECT number, ?[number + 1] AS path FROM numbers(?))", paths, len(paths)))
	}
	check := func(rows int) {
		found, err := conn.Query(t.Context(), "SELECT mapKeys(str)[1], mapKeys(label), label[mapKeys(str)[1]] FROM spans")
		require.NoError(t, err)
		labels := 0
		for ; found.Next(); rows-- {
			var path, value string
			var keys []string
			require.NoError(t, found.Scan(&path, &keys, &value))
			if schema.Label(path) {
				labels++
				require.Equal(t, []string{path}, keys)
				require.Equal(t, "a value", value)
			} else {
				require.Empty(t, keys, "%q", path)
			}
		}
		require.NoError(t, found.Err())
		require.Zero(t, rows)
		require.NotZero(t, labels)
	}
	insert("2026-03-02")
	_, err = ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	insert("2026-03-09")
	check(2 * len(paths))
	require.Eventually(t, func() bool {
		var lacking uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.parts AS p WHERE active AND database = currentDatabase() AND table = 'spans' AND name NOT IN (SELECT name FROM system.parts_columns WHERE database = currentDatabase() AND table = 'spans' AND column = 'label')").Scan(&lacking))
		return lacking == 0
	}, time.Minute, 50*time.Millisecond, "rows that were there get the column")
	check(2 * len(paths))
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
	require.ErrorContains(t, err, "was changed after it was applied")
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
