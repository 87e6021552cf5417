//go:build embedded

package app

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
	"colonnade/deploy/embedded/embeddedtest"
)

// unmigrated are settings for stores without a table.
func unmigrated(t *testing.T, clickHouseQuery string) config.Loaded {
	t.Helper()
	cfg, err := config.Load("", []string{
		"COLONNADE_CLICKHOUSE_URL=" + embeddedtest.Database(t) + clickHouseQuery, "COLONNADE_POSTGRES_URL=" + embeddedtest.PostgresDatabase(t),
	})
	require.NoError(t, err)
	return cfg
}

func migrateOnce(ctx context.Context, cfg config.Loaded) error {
	return Migrate(ctx, cfg, Options{Out: io.Discard, Log: slog.New(slog.DiscardHandler)})
}

// A migration that copies what is stored takes as long as there is much of it,
// and a client that would not wait for its answer would begin it again each time.
func TestMigrationsTakeTheirTime(t *testing.T) {
	t.Parallel()
	require.NoError(t, migrateOnce(t.Context(), unmigrated(t, "?read_timeout=1us")))
}

// Processes that start together migrate one after the other.
func TestMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	cfg := unmigrated(t, "")
	var wait sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wait.Go(func() { errs[i] = migrateOnce(context.WithoutCancel(t.Context()), cfg) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
