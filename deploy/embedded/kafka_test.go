//go:build embedded

package embedded_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"colonnade/deploy/embedded"
)

// TestKafkaExactlyOnceAcrossKills kills the broker again and again under an
// idempotent producer and a committing group: every acknowledged record is
// there, none twice, in order, and the commits keep their metadata.
func TestKafkaExactlyOnceAcrossKills(t *testing.T) {
	t.Parallel()
	const kills, partitions, group = 6, 3, "readers"
	s := start(t, embedded.Config{Dir: stackDir(t), Only: []string{embedded.Kafka}})
	producer, err := newClient(s, kgo.DefaultProduceTopic("t"), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(2000), kgo.MaxBufferedRecords(500))
	require.NoError(t, err)
	defer producer.Close()
	admin := kadm.NewClient(producer)
	_, err = admin.CreateTopic(t.Context(), partitions, 1, nil, "t")
	require.NoError(t, err)

	var acknowledged atomic.Int64
	stop := make(chan struct{})
	produced := make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				produced <- n
				return
			default:
			}
			producer.Produce(t.Context(), &kgo.Record{Partition: int32(n % partitions), Value: strconv.AppendInt(nil, int64(n), 10)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("an accepted record failed: %v", err)
				}
				acknowledged.Add(1)
			})
		}
	}()
	for i := range kills {
		before := acknowledged.Load()
		require.Eventually(t, func() bool { return acknowledged.Load() > before+500 }, 2*time.Minute, time.Millisecond)
		var commit kadm.Offsets
		commit.Add(kadm.Offset{Topic: "t", Partition: 0, At: int64(i + 1), LeaderEpoch: -1, Metadata: strconv.Itoa(i)})
		require.NoError(t, admin.CommitAllOffsets(t.Context(), group, commit))
		old := s.PID(embedded.Kafka)
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		require.Eventually(t, func() bool { pid := s.PID(embedded.Kafka); return pid != 0 && pid != old }, 2*time.Minute, time.Millisecond)
	}
	close(stop)
	total := <-produced
	require.NoError(t, producer.Flush(t.Context()))
	require.Equal(t, int64(total), acknowledged.Load())

	offsets, err := admin.FetchOffsets(t.Context(), group)
	require.NoError(t, err)
	commit, is := offsets.Lookup("t", 0)
	require.True(t, is)
	require.Equal(t, strconv.Itoa(kills-1), commit.Metadata)

	consumer, err := newClient(s, kgo.ConsumeTopics("t"))
	require.NoError(t, err)
	defer consumer.Close()
	next := [partitions]int{0, 1, 2}
	for seen := 0; seen < total; {
		fetches := consumer.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			seen++
			if got := string(r.Value); got != strconv.Itoa(next[r.Partition]) {
				t.Fatalf("partition %d offset %d holds %s, want %d", r.Partition, r.Offset, got, next[r.Partition])
			}
			next[r.Partition] += partitions
		})
	}
	ends, err := admin.ListEndOffsets(t.Context(), "t")
	require.NoError(t, err)
	var sum int64
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	require.Equal(t, int64(total), sum, "nothing beyond what was acknowledged")
	t.Logf("%d records across %d kills", total, kills)
}

