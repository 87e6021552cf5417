package consumer_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/domain"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

// refuseOffsets answers requests for commits with an error while refuse returns true.
func refuseOffsets(c *kfake.Cluster, code int16, refuse func() bool) {
	c.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req, _ := r.(*kmsg.OffsetFetchRequest)
		resp, _ := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.Groups {
			rg := kmsg.NewOffsetFetchResponseGroup()
			rg.Group = g.Group
			for _, topic := range g.Topics {
				rt := kmsg.NewOffsetFetchResponseGroupTopic()
				rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
				for _, p := range topic.Partitions {
					rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
					rp.Partition, rp.Offset, rp.ErrorCode = p, -1, code
					rt.Partitions = append(rt.Partitions, rp)
				}
				rg.Topics = append(rg.Topics, rt)
			}
			resp.Groups = append(resp.Groups, rg)
		}
		return resp, nil, refuse()
	})
}

// refuseCommits answers commits with an error while refuse says so.
func refuseCommits(c *kfake.Cluster, code int16, refuse func() bool) {
	c.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req, _ := r.(*kmsg.OffsetCommitRequest)
		resp, _ := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range req.Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, refuse()
	})
}

// clock is a clock that is moved on by hand.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1e9, c.nanos.Load()) }
func (c *clock) forward(d time.Duration) { c.nanos.Add(int64(d)) }

func watched(t *testing.T, cfg stream.Config, clock *clock) *consumer.Consumer {
	t.Helper()
	c, err := consumer.New(cfg, clock.now, streamtest.Quiet(), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestAPartitionWhoseCommitIsRefusedIsTakenAgain: permissions are being changed
// while the group is joined. The partition has no worker meanwhile, which shows, and
// has one afterwards.
func TestAPartitionWhoseCommitIsRefusedIsTakenAgain(t *testing.T) {
	t.Parallel()
	k, cfg := streamtest.OwnBroker(t)
	_, err := streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(3))
	require.NoError(t, err)
	var allowed atomic.Bool
	refuseOffsets(k, kerr.TopicAuthorizationFailed.Code, func() bool { return !allowed.Load() })
	clock := &clock{}
	c := watched(t, cfg, clock)
	began := make(chan struct{}, 1)
	r := run(t, c, func(ctx context.Context, _ *consumer.Partition) error {
		began <- struct{}{}
		<-ctx.Done()
		return nil
	})
	require.Eventually(t, func() bool {
		clock.forward(time.Second)
		return domain.KindOf(c.Ready()) == domain.Unavailable
	}, time.Minute, 100*time.Millisecond)
	allowed.Store(true)
	select {
	case <-began:
	case <-time.After(30 * time.Second):
		require.Fail(t, "the partition has no worker, and Run goes on")
	}
	require.NoError(t, c.Ready())
	r.stop(t)
}

// TestAMemberThatIsThrownOutBeginsAnew: a broker was killed and knows the group's
// generation no more. The client joins again by itself and keeps its partitions; their
// workers must be notified all the same, or they wait for it.
func TestAMemberThatIsThrownOutBeginsAnew(t *testing.T) {
	t.Parallel()
	k, cfg := streamtest.OwnBroker(t)
	_, err := streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(3))
	require.NoError(t, err)
	var refused atomic.Int64
	refuseCommits(k, kerr.IllegalGeneration.Code, func() bool { return refused.Add(1) == 1 })
	var workers atomic.Int64
	done := make(chan struct{})
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, p *consumer.Partition) error {
		first := workers.Add(1) == 1
		if _, err := p.PollTo(ctx, 2); err != nil {
			return err
		}
		err := p.Commit(context.WithoutCancel(ctx), 3)
		if !first && err == nil {
			close(done)
		}
		<-ctx.Done()
		return err
	})
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		require.Fail(t, "the worker was not notified that it has lost its partition")
	}
	r.stop(t)
	require.Equal(t, int64(2), workers.Load())
}

