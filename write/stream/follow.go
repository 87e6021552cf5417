package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// growEvery is how often a Follower looks for partitions that were added.
const growEvery = 30 * time.Second

// How long leaders of partitions are waited for, and how long first.
const (
	leaderPatience   = 10 * time.Second
	firstLeaderPause = 50 * time.Millisecond
)

// Follower reads the log for itself alone, from its end: without a group,
// without commits, and so without effect on who else reads. What came before
// it opened, and what comes after it closed, it does not see. It is for one
// goroutine.
type Follower struct {
	cfg    Config
	now    func() time.Time
	client *kgo.Client
	// known is how many partitions are read, lookedAt when they were counted.
	known    int
	lookedAt time.Time
}

// Follow opens a follower. When it returns, every record that is published
// from then on will be read.
func Follow(ctx context.Context, cfg Config, now func() time.Time, log *slog.Logger) (*Follower, error) {
	opts, err := options(cfg, now, log.With(slog.String("component", "stream")))
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // as the sink reads
		kgo.FetchMaxPartitionBytes(4<<20),
		kgo.FetchMaxBytes(16<<20),
		kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()), // never what is old
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

// begin finds the ends. A topic that was just made has no leaders for a moment,
// and one whose broker was lost for a moment more: these are waited for.
func (f *Follower) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	for pause := firstLeaderPause; ; pause = min(2*pause, time.Second) {
		err := f.grow(ctx)
		if err == nil && f.known > 0 {
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

// grow begins to read partitions: at first all from their ends, later those
// that were added, from their starts.
func (f *Follower) grow(ctx context.Context) error {
	f.lookedAt = f.now()
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
		case f.known == 0:
			add[number] = kgo.NewOffset().At(end.Offset)
		case int(number) >= f.known:
			add[number] = kgo.NewOffset().AtStart()
		}
	}
	if len(add) > 0 {
		f.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{f.cfg.Topic: add})
		f.known += len(add)
	}
	return nil
}

// Poll gives the next records, also those that did not decode, with their Err;
// none when ctx ends first. An error means that records may have been lost to
// this follower: it is of no more use.
func (f *Follower) Poll(ctx context.Context) ([]Record, error) {
	if f.now().Sub(f.lookedAt) > growEvery {
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
	var records []Record
	fetches.EachRecord(func(r *kgo.Record) { records = append(records, decode(r)) })
	return records, failed
}

// Pause stops reading partitions ahead of Resume; what was fetched of them waits.
func (f *Follower) Pause(partitions ...int32) {
	f.client.PauseFetchPartitions(map[string][]int32{f.cfg.Topic: partitions})
}

// Resume goes on reading partitions.
func (f *Follower) Resume(partitions ...int32) {
	f.client.ResumeFetchPartitions(map[string][]int32{f.cfg.Topic: partitions})
}

// Close disconnects.
func (f *Follower) Close() { f.client.Close() }
