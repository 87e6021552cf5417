package consumer_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
	"colonnade/write/stream/streamtest"
)

// offsets runs a consumer of one partition until it has read up to so many
// records, commits, and gives their offsets.
func offsets(t *testing.T, cfg stream.Config, reg *prometheus.Registry, n int) []int64 {
	t.Helper()
	c, err := consumer.New(cfg, time.Now, streamtest.Quiet(), reg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	found := make(chan []int64, 1)
	r := run(t, c, func(ctx context.Context, p *consumer.Partition) error {
		var got []int64
		for len(got) < n {
			batch, err := p.Poll(ctx, 1, time.Millisecond)
			if err != nil {
				return err
			}
			for _, rec := range batch {
				got = append(got, rec.Offset)
			}
		}
		if err := p.Commit(ctx, p.Next()); err != nil {
			return err
		}
		found <- got
		<-ctx.Done()
		return nil
	})
	got := <-found
	r.stop(t)
	return got
}

func requireLoss(t *testing.T, reg *prometheus.Registry, times, records string) {
	t.Helper()
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP colonnade_stream_data_loss_total Times that records were missing from a topic that had held them.
# TYPE colonnade_stream_data_loss_total counter
colonnade_stream_data_loss_total `+times+`
# HELP colonnade_stream_lost_records_total Offsets that Kafka had deleted before the sink read them.
# TYPE colonnade_stream_lost_records_total counter
colonnade_stream_lost_records_total `+records+`
`), "colonnade_stream_data_loss_total", "colonnade_stream_lost_records_total"))
}

// TestRetentionBeforeReadingIsSeen: records that the broker threw away unread
// are counted, and reading goes on at the first that is left, not at the end.
func TestRetentionBeforeReadingIsSeen(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 1
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(10))
	require.NoError(t, err)
	reg := prometheus.NewRegistry()
	require.Equal(t, []int64{0, 1}, offsets(t, cfg, reg, 2))
	requireLoss(t, reg, "0", "0")

	removed := make(kadm.Offsets)
	removed.AddOffset(cfg.Topic, 0, 5, -1)
	_, err = streamtest.Admin(t, cfg).DeleteRecords(t.Context(), removed)
	require.NoError(t, err)
	reg = prometheus.NewRegistry()
	require.Equal(t, []int64{5, 6, 7}, offsets(t, cfg, reg, 3))
	requireLoss(t, reg, "1", "3")
}

// TestALogThatBeganAnewIsReadFromItsBeginning: the committed offset points
// beyond a topic that was deleted and made again.
func TestALogThatBeganAnewIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 1
	_, err := streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(10))
	require.NoError(t, err)
	require.Len(t, offsets(t, cfg, prometheus.NewRegistry(), 10), 10)

	streamtest.DeleteTopic(t, cfg)
	// The group's commits remain after the topic on a broker that does not tie them to its id.
	require.NoError(t, streamtest.Producer(t, cfg).Ready(t.Context()))
	committed := make(kadm.Offsets)
	committed.AddOffset(cfg.Topic, 0, 10, -1)
	require.NoError(t, streamtest.Admin(t, cfg).CommitAllOffsets(t.Context(), cfg.Group, committed))
	_, err = streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(4))
	require.NoError(t, err)

	reg := prometheus.NewRegistry()
	require.Equal(t, []int64{0, 1, 2, 3}, offsets(t, cfg, reg, 4))
	requireLoss(t, reg, "1", "6")
}

// TestAnUnreadableRecordIsGivenOutWithItsError and survives the dead topic byte for byte.
func TestAnUnreadableRecordIsGivenOutWithItsError(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions = 1
	p := streamtest.Producer(t, cfg)
	require.NoError(t, p.Ready(t.Context()))
	cl, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	foreign := &kgo.Record{Topic: cfg.Topic, Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{0xff}}}}
	require.NoError(t, cl.ProduceSync(t.Context(), foreign).FirstErr())

	found := make(chan stream.Record, 1)
	r := run(t, newConsumer(t, cfg), func(ctx context.Context, part *consumer.Partition) error {
		batch, err := part.Poll(ctx, 1, time.Millisecond)
		if err != nil {
			return err
		}
		if err := p.Dead(ctx, batch, "cannot be decoded"); err != nil {
			return err
		}
		found <- batch[0]
		<-ctx.Done()
		return nil
	})
	got := <-found
	r.stop(t)
	require.ErrorContains(t, got.Err, "without a colonnade-version header")
	require.Equal(t, &stream.Raw{Key: []byte("k"), Headers: []stream.Header{{Key: "h", Value: []byte{0xff}}}}, got.Raw)

	dead, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...), kgo.ConsumeTopics(cfg.DeadTopic()))
	require.NoError(t, err)
	t.Cleanup(dead.Close)
	rec := dead.PollFetches(t.Context()).Records()[0]
	require.Equal(t, foreign.Key, rec.Key)
	require.Equal(t, foreign.Value, rec.Value)
	require.Equal(t, []kgo.RecordHeader{
		{Key: "h", Value: []byte{0xff}},
		{Key: "dead_reason", Value: []byte("cannot be decoded")},
		{Key: "dead_partition", Value: []byte("0")},
		{Key: "dead_offset", Value: []byte("0")},
	}, rec.Headers)
}

// TestATopicDeletedUnderwayComesBack: whoever deletes the topic loses what is
// in it, but neither side stays stuck.
func TestATopicDeletedUnderwayComesBack(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions, cfg.PublishTimeout = 1, 2*time.Second
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(3))
	require.NoError(t, err)
	found := make(chan string, 100)
	reg := prometheus.NewRegistry()
	c, err := consumer.New(cfg, time.Now, streamtest.Quiet(), reg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	r := run(t, c, func(ctx context.Context, part *consumer.Partition) error {
		for {
			batch, err := part.Poll(ctx, 1, time.Millisecond)
			if err != nil {
				return err
			}
			for _, rec := range batch {
				found <- string(rec.Value)
			}
			if err := part.Commit(ctx, part.Next()); err != nil && ctx.Err() == nil {
				return err
			}
		}
	})
	for range 3 {
		<-found
	}
	_, err = streamtest.Admin(t, cfg).DeleteTopic(t.Context(), cfg.Topic)
	require.NoError(t, err)
	lost := func() error {
		return testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP colonnade_stream_data_loss_total Times that records were missing from a topic that had held them.
# TYPE colonnade_stream_data_loss_total counter
colonnade_stream_data_loss_total 1
`), "colonnade_stream_data_loss_total")
	}
	read := func(wanted string) bool {
		expired := time.After(5 * time.Second) // it may have gone with the old topic
		for {
			select {
			case value := <-found:
				if value == wanted {
					return true
				}
			case <-expired:
				return false
			}
		}
	}
	late := streamtest.Record(99)
	begun := time.Now()
	for tries := 0; ; {
		require.Less(t, time.Since(begun), time.Minute, "the topic stays")
		if _, err = p.Publish(t.Context(), []stream.Record{late}); err != nil {
			tries++
			require.Less(t, tries, 21, err)
			continue
		}
		if read(string(late.Value)) && lost() == nil {
			break
		} // else the topic was not gone yet: a broker deletes it after it has answered
	}
	r.stop(t)
	require.NoError(t, lost())
}

