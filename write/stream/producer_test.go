package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/stream"
	"colonnade/write/stream/streamtest"
)

func TestUnreachableBrokerIsUnavailable(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, "127.0.0.1:1")
	cfg.PublishTimeout = 200 * time.Millisecond
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(3))
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	e, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok)
	require.Equal(t, cfg.RetryAfter, e.RetryAfter)
	require.Error(t, p.Ready(t.Context()))
}

func TestALargeRecordIsTooLarge(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.MaxRecordBytes = 2 << 20
	p := streamtest.Producer(t, cfg)
	require.NoError(t, p.Ready(t.Context()))
	fits := streamtest.Record(0)
	fits.Value = make([]byte, p.MaxValueBytes(t.Context()))
	_, err := p.Publish(t.Context(), []stream.Record{fits})
	require.NoError(t, err)
	large := streamtest.Record(0)
	large.Value = make([]byte, p.MaxValueBytes(t.Context())+4096)
	_, err = p.Publish(t.Context(), []stream.Record{large})
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
}