// TestCommitsThatAreRefusedForLongShow: nothing that is read becomes visible meanwhile.
func TestCommitsThatAreRefusedForLongShow(t *testing.T) {
	t.Parallel()
	k, cfg := streamtest.OwnBroker(t)
	_, err := streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(3))
	require.NoError(t, err)
	var refused atomic.Int64
	var allowed atomic.Bool
	refuseCommits(k, kerr.UnknownServerError.Code, func() bool { return refused.Add(1) > 0 && !allowed.Load() })
	clock := &clock{}
	c := watched(t, cfg, clock)
	done := make(chan error, 1)
	r := run(t, c, func(ctx context.Context, p *consumer.Partition) error {
		if _, err := p.PollTo(ctx, 2); err != nil {
			return err
		}
		done <- p.Commit(ctx, 3)
		<-ctx.Done()
		return nil
	})
	require.Eventually(t, func() bool { return refused.Load() > 1 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Ready(), "a moment is no reason to worry")
	clock.forward(10 * time.Second)
	require.Eventually(t, func() bool { return domain.KindOf(c.Ready()) == domain.Unavailable }, time.Minute, time.Millisecond)
	allowed.Store(true)
	require.NoError(t, <-done)
	require.NoError(t, c.Ready())
	r.stop(t)
}

// TestAPartitionThatCannotBeReadShows: a fetch that fails is repeated after a pause
// that grows (it was at once, without end), and the consumer is not ready meanwhile.
func TestAPartitionThatCannotBeReadShows(t *testing.T) {
	t.Parallel()
	k, cfg := streamtest.OwnBroker(t)
	_, err := streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(3))
	require.NoError(t, err)
	var mu sync.Mutex
	var refused []time.Time
	var allowed atomic.Bool
	k.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		req, _ := r.(*kmsg.FetchRequest)
		if allowed.Load() || len(req.Topics) == 0 {
			return nil, nil, false //nolint:nilnil // not handled: the broker answers itself
		}
		mu.Lock()
		refused = append(refused, time.Now())
		mu.Unlock()
		resp, _ := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.ErrorCode = kerr.UnknownServerError.Code
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	times := func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(refused)
	}
	clock := &clock{}
	c := watched(t, cfg, clock)
	done := make(chan error, 1)
	r := run(t, c, func(ctx context.Context, p *consumer.Partition) error {
		_, err := p.PollTo(ctx, 2)
		done <- err
		<-ctx.Done()
		return nil
	})
	require.Eventually(t, func() bool { return len(times()) >= 3 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Ready(), "a moment is no reason to worry")
	clock.forward(10 * time.Second)
	require.Eventually(t, func() bool { return domain.KindOf(c.Ready()) == domain.Unavailable }, time.Minute, time.Millisecond)
	require.ErrorContains(t, c.Ready(), "Partition 0 has not been readable for 10s.")
	require.Eventually(t, func() bool { return len(times()) >= 5 }, time.Minute, time.Millisecond)
	for i, at := range times()[1:5] {
		require.GreaterOrEqual(t, at.Sub(times()[i]), 100*time.Millisecond<<i)
	}
	allowed.Store(true)
	require.NoError(t, <-done)
	require.NoError(t, c.Ready())
	r.stop(t)
}

// TestReadyWaitsForPartitions: a member is not ready before it has its partitions,
// and one that is given none only when no earlier owner can be waited for.
func TestReadyWaitsForPartitions(t *testing.T) {
	t.Parallel()
	_, cfg := streamtest.OwnBroker(t)
	clock := &clock{}
	c, second := watched(t, cfg, clock), watched(t, cfg, clock)
	require.ErrorContains(t, c.Ready(), "The sink waits for its partitions.")
	work := func(ctx context.Context, _ *consumer.Partition) error {
		<-ctx.Done()
		return nil
	}
	first := run(t, c, work)
	require.Eventually(t, func() bool { return c.Ready() == nil }, time.Minute, time.Millisecond)
	idle := run(t, second, work)
	require.Never(t, func() bool { return second.Ready() == nil }, 500*time.Millisecond, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		clock.forward(cfg.SessionTimeout)
		return second.Ready() == nil && c.Ready() == nil
	}, time.Minute, 100*time.Millisecond)
	first.stop(t)
	require.ErrorContains(t, c.Ready(), "The sink waits for its partitions.")
	idle.stop(t)
}