// A broker that answers every fetch with the same error fills no log.
func TestARepeatedErrorIsLoggedNowAndThen(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	defer c.Close()
	cfg := streamtest.Config(t, c.ListenAddrs()...)
	cfg.Partitions = 1
	_, err = streamtest.Producer(t, cfg).Publish(t.Context(), streamtest.Records(1))
	require.NoError(t, err)
	var answered atomic.Int64
	enough := make(chan struct{})
	c.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if answered.Add(1) == 5 {
			close(enough)
		}
		fetch, _ := req.(*kmsg.FetchRequest)
		resp, _ := fetch.ResponseKind().(*kmsg.FetchResponse)
		for _, topic := range fetch.Topics {
			t := kmsg.NewFetchResponseTopic()
			t.Topic, t.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				p := kmsg.NewFetchResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, kerr.TopicAuthorizationFailed.Code
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp, nil, true
	})
	var text lines
	stuck, err := consumer.New(cfg, func() time.Time { return time.Unix(1, 0) }, slog.New(slog.NewTextHandler(&text, nil)), prometheus.NewRegistry())
	require.NoError(t, err)
	defer func() { _ = stuck.Close() }()
	r := run(t, stuck, func(ctx context.Context, _ *consumer.Partition) error {
		<-ctx.Done()
		return nil
	})
	<-enough
	r.stop(t)
	require.Equal(t, 1, text.holding("fetch failed, the client fetches again"))
}

// lines is what a log wrote.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

func (l *lines) holding(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.text {
		if strings.Contains(line, what) {
			n++
		}
	}
	return n
}
