package consumer_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

// A follower sees what is published after it opened, all of it and nothing
// else, and disturbs no group.
func TestAFollowerSeesWhatComes(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(30))
	require.NoError(t, err)
	f, err := consumer.Follow(t.Context(), cfg, time.Now, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer f.Close()

	quiet, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got, err := f.Poll(quiet)
	require.NoError(t, err)
	require.Empty(t, got, "what was there before")

	all := streamtest.Records(60)
	token, err := p.Publish(t.Context(), all[30:])
	require.NoError(t, err)
	seen := map[string]bool{}
	last := map[int32]int64{}
	for len(seen) < 30 {
		got, err := f.Poll(t.Context())
		require.NoError(t, err)
		for _, r := range got {
			require.NoError(t, r.Err)
			require.False(t, seen[r.Trace.String()])
			seen[r.Trace.String()] = true
			last[r.Partition] = r.Offset
		}
	}
	for _, r := range all[30:] {
		require.True(t, seen[r.Trace.String()])
	}
	for _, at := range token {
		require.Equal(t, at.Offset, last[at.Partition])
		f.Pause(at.Partition)
	}

	_, err = p.Publish(t.Context(), streamtest.Records(1))
	require.NoError(t, err)
	paused, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got, err = f.Poll(paused)
	require.NoError(t, err)
	require.Empty(t, got, "a paused partition waits")
	for _, at := range token {
		f.Resume(at.Partition)
	}
	for len(got) == 0 {
		got, err = f.Poll(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, streamtest.Record(0).Trace, got[0].Trace)
}

func TestATopicThatIsNotThereCannotBeFollowed(t *testing.T) {
	t.Parallel()
	_, err := consumer.Follow(t.Context(), streamtest.Config(t, streamtest.Shared(t)...), time.Now, slog.New(slog.DiscardHandler))
	require.Error(t, err)
}
