//go:build embedded

package registry_test

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations"
	"colonnade/write/registry"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

func openPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = migrations.Postgres(t.Context(), pool)
	require.NoError(t, err)
	return pool
}

func newRegistry(t testing.TB, pool *pgxpool.Pool) *registry.Registry {
	t.Helper()
	r, err := registry.New(registry.DefaultConfig(), registry.Deps{Pool: pool, Now: time.Now, Random: rand.Reader})
	require.NoError(t, err)
	return r
}
