package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/write/stream"
)

// TestWhatWasRedrivenIsNotForgotten: a broker forgets the commits of a group
// without members, and a redrive has none when it is done. Who consumes commits them again.
func TestWhatWasRedrivenIsNotForgotten(t *testing.T) {
	t.Parallel()
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(k.Close)
	cfg := config(t, k.ListenAddrs()...)
	p := producer(t, cfg)
	require.NoError(t, p.Dead(t.Context(), records(3), "no such column"))
	sent, err := stream.Redrive(t.Context(), cfg, stream.RedriveOptions{}, time.Now, quiet())
	require.NoError(t, err)
	require.Equal(t, int64(3), sent.Done)

	again := make(chan int64, 1)
	k.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if req, _ := r.(*kmsg.OffsetCommitRequest); req.Group == cfg.Group+".redrive" {
			again <- req.Topics[0].Partitions[0].Offset
		}
		return nil, nil, false //nolint:nilnil // false says that there is no answer
	})
	before, err := admin(t, cfg).FetchOffsets(t.Context(), cfg.Group+".redrive")
	require.NoError(t, err)
	at, ok := before.Lookup(cfg.DeadTopic(), 0)
	require.True(t, ok)
	r := run(t, consumer(t, cfg), func(ctx context.Context, _ *stream.Partition) error {
		<-ctx.Done()
		return nil
	})
	select {
	case offset := <-again:
		require.Equal(t, at.At, offset)
	case <-time.After(30 * time.Second):
		require.Fail(t, "nobody commits it again")
	}
	r.stop(t)
	next, err := stream.Redrive(t.Context(), cfg, stream.RedriveOptions{}, time.Now, quiet())
	require.NoError(t, err)
	require.Zero(t, next.Total)
}
