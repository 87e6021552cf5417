//go:build embedded

package migrations

import (
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

// The schema of Postgres is recorded as Postgres understood it: a change of the file
// shows here what it changes.
func TestPostgresSchemaGolden(t *testing.T) {
	t.Parallel()
	pool := openPostgres(t)
	_, err := Postgres(t.Context(), pool)
	require.NoError(t, err)
	got, record := describe(t, pool), filepath.Join("testdata", "postgres.schema")
	if *golden {
		require.NoError(t, os.WriteFile(record, []byte(got), 0o600))
	}
	want, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got), "run with -golden to rewrite")
}
