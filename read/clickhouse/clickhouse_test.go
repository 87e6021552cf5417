package clickhouse_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/slot"
	"colonnade/read/clickhouse"
	"colonnade/read/sqltext"
)

// silent is a connection on which no statement ends before its context.
type silent struct {
	driver.Conn
	asked func(context.Context)
}

func (s silent) Query(ctx context.Context, _ string, _ ...any) (driver.Rows, error) {
	if s.asked != nil {
		s.asked(ctx)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func open(t *testing.T, conn driver.Conn) *clickhouse.Client {
	t.Helper()
	cfg := clickhouse.Config{Timeout: 15 * time.Second, MemoryBytes: 1 << 30, Slots: slot.Config{Count: 2, WaitTimeout: 5 * time.Second}}
	c, err := clickhouse.New(cfg, conn, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)
	return c
}

// The error says which bound ended a statement: the client that left, the timeout of its
// request, or a ClickHouse that hangs.
func TestEndsOfStatements(t *testing.T) {
	t.Parallel()
	timeout := errors.New("the request reached its timeout")
	for _, tt := range []struct {
		name  string
		ctx   func(context.Context) (context.Context, context.CancelFunc)
		kind  domain.Kind
		after time.Duration
	}{
		{"ClickHouse hangs", func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }, domain.Unavailable, 17 * time.Second},
		{"the request's timeout", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, timeout)
		}, domain.Unavailable, time.Second},
		{"the client leaves", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(2*time.Second, cancel)
			return ctx, cancel
		}, domain.Internal, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				began := time.Now()
				c := open(t, silent{asked: func(ctx context.Context) {
					_, limited := ctx.Deadline()
					require.False(t, limited, "the driver would make it the statement's limit")
				}})
				err := c.Query(clickhouse.Admit(ctx, domain.ProjectID{1}, slot.Long), "test", sqltext.Statement{SQL: "SELECT 1"}, nil)
				require.Equal(t, tt.kind, domain.KindOf(err), "%v", err)
				require.Equal(t, tt.after, time.Since(began))
				if tt.kind == domain.Internal {
					require.ErrorIs(t, err, context.Canceled)
				}
				require.Zero(t, c.Slots().Stats().InUse)
			})
		})
	}
}
