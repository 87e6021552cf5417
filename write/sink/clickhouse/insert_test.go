//go:build embedded

package clickhouse

import (
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations/migrationstest"
	"colonnade/migrations/schema"
	"colonnade/write/sink/rows"
)

// What is inserted is known by its token alone, never by what it holds.
func TestInsertIsKnownByItsToken(t *testing.T) {
	t.Parallel()
	conn := migrated(t)
	s := New(conn, Config{InsertTimeout: time.Minute, MinBackoff: 100 * time.Millisecond, MaxBackoff: 10 * time.Second}, prometheus.NewRegistry(), time.Now)
	count := func() (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM rejected_spans").Scan(&n))
		return n
	}
	for _, step := range []struct {
		token, reason string
		rows          uint64
	}{
		{"a:0:1-9", "one", 1},
		{"a:0:1-9", "one", 1},
		{"a:0:1-9", "another", 1},
		{"a:0:10-19", "one", 2},
		{"", "one", 3},
		{"", "one", 4},
	} {
		block := rows.RejectedSpans([]rows.RejectedSpan{{Reason: step.reason, At: time.Unix(1, 0)}}, 0)
		require.NoError(t, s.Insert(t.Context(), Insertion{Table: schema.RejectedSpans, Block: block, Token: step.token}))
		require.Equal(t, step.rows, count(), "%q %s", step.token, step.reason)
	}
	for range 2 {
		require.NoError(t, s.Exec(t.Context(), "insert again", "INSERT INTO rejected_spans (reason, rejected_at) SELECT 'one', toDateTime64(1, 6)"))
	}
	require.Equal(t, uint64(6), count(), "nor is what a statement inserts")
}

// migrated opens a database of its own that has all tables.
func migrated(t testing.TB) driver.Conn {
	t.Helper()
	opts, err := clickhouse.ParseDSN(migrationstest.Database(t))
	require.NoError(t, err)
	conn, err := clickhouse.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }
