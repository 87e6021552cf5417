package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

func TestABatchIsBoundedByWeight(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 1
	p := streamtest.Producer(t, cfg)
	rs := streamtest.Records(14)
	_, err := p.Publish(t.Context(), rs[:12])
	require.NoError(t, err)

	const linger = time.Minute
	began := time.Now()
	var lengths []int
	all := make(chan struct{})
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, part *consumer.Partition) error {
		part.WeighBy(func([]byte) int { return 10 })
		if _, err := part.PollTo(ctx, 1); err != nil { // before anything was weighed
			return err
		}
		for _, weight := range []int{35, 40, 20} {
			batch, err := part.Poll(ctx, weight, linger)
			if err != nil {
				return err
			}
			lengths = append(lengths, len(batch))
		}
		// What was given out weighs nothing any more: two more records are waited for.
		if _, err := p.Publish(ctx, rs[12:13]); err != nil {
			return err
		}
		quiet, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		batch, err := part.Poll(quiet, 20, linger)
		cancel()
		if err == nil {
			return fmt.Errorf("a batch of %d records before there are two", len(batch))
		}
		if _, err := p.Publish(ctx, rs[13:]); err != nil {
			return err
		}
		batch, err = part.Poll(ctx, 20, linger)
		if err != nil {
			return err
		}
		lengths = append(lengths, len(batch))
		close(all)
		<-ctx.Done()
		return ctx.Err()
	})
	select {
	case <-all:
	case err := <-r.done:
		require.NoError(t, err)
	}
	r.stop(t)
	require.Equal(t, []int{4, 4, 2, 2}, lengths)
	require.Less(t, time.Since(began), linger, "full batches do not wait")
}

func TestRecordsComeBackAsTheyWent(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	p := streamtest.Producer(t, cfg)
	want := streamtest.Records(20)
	want = append(want, stream.Record{
		Project: domain.ProjectID(uuid.UUID{1}), Operation: stream.Reject, ReceivedAt: time.Unix(5, 0).UTC(), Source: "otlp", Value: []byte(`{}`),
	})
	token, err := p.Publish(t.Context(), want)
	require.NoError(t, err)
	require.NotEmpty(t, token)

	var mu sync.Mutex
	got := make(map[string]stream.Record)
	all := make(chan struct{})
	c := newConsumer(t, cfg)
	r := run(t, c, func(ctx context.Context, p *consumer.Partition) error {
		for {
			batch, err := p.Poll(ctx, 1<<20, 10*time.Millisecond)
			if err != nil {
				return err
			}
			mu.Lock()
			for _, rec := range batch {
				got[rec.Trace.String()] = rec
			}
			if len(got) == len(want) {
				close(all)
			}
			mu.Unlock()
			last := batch[len(batch)-1].Offset
			if err := p.Commit(ctx, last+1); err != nil {
				return err
			}
		}
	})
	<-all
	r.stop(t)
	last := make(map[int32]int64)
	for _, w := range want {
		g := got[w.Trace.String()]
		require.NoError(t, g.Err)
		last[g.Partition] = max(last[g.Partition], g.Offset)
		g.Partition, g.Offset = 0, 0
		require.Equal(t, w, g)
	}
	for _, position := range token {
		require.Equal(t, last[position.Partition], position.Offset)
	}
	require.Len(t, token, len(last))
}

// TestACrashedRangeIsRepeatedExactly ends a worker between Intend and Commit.
func TestACrashedRangeIsRepeatedExactly(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 1
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(10))
	require.NoError(t, err)

	crash := errors.New("crash")
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, p *consumer.Partition) error {
		batch, err := p.PollTo(ctx, 2)
		if err != nil {
			return err
		}
		if err := p.Commit(ctx, batch[len(batch)-1].Offset+1); err != nil {
			return err
		}
		if batch, err = p.PollTo(ctx, 6); err != nil {
			return err
		}
		if err := p.Intend(ctx, stream.Range{First: batch[0].Offset, Last: batch[len(batch)-1].Offset}); err != nil {
			return err
		}
		return crash
	})
	require.ErrorIs(t, <-r.done, crash)
	_, err = p.Publish(t.Context(), streamtest.Records(10))
	require.NoError(t, err)

	type seen struct {
		intended stream.Range
		pending  bool
		next     int64
		values   []string
	}
	found := make(chan seen, 1)
	c := newConsumer(t, cfg)
	r = run(t, c, func(ctx context.Context, p *consumer.Partition) error {
		s := seen{next: p.Next()}
		s.intended, s.pending = p.Intended()
		batch, err := p.PollTo(ctx, s.intended.Last)
		if err != nil {
			return err
		}
		for _, rec := range batch {
			s.values = append(s.values, string(rec.Value))
		}
		if err := p.Commit(ctx, p.Next()); err != nil {
			return err
		}
		found <- s
		<-ctx.Done()
		return nil
	})
	require.Equal(t, seen{
		intended: stream.Range{First: 3, Last: 6}, pending: true, next: 3,
		values: []string{"value 3", "value 4", "value 5", "value 6"},
	}, <-found)
	lag, err := c.Lag(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[int32]int64{0: 13}, lag)
	r.stop(t)
}

// TestRebalanceMovesPartitionsWhole lets a second consumer join and leave while
// records flow: no record may be committed by two owners at a time or be left out.
func TestRebalanceMovesPartitionsWhole(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 4
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(100))
	require.NoError(t, err)

	var mu sync.Mutex
	owner := make(map[int32]string)
	seen := make(map[string]int)
	joined := make(chan string, 100)
	complete := make(chan struct{}, 100)
	work := func(name string) func(context.Context, *consumer.Partition) error {
		return func(ctx context.Context, part *consumer.Partition) error {
			mu.Lock()
			if other := owner[part.Number()]; other != "" {
				mu.Unlock()
				return fmt.Errorf("partition %d belongs to %s and to %s", part.Number(), other, name)
			}
			owner[part.Number()] = name
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				owner[part.Number()] = ""
			}()
			joined <- name
			for {
				batch, err := part.Poll(ctx, 200, time.Millisecond)
				if err != nil {
					return err
				}
				r := stream.Range{First: batch[0].Offset, Last: batch[len(batch)-1].Offset}
				// A batch under way is finished even when the partition is being taken away.
				done := context.WithoutCancel(ctx)
				if err := part.Intend(done, r); err != nil {
					return err
				}
				mu.Lock()
				for _, rec := range batch {
					seen[string(rec.Value)]++
				}
				if len(seen)%100 == 0 {
					complete <- struct{}{}
				}
				mu.Unlock()
				if err := part.Commit(done, r.Last+1); err != nil {
					return err
				}
			}
		}
	}
	one := run(t, newConsumer(t, cfg), work("one"))
	<-complete
	two := run(t, newConsumer(t, cfg), work("two"))
	for name := range joined {
		if name == "two" {
			break
		}
	}
	more := streamtest.Records(200)[100:]
	_, err = p.Publish(t.Context(), more)
	require.NoError(t, err)
	for n := 0; n < 200; {
		<-complete
		mu.Lock()
		n = len(seen)
		mu.Unlock()
	}
	two.stop(t)
	_, err = p.Publish(t.Context(), streamtest.Records(300)[200:])
	require.NoError(t, err)
	for n := 0; n < 300; {
		<-complete
		mu.Lock()
		n = len(seen)
		mu.Unlock()
	}
	one.stop(t)
	for value, n := range seen {
		require.Equal(t, 1, n, value)
	}
}

// TestBrokerKilled kills the broker between writes and while a consumer owns
// partitions; everything acknowledged is read, in order, once it is back.
func TestBrokerKilled(t *testing.T) {
	t.Parallel()
	b := streamtest.StartBroker(t)
	cfg := streamtest.Config(t, b.Addr)
	cfg.PublishTimeout = 2 * time.Second
	p := streamtest.Producer(t, cfg)
	var mu sync.Mutex
	seen := make(map[string]bool)
	progress := make(chan struct{}, 1000)
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, part *consumer.Partition) error {
		if r, ok := part.Intended(); ok {
			if _, err := part.PollTo(ctx, r.Last); err != nil {
				return err
			}
		}
		for {
			batch, err := part.Poll(ctx, 1<<20, time.Millisecond)
			if err != nil {
				return err
			}
			last := batch[len(batch)-1].Offset
			if err := part.Intend(ctx, stream.Range{First: batch[0].Offset, Last: last}); err != nil {
				return nil //nolint:nilerr // thrown out by the restarted broker: the next owner repeats it
			}
			mu.Lock()
			for _, rec := range batch {
				seen[string(rec.Value)] = true
			}
			mu.Unlock()
			_ = part.Commit(ctx, last+1)
			progress <- struct{}{}
		}
	})
	acknowledged := 0
	for round := range 3 {
		if round > 0 {
			b.Kill(t)
			_, err := p.Publish(t.Context(), streamtest.Records(1))
			require.Equal(t, domain.Unavailable, domain.KindOf(err))
			b.Start(t)
		}
		for i := range 5 {
			batch := streamtest.Records(acknowledged + 20)[acknowledged:]
			_, err := p.Publish(t.Context(), batch)
			for tries := 0; err != nil && tries < 10; tries++ { // as a client does
				require.Equal(t, domain.Unavailable, domain.KindOf(err), i)
				_, err = p.Publish(t.Context(), batch)
			}
			require.NoError(t, err)
			acknowledged += len(batch)
		}
		for n := 0; n < acknowledged; {
			<-progress
			mu.Lock()
			n = len(seen)
			mu.Unlock()
		}
	}
	r.stop(t)
}
