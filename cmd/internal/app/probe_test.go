//go:build embedded

package app

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
	"colonnade/deploy/embedded/embeddedtest"
)

// The checks of /readyz answer while requests hold every other connection.
func TestProbesNeedNoOtherConnection(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Kafka.Brokers = []string{"127.0.0.1:1"}
	cfg.ClickHouse.URL, cfg.ClickHouse.MaxOpenConns, cfg.ClickHouse.DialTimeout = embeddedtest.Database(t), 1, 200*time.Millisecond
	cfg.Postgres.URL, cfg.Postgres.MaxConns = embeddedtest.PostgresDatabase(t), 1
	p := &process{
		Options: Options{Roles: AllRoles(), Out: io.Discard, Now: time.Now},
		cfg:     config.Loaded{Config: cfg}, log: slog.New(slog.DiscardHandler),
	}
	stores, err := p.openStores(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, stores.close()) }()

	endless, end := context.WithCancel(t.Context())
	rows, err := stores.ClickHouse.Query(endless, "SELECT number FROM numbers(1000000000000)")
	require.NoError(t, err)
	defer func() {
		end()
		_ = rows.Close() // its error is that the statement was cancelled
	}()
	held, err := stores.Postgres.Acquire(t.Context())
	require.NoError(t, err)
	defer held.Release()

	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.Error(t, stores.ClickHouse.Ping(short))
	require.Error(t, stores.Postgres.Ping(short))
	require.NoError(t, stores.probes.clickHouse.Ping(t.Context()))
	require.NoError(t, stores.probes.postgres.Ping(t.Context()))
}
