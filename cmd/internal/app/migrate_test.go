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

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
	"colonnade/deploy/embedded/embeddedtest"
)

// unmigrated returns settings for stores without tables.
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

// A migration that copies rows takes long. With the read timeout of the
// configuration the client would give up and start it again each time.
func TestMigrationsIgnoreTheReadTimeout(t *testing.T) {
	t.Parallel()
	require.NoError(t, migrateOnce(t.Context(), unmigrated(t, "?read_timeout=1us")))
}

// Processes that start together migrate one after the other.
func TestConcurrentMigrations(t *testing.T) {
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

// A role is not ready, and says why, until the stores are migrated.
func TestReadinessNeedsMigrations(t *testing.T) {
	t.Parallel()
	cfg := unmigrated(t, "")
	s, err := Open(t.Context(), cfg, Options{Roles: Roles{Read: true}, Out: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	// On a loaded machine a probe may time out, so the test polls.
	missing := func() (names []string, why string) {
		state := s.Server.Readiness(t.Context())
		return state.Missing(), state.Checks["migrations"].Error
	}
	require.Eventually(t, func() bool {
		names, why := missing()
		return slices.Equal(names, []string{"migrations"}) && strings.HasSuffix(why, "run colonnade migrate")
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, migrateOnce(t.Context(), cfg))
	require.Eventually(t, func() bool { names, _ := missing(); return len(names) == 0 }, time.Minute, 10*time.Millisecond)
}
