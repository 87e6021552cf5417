//go:build embedded

package app

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// A role whose stores are not migrated yet can answer nobody: whoever sends it
// requests is told before.
func TestNoRoleIsReadyBeforeTheMigrations(t *testing.T) {
	t.Parallel()
	cfg := unmigrated(t, "")
	p := &process{Options: Options{Roles: Roles{Read: true}, Out: io.Discard, Now: time.Now}, cfg: cfg, log: slog.New(slog.DiscardHandler), reg: prometheus.NewRegistry()}
	s, err := p.openStores(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	h, err := p.build(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.close()) })
	// A busy machine may not answer within a probe's time: what is missing is asked for until it is told.
	missing := func() (names []string, why string) {
		state := h.server.Readiness(t.Context())
		return state.Missing(), state.Checks["migrations"].Error
	}
	require.Eventually(t, func() bool {
		names, why := missing()
		return slices.Equal(names, []string{"migrations"}) && strings.HasSuffix(why, "run colonnade migrate")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, migrateOnce(t.Context(), cfg))
	require.Eventually(t, func() bool { names, _ := missing(); return len(names) == 0 }, time.Minute, 10*time.Millisecond)
}
