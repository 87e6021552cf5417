//go:build embedded

package migrations

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// What a schema is made of, a line for each column, constraint, index and function.
const describeSchema = `
SELECT format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
       coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''))
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT format('%s: %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f', 'c', 'u')
UNION ALL
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT format('function %s(%s) %s', proname, pg_get_function_arguments(oid), provolatile) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
ORDER BY 1`

func describe(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), describeSchema)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n") + "\n"
}

// Every schema that was ever released is recorded; from each of them the
// migrations lead to the same place, with what was stored kept.
func TestPostgresFromEveryRecordedSchema(t *testing.T) {
	t.Parallel()
	all, err := read(files, "postgres")
	require.NoError(t, err)
	record := filepath.Join("testdata", "postgres.schema")
	for done := range len(all) + 1 {
		t.Run(fmt.Sprint("from ", done, " files"), func(t *testing.T) {
			t.Parallel()
			pool := openPostgres(t)
			_, err := applyPostgres(t.Context(), pool, all[:done])
			require.NoError(t, err)
			if done > 0 {
				_, err = pool.Exec(t.Context(), `INSERT INTO users VALUES (gen_random_uuid(), 'kept@example.com', 'kept', now())`)
				require.NoError(t, err)
			}
			applied, err := Postgres(t.Context(), pool)
			require.NoError(t, err)
			require.Len(t, applied, len(all)-done)
			got := describe(t, pool)
			if *golden && done == 0 {
				require.NoError(t, os.WriteFile(record, []byte(got), 0o600))
			}
			want, err := os.ReadFile(record)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got), "run with -golden to rewrite")
			var kept int
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM users`).Scan(&kept))
			require.Equal(t, min(done, 1), kept)
		})
	}
}

// A file that was released never changes: its checksum is recorded beside it.
func TestReleasedPostgresFilesDoNotChange(t *testing.T) {
	t.Parallel()
	all, err := read(files, "postgres")
	require.NoError(t, err)
	var sums strings.Builder
	for _, f := range all {
		fmt.Fprintln(&sums, f.name, f.checksum)
	}
	record := filepath.Join("testdata", "postgres.sums")
	if *golden {
		require.NoError(t, os.WriteFile(record, []byte(sums.String()), 0o600))
	}
	want, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), sums.String()), "a change of the schema is a new file")
}
