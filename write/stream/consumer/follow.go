package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/write/stream"
)

// growEvery is how often a Follower looks for partitions that were added.
const growEvery = 30 * time.Second

// A Follower waits for leaders of the partitions for leaderTimeout in all; the first pause is
// firstLeaderPause.
const (
	leaderTimeout    = 10 * time.Second
	firstLeaderPause = 50 * time.Millisecond
)

// Follower reads the records that are published while it is open, from the ends of the
// partitions. It has no group and commits nothing, so that it does not affect other readers.
// It is for one goroutine.
type Follower struct {
	cfg    stream.Config
	now    func() time.Time
	client *kgo.Client
	// partitions is how many partitions are read, countedAt when they were counted.
	partitions int
	countedAt  time.Time
}

// Follow opens a follower, which reads every record that is published after Follow returned.
func Follow(ctx context.Context, cfg stream.Config, now func() time.Time, log *slog.Logger) (*Follower, error) {
	opts, err := stream.ClientOptions(cfg, now, log.With(slog.String("component", "stream")))
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // as the sink reads
		kgo.FetchMaxPartitionBytes(4<<20),
		kgo.FetchMaxBytes(16<<20),
		kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()), // no records from before Follow
	)...)
	if err != nil {
		return nil, fmt.Errorf("stream: make a following client: %w", err)
	}
	f := &Follower{cfg: cfg, now: now, client: client}
	if err := f.begin(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return f, nil
}

// begin finds the ends of the partitions. It waits for their leaders, which a topic lacks for
// a short time after it was created or its broker was lost.
func (f *Follower) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	for pause := firstLeaderPause; ; pause = min(2*pause, time.Second) {
		err := f.grow(ctx)
		if err == nil && f.partitions > 0 {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("stream: the topic %s has no partitions", f.cfg.Topic)
		} else if !kerr.IsRetriable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// grow begins to read partitions: first all of them from their ends, later those that were
// added, from their starts.
func (f *Follower) grow(ctx context.Context) error {
	f.countedAt = f.now()
	ends, err := kadm.NewClient(f.client).ListEndOffsets(ctx, f.cfg.Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("stream: list end offsets: %w", err)
	}
	add := map[int32]kgo.Offset{}
	for number, end := range ends[f.cfg.Topic] {
		switch {
		case f.partitions == 0:
			add[number] = kgo.NewOffset().At(end.Offset)
		case int(number) >= f.partitions:
			add[number] = kgo.NewOffset().AtStart()
		}
	}
	if len(add) > 0 {
		f.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{f.cfg.Topic: add})
		f.partitions += len(add)
	}
	return nil
}

// Poll returns the next records; those that cannot be decoded have their Err. It returns none
// if ctx ends first. After an error the follower may have missed records and must be closed.
func (f *Follower) Poll(ctx context.Context) ([]stream.Record, error) {
	if f.now().Sub(f.countedAt) > growEvery {
		if err := f.grow(ctx); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	fetches := f.client.PollRecords(ctx, 0)
	var failed error
	fetches.EachError(func(_ string, partition int32, err error) {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			failed = fmt.Errorf("stream: follow partition %d: %w", partition, err)
		}
	})
	var records []stream.Record
	fetches.EachRecord(func(r *kgo.Record) { records = append(records, stream.Decode(r)) })
	return records, failed
}

// Pause stops reading partitions until Resume; records that were fetched of them wait.
func (f *Follower) Pause(partitions ...int32) {
	f.client.PauseFetchPartitions(map[string][]int32{f.cfg.Topic: partitions})
}

// Resume continues to read partitions.
func (f *Follower) Resume(partitions ...int32) {
	f.client.ResumeFetchPartitions(map[string][]int32{f.cfg.Topic: partitions})
}

// Close disconnects.
func (f *Follower) Close() { f.client.Close() }
