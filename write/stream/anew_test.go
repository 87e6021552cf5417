package stream_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/domain"
	"colonnade/write/stream"
	"colonnade/write/stream/streamtest"
)

// end is how many records partition 0 of a topic was given.
func end(t *testing.T, cfg stream.Config, topic string) int64 {
	t.Helper()
	ends, err := streamtest.Admin(t, cfg).ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	found, ok := ends.Lookup(topic, 0)
	require.True(t, ok)
	return found.Offset
}

// unknown answers a request for one topic's description: this broker does not know it (yet).
func unknown(c *kfake.Cluster, topic string) {
	c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req, _ := r.(*kmsg.MetadataRequest)
		if len(req.Topics) != 1 || req.Topics[0].Topic == nil || *req.Topics[0].Topic != topic {
			return nil, nil, false //nolint:nilnil // false says that there is no answer
		}
		resp, _ := req.ResponseKind().(*kmsg.MetadataResponse)
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.ErrorCode = req.Topics[0].Topic, kerr.UnknownTopicOrPartition.Code
		resp.Topics = append(resp.Topics, t)
		return resp, nil, true // once
	})
}

// TestATopicThatIsUnknownForAMomentKeepsWhatIsAcknowledged: a broker that lags
// behind answers a readiness probe. What is sent next must not be numbered anew:
// the topic would take it for a repetition and acknowledge what it does not have.
func TestATopicThatIsUnknownForAMomentKeepsWhatIsAcknowledged(t *testing.T) {
	t.Parallel()
	c, cfg := streamtest.OwnBroker(t)
	reg := prometheus.NewRegistry()
	p, err := stream.NewProducer(cfg, time.Now, streamtest.Quiet(), reg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	_, err = p.Publish(t.Context(), streamtest.Records(1))
	require.NoError(t, err)
	for n := range int64(3) {
		unknown(c, cfg.Topic)
		require.Error(t, p.Ready(t.Context()))
		token, err := p.Publish(t.Context(), []stream.Record{streamtest.Record(99)})
		require.NoError(t, err)
		require.Equal(t, domain.Token{{Partition: 0, Offset: n + 1}}, token)
		require.Equal(t, n+2, end(t, cfg, cfg.Topic), "an acknowledged record is not in the log")
	}
	loss, err := testutil.GatherAndCount(reg, "colonnade_stream_publish_failures_total")
	require.NoError(t, err)
	require.Zero(t, loss, "a readiness probe is no call of Publish")
}

// TestATopicMadeAnewLeavesTheOtherWhole: the main topic is made anew, the dead one
// goes on, with the numbers of the batches it has.
func TestATopicMadeAnewLeavesTheOtherWhole(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.Partitions, cfg.PublishTimeout = 1, 3*time.Second
	p := streamtest.Producer(t, cfg)
	_, err := p.Publish(t.Context(), streamtest.Records(1))
	require.NoError(t, err)
	require.NoError(t, p.Dead(t.Context(), []stream.Record{streamtest.Record(1)}, "one"))
	streamtest.DeleteTopic(t, cfg)
	require.Eventually(t, func() bool {
		_, err = p.Publish(t.Context(), []stream.Record{streamtest.Record(7)})
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, p.Dead(t.Context(), []stream.Record{streamtest.Record(2)}, "two"))
	require.Equal(t, int64(2), end(t, cfg, cfg.DeadTopic()), "a dead record is nowhere")
}

func makeTopic(t *testing.T, cfg stream.Config, limit string) {
	t.Helper()
	created, err := streamtest.Admin(t, cfg).CreateTopic(t.Context(), 1, 1, map[string]*string{"max.message.bytes": &limit}, cfg.Topic)
	require.NoError(t, err)
	require.NoError(t, created.Err)
}

// TestTheTopicsLimitIsKnownBeforeTheFirstRecord: what a receiver makes of a request
// must fit the topic, also in a process that has not sent anything yet.
func TestTheTopicsLimitIsKnownBeforeTheFirstRecord(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	makeTopic(t, cfg, "1048588")
	p := streamtest.Producer(t, cfg)
	most := p.MaxValueBytes(t.Context())
	require.Less(t, most, 1<<20)
	r := streamtest.Record(1)
	r.Value = make([]byte, most)
	_, err := p.Publish(t.Context(), []stream.Record{r, streamtest.Record(2)})
	require.NoError(t, err)
}

// TestATopicThatShrankAsksForTheSameAgain: a record was made for the topic as it
// was. The same request makes smaller ones, so it is not the request that is too large.
func TestATopicThatShrankAsksForTheSameAgain(t *testing.T) {
	t.Parallel()
	cfg := streamtest.Config(t, streamtest.Shared(t)...)
	cfg.PublishTimeout = 3 * time.Second
	makeTopic(t, cfg, "1048588")
	p := streamtest.Producer(t, cfg)
	large := streamtest.Record(1)
	large.Value = make([]byte, p.MaxValueBytes(t.Context()))
	_, err := p.Publish(t.Context(), []stream.Record{large})
	require.NoError(t, err)
	streamtest.DeleteTopic(t, cfg)
	makeTopic(t, cfg, "524288")
	require.Eventually(t, func() bool { // the client learns of it by its first record
		_, err = p.Publish(t.Context(), []stream.Record{streamtest.Record(2)})
		return err == nil
	}, time.Minute, time.Millisecond)
	require.Less(t, p.MaxValueBytes(t.Context()), len(large.Value))
	_, err = p.Publish(t.Context(), []stream.Record{large})
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	large.Value = append(large.Value, 0) // what it never took
	_, err = p.Publish(t.Context(), []stream.Record{large})
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
}
