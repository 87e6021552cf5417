package quota_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/quota"
)

// While Postgres does not answer, what was counted is kept and counts once.
func TestUsageThatCannotBeStoredCountsOnce(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=1")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	m := quota.New(quota.Config{SpansPerDay: 100, PayloadBytes: 1000}, quota.Deps{
		Postgres: pool, Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	project := domain.ProjectID(uuid.New())
	require.NoError(t, m.Admit(project, 40, 400))
	for range 5 {
		require.Error(t, m.Store(t.Context()))
	}
	require.NoError(t, m.Admit(project, 59, 0), "40 of 100 are used")
	require.NoError(t, m.Admit(project, 1, 0), "99 of 100 are used")
	refused := m.Admit(project, 1, 0)
	require.Equal(t, domain.TooMany, domain.KindOf(refused))
	require.ErrorContains(t, refused, "43201 seconds", "midnight is twelve hours away")
}