// TestKafkaFullLog fills the log of a broker that nobody reads: it takes no more,
// also after it was killed, keeps what it took, and goes on when that was read.
func TestKafkaFullLog(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Dir: stackDir(t), Only: []string{embedded.Kafka}, KafkaPartitions: 1, KafkaRetainBytes: 64 << 10})
	client, err := newClient(s, kgo.DefaultProduceTopic("t"), kgo.AllowAutoTopicCreation(),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(20*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	produce := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return client.ProduceSync(ctx, &kgo.Record{Value: make([]byte, 4<<10)}).FirstErr()
	}
	var taken int64
	for produce() == nil {
		taken++
	}
	require.Equal(t, int64(15), taken, "64 KiB, with the heads of the batches")
	old := s.PID(embedded.Kafka)
	require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		_, err := admin.ListTopics(t.Context())
		return err == nil && s.PID(embedded.Kafka) != old
	}, time.Minute, 10*time.Millisecond)
	require.Error(t, produce())
	offsets := func(list func(context.Context, ...string) (kadm.ListedOffsets, error)) int64 {
		listed, err := list(t.Context(), "t")
		require.NoError(t, err)
		at, _ := listed.Lookup("t", 0)
		return at.Offset
	}
	require.Zero(t, offsets(admin.ListStartOffsets), "nothing that is still to be read goes")
	require.Equal(t, taken, offsets(admin.ListEndOffsets), "nothing that was refused is there")

	var commit kadm.Offsets
	commit.Add(kadm.Offset{Topic: "t", Partition: 0, At: taken, LeaderEpoch: -1})
	require.NoError(t, admin.CommitAllOffsets(t.Context(), "readers", commit))
	require.Eventually(t, func() bool { return produce() == nil }, time.Minute, time.Millisecond)
	require.Equal(t, taken-1, offsets(admin.ListStartOffsets), "the last one stays")
	require.Equal(t, taken+1, offsets(admin.ListEndOffsets))
}

// newClient makes a client that has the broker's password.
func newClient(s *embedded.Stack, opts ...kgo.Opt) (*kgo.Client, error) {
	mechanism := scram.Auth{User: s.KafkaSASL.Username, Pass: s.KafkaSASL.Password}.AsSha256Mechanism()
	return kgo.NewClient(append(opts, kgo.SeedBrokers(s.Kafka...), kgo.SASL(mechanism))...)
}

// TestKafkaAsksForItsPassword: a client without the secret of the data directory
// is refused whatever it asks, and causes nothing.
func TestKafkaAsksForItsPassword(t *testing.T) {
	t.Parallel()
	dir := stackDir(t)
	s := start(t, embedded.Config{Dir: dir, Only: []string{embedded.Kafka}})
	info, err := os.Stat(filepath.Join(dir, "kafka", "password"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	client, err := newClient(s, kgo.AllowAutoTopicCreation())
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "ours", Value: []byte("v")}).FirstErr())

	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = new("theirs")
	metadata := kmsg.NewMetadataRequest()
	metadata.Topics, metadata.AllowAutoTopicCreation = append(metadata.Topics, topic), true
	produce := kmsg.NewProduceRequest()
	fetch := kmsg.NewFetchRequest()
	wrong := scram.Auth{User: s.KafkaSASL.Username, Pass: "wrong"}.AsSha256Mechanism()
	for name, opts := range map[string][]kgo.Opt{"no password": nil, "a wrong password": {kgo.SASL(wrong)}} {
		for _, request := range []kmsg.Request{&metadata, &produce, &fetch} {
			stranger, err := kgo.NewClient(append(opts, kgo.SeedBrokers(s.Kafka...), kgo.RequestRetries(1))...)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = stranger.SeedBrokers()[0].Request(ctx, request)
			require.Error(t, err, "%s: %T", name, request)
			require.NoError(t, ctx.Err(), "it is refused at once")
			cancel()
			stranger.Close()
		}
	}
	topics, err := kadm.NewClient(client).ListTopics(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"ours"}, topics.Names())
	require.NotZero(t, s.PID(embedded.Kafka))
}

// TestKafkaIgnoresStrangers sends what would end the broker, or take its memory,
// without a password.
func TestKafkaIgnoresStrangers(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Config{Dir: stackDir(t), Only: []string{embedded.Kafka}})
	before := s.PID(embedded.Kafka)
	for _, frame := range [][]byte{
		{0, 0, 0, 10, 0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff}, // a request that does not exist
		{0xff, 0xff, 0xff, 0xff, 0, 18, 0, 0, 0, 0, 0, 1},       // four gigabytes
		{0, 0, 0, 4, 0, 18, 0, 0, 0, 0, 0, 1},                   // less than its header
	} {
		conn, err := net.Dial("tcp", s.Kafka[0])
		require.NoError(t, err)
		_, err = conn.Write(frame)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is ended at once")
		require.NoError(t, conn.Close())
	}
	client, err := newClient(s)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.Ping(t.Context()))
	require.Equal(t, before, s.PID(embedded.Kafka))
}
