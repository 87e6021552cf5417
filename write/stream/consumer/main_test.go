package consumer_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

func TestMain(m *testing.M) { os.Exit(streamtest.Main(m)) }

func newConsumer(t testing.TB, cfg stream.Config) *consumer.Consumer {
	t.Helper()
	c, err := consumer.New(cfg, time.Now, streamtest.Quiet(), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// running is a consumer under way.
type running struct {
	cancel context.CancelFunc
	done   chan error
}

func run(t *testing.T, c *consumer.Consumer, work func(context.Context, *consumer.Partition) error) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- c.Run(ctx, work) }()
	return r
}

func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	require.NoError(t, <-r.done)
}
