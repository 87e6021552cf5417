//go:build embedded

package accounts_test

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
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/entities"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

func openPool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), embeddedtest.PostgresDatabase(tb))
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	_, err = migrations.Postgres(tb.Context(), pool)
	require.NoError(tb, err)
	return pool
}

func newRegistry(tb testing.TB, pool *pgxpool.Pool) *accounts.Registry {
	tb.Helper()
	cfg := registry.DefaultConfig()
	db, err := registry.New(cfg, registry.Deps{Pool: pool, Now: time.Now, Random: rand.Reader})
	require.NoError(tb, err)
	e, err := entities.New(db, cfg.ServicesURL)
	require.NoError(tb, err)
	return accounts.New(db, e)
}
