package redrive_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/redrive"
	"colonnade/write/stream/streamtest"
)

// TestWhatWasRedrivenIsNotForgotten: a broker forgets the commits of a group
// without members, and a redrive has none when it is done. Who consumes commits them again.
func TestWhatWasRedrivenIsNotForgotten(t *testing.T) {
	t.Parallel()
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(k.Close)
	cfg := streamtest.Config(t, k.ListenAddrs()...)
	p := streamtest.Producer(t, cfg)
	require.NoError(t, p.Dead(t.Context(), streamtest.Records(3), "no such column"))
	sent, err := redrive.Run(t.Context(), cfg, redrive.Options{}, time.Now, streamtest.Quiet())
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
	before, err := streamtest.Admin(t, cfg).FetchOffsets(t.Context(), cfg.Group+".redrive")
	require.NoError(t, err)
	at, ok := before.Lookup(cfg.DeadTopic(), 0)
	require.True(t, ok)
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, _ *consumer.Partition) error {
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
	next, err := redrive.Run(t.Context(), cfg, redrive.Options{}, time.Now, streamtest.Quiet())
	require.NoError(t, err)
	require.Zero(t, next.Total)
}

func TestRedriveSendsEachOnce(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 1
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(7))
	require.NoError(t, err)
	read := func(upTo int) []stream.Record {
		var got []stream.Record
		full := make(chan struct{})
		r := run(t, newConsumer(t, cfg), func(ctx context.Context, part *consumer.Partition) error {
			for len(got) < upTo {
				batch, err := part.Poll(ctx, 1<<20, time.Millisecond)
				if err != nil {
					return err
				}
				got = append(got, batch...)
				if err := part.Commit(ctx, part.Next()); err != nil {
					return err
				}
			}
			close(full)
			<-ctx.Done()
			return nil
		})
		<-full
		r.stop(t)
		return got
	}
	first := read(7)
	require.NoError(t, p.Dead(t.Context(), first[:4], "no such column"))
	require.NoError(t, p.Dead(t.Context(), first[4:6], "too deep"))

	want := redrive.Result{Total: 6, Done: 6, Reasons: map[string]int64{"no such column": 4, "too deep": 2}}
	dry, err := redrive.Run(t.Context(), cfg, redrive.Options{DryRun: true}, time.Now, streamtest.Quiet())
	require.NoError(t, err)
	require.Equal(t, want, dry)
	var reports []redrive.Result
	sent, err := redrive.Run(t.Context(), cfg, redrive.Options{Progress: func(r redrive.Result) { reports = append(reports, r) }}, time.Now, streamtest.Quiet())
	require.NoError(t, err)
	require.Equal(t, want, sent)
	require.Equal(t, want, reports[len(reports)-1])
	again, err := redrive.Run(t.Context(), cfg, redrive.Options{}, time.Now, streamtest.Quiet())
	require.NoError(t, err)
	require.Zero(t, again.Total)

	second := read(6)
	require.Len(t, second, 6)
	for i, got := range second {
		want := first[i]
		want.Offset, want.Redriven = got.Offset, true
		require.Equal(t, want, got)
	}
}
