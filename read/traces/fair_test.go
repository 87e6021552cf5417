package traces_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/sqltext"
	"colonnade/read/traces"
)

// heavy marks the contexts of statements that take a second.
type heavy struct{}

// busy answers every statement with no rows: heavy ones after a second, others at
// once. It counts how many of each run.
type busy struct {
	driver.Conn
	running, mostHeavy, most atomic.Int64
	heavy                    atomic.Int64
}

func (b *busy) Query(ctx context.Context, _ string, _ ...any) (driver.Rows, error) {
	b.most.Store(max(b.most.Load(), b.running.Add(1)))
	defer b.running.Add(-1)
	if ctx.Value(heavy{}) != nil {
		b.mostHeavy.Store(max(b.mostHeavy.Load(), b.heavy.Add(1)))
		defer b.heavy.Add(-1)
		time.Sleep(time.Second)
	}
	return noRows{}, nil
}

type noRows struct{ driver.Rows }

func (noRows) Next() bool   { return false }
func (noRows) Err() error   { return nil }
func (noRows) Close() error { return nil }

// Statements of 64 callers of one project neither fill the connections to
// ClickHouse nor delay the reads of another project. Those of them whose turn does
// not come are answered with 429.
func TestOneProjectDoesNotHoldAllSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &busy{}
		cfg := traces.DefaultConfig()
		reader, err := traces.New(cfg, store, time.Now, prometheus.NewRegistry())
		require.NoError(t, err)
		hostile, light := domain.ProjectID(uuid.UUID{1}), domain.ProjectID(uuid.UUID{2})
		ctx, stop := context.WithCancel(t.Context())
		var served, refused atomic.Int64
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				for ctx.Err() == nil {
					err := reader.Run(context.WithValue(ctx, heavy{}, true), hostile, "test", sqltext.Statement{SQL: "SELECT 1"}, nil)
					switch {
					case err == nil:
						served.Add(1)
					case domain.KindOf(err) == domain.TooMany:
						refusal, ok := errors.AsType[*domain.Error](err)
						if ok && refusal.RetryAfter > 0 {
							refused.Add(1)
						}
					}
				}
			})
		}
		time.Sleep(10 * time.Second)
		for range 100 {
			began := time.Now()
			_, err := reader.TracesByID(ctx, light, []trace.TraceID{{1}})
			require.NoError(t, err)
			_, err = reader.Records(ctx, light, nil, domain.Window{Limit: 10})
			require.NoError(t, err)
			require.Less(t, time.Since(began), 10*time.Millisecond)
			time.Sleep(100 * time.Millisecond)
		}
		stop()
		callers.Wait()
		require.EqualValues(t, cfg.Slots.Count-cfg.Slots.Count/4, store.mostHeavy.Load(), "all slots but a quarter")
		require.LessOrEqual(t, store.most.Load(), int64(cfg.Slots.Count))
		require.Positive(t, refused.Load())
		require.Greater(t, served.Load(), int64(100))
	})
}
