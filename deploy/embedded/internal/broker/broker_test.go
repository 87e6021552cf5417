//go:build embedded

package broker

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func cluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.DefaultNumPartitions(2))...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return c, client
}

// What all groups have read goes, of partitions that are large, and what of it is old.
func TestKeeperTrims(t *testing.T) {
	t.Parallel()
	c, client := cluster(t, kfake.SeedTopics(3, "t"))
	produce(t, client, 30)
	admin := kadm.NewClient(client)
	commit(t, admin, "quick", 0, 9)
	commit(t, admin, "slow", 0, 4)
	commit(t, admin, "quick", 1, 7)
	k := newKeeper(Config{KeepBytes: 1 << 20, RetainBytes: 1 << 30, RetainFor: time.Hour}, c, admin, time.Now)
	require.NoError(t, k.look(t.Context()))
	require.Equal(t, [3]int64{0, 0, 0}, starts(t, admin), "nothing is large, nothing is old")
	k.keep = 5000
	require.NoError(t, k.look(t.Context()))
	require.Equal(t, [3]int64{4, 7, 0}, starts(t, admin), "up to the slowest group, and nothing that nobody read")
	commit(t, admin, "slow", 0, 6)
	k.keep, k.now = 1<<20, func() time.Time { return time.Now().Add(2 * time.Hour) }
	require.NoError(t, k.look(t.Context()))
	require.Equal(t, [3]int64{6, 7, 0}, starts(t, admin), "however old it is")
	_, err := admin.DeleteTopic(t.Context(), "t")
	require.NoError(t, err)
	require.NoError(t, k.look(t.Context()), "a topic that groups committed and that is gone does not hold up the others")
}

// A log never ends before what was in it: offsets go on where they were, also
// when all of it was read, and across restarts. (They began anew when everything
// had been trimmed: to the store, new records then looked like those of old.)
func TestOffsetsGoOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		empty func(t *testing.T, c *kfake.Cluster, admin *kadm.Client)
	}{
		{"large", func(t *testing.T, c *kfake.Cluster, admin *kadm.Client) {
			t.Helper()
			require.NoError(t, newKeeper(Config{KeepBytes: 1, RetainBytes: 1 << 30, RetainFor: time.Hour}, c, admin, time.Now).look(t.Context()))
			require.Equal(t, [3]int64{9, 9, 9}, starts(t, admin), "the last one stays")
		}},
		{"old", func(t *testing.T, c *kfake.Cluster, admin *kadm.Client) {
			t.Helper()
			later := func() time.Time { return time.Now().Add(2 * time.Hour) }
			require.NoError(t, newKeeper(Config{KeepBytes: 1 << 30, RetainBytes: 1 << 30, RetainFor: time.Hour}, c, admin, later).look(t.Context()))
			require.Equal(t, [3]int64{9, 9, 9}, starts(t, admin), "the last one stays")
		}},
		{"emptied by an earlier version", func(t *testing.T, _ *kfake.Cluster, admin *kadm.Client) {
			t.Helper()
			ends, err := admin.ListEndOffsets(t.Context(), "t")
			require.NoError(t, err)
			_, err = admin.DeleteRecords(t.Context(), ends.Offsets())
			require.NoError(t, err)
			require.Equal(t, [3]int64{10, 10, 10}, starts(t, admin))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c, client := cluster(t, kfake.DataDir(dir), kfake.SeedTopics(3, "t"))
			produce(t, client, 30)
			admin := kadm.NewClient(client)
			for partition := range int32(3) {
				commit(t, admin, "sink", partition, 10)
			}
			tt.empty(t, c, admin)
			for range 2 {
				client.Close()
				c.Close()
				damages, err := recoverState(dir)
				require.NoError(t, err)
				require.Empty(t, damages)
				c, client = cluster(t, kfake.DataDir(dir))
				ends, err := kadm.NewClient(client).ListEndOffsets(t.Context(), "t")
				require.NoError(t, err)
				ends.Each(func(o kadm.ListedOffset) { require.Equal(t, int64(10), o.Offset, "partition %d", o.Partition) })
			}
			produce(t, client, 3)
			reader, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumerGroup("sink"), kgo.ConsumeTopics("t"))
			require.NoError(t, err)
			t.Cleanup(reader.Close)
			got := map[int32]int64{}
			for len(got) < 3 {
				fetches := reader.PollFetches(t.Context())
				require.NoError(t, fetches.Err())
				fetches.EachRecord(func(r *kgo.Record) {
					require.NotContains(t, got, r.Partition)
					got[r.Partition] = r.Offset
				})
			}
			require.Equal(t, map[int32]int64{0: 10, 1: 10, 2: 10}, got)
		})
	}
}

// A log that is full of what is still to be read takes no more and loses nothing.
// (Kafka's own retention deleted acknowledged records while the sink was behind.)
func TestFullLogRefuses(t *testing.T) {
	t.Parallel()
	c, client := cluster(t, kfake.SeedTopics(3, "t"))
	admin := kadm.NewClient(client)
	k := newKeeper(Config{KeepBytes: 1 << 20, RetainBytes: 8000, RetainFor: time.Hour}, c, admin, time.Now)
	require.NoError(t, k.look(t.Context()))
	produce(t, client, 15) // 5 KB in each partition
	try := func(n int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: make([]byte, 1000*n)}).FirstErr()
	}
	require.NoError(t, try(1), "there is room")
	require.Error(t, try(3))
	require.Contains(t, k.refusing(), "partition 0 of topic t is full and takes no more")
	require.NoError(t, k.look(t.Context()))
	require.Error(t, try(3), "and when it was looked at")
	require.NoError(t, try(1), "there is room for a small one still")
	require.Equal(t, [3]int64{0, 0, 0}, starts(t, admin))

	require.Empty(t, k.refusing(), "logged once in a minute")
	waiting := make(chan error, 1)
	go func() {
		waiting <- client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: make([]byte, 3000)}).FirstErr()
	}()
	require.Eventually(t, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.refused != ""
	}, 10*time.Second, time.Millisecond, "it was refused, and waits")
	commit(t, admin, "sink", 0, 7)
	require.NoError(t, k.look(t.Context()))
	require.NoError(t, <-waiting, "who waits is served when it was read")
	require.Equal(t, [3]int64{6, 0, 0}, starts(t, admin))
	listed, err := admin.ListEndOffsets(t.Context(), "t")
	require.NoError(t, err)
	end, _ := listed.Lookup("t", 0)
	require.Equal(t, int64(8), end.Offset, "what was refused is not there")
}

// A disk that is nearly full takes no records and says so: ClickHouse and
// Postgres need what is left of it to store what was taken.
func TestFullDiskRefuses(t *testing.T) {
	t.Parallel()
	c, client := cluster(t, kfake.SeedTopics(1, "t"))
	k := newKeeper(Config{KeepBytes: 1 << 20, RetainBytes: 1 << 30, RetainFor: time.Hour, DataDir: "/data", DiskReserveBytes: 512 << 20}, c, kadm.NewClient(client), time.Now)
	var free atomic.Int64
	k.free = func() (int64, error) { return free.Load(), nil }
	free.Store(100 << 20)
	request := kmsg.NewProduceRequest()
	request.Acks = -1
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "t"
	topic.TopicID = c.TopicInfo("t").TopicID
	topic.Partitions = append(topic.Partitions, kmsg.NewProduceRequestTopicPartition())
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(t.Context(), client)
	require.NoError(t, err)
	refused := response.Topics[0].Partitions[0]
	require.Equal(t, kerr.KafkaStorageError.Code, refused.ErrorCode)
	const why = "the disk of /data has 100 MiB free, and below 512 MiB no records are taken"
	require.Equal(t, why, *refused.ErrorMessage)
	require.Equal(t, why, k.refusing(), "it goes to the log")

	waiting := make(chan error, 1)
	go func() {
		waiting <- client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr()
	}()
	require.Eventually(t, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.noRoom != ""
	}, 10*time.Second, time.Millisecond, "it was refused, and waits")
	free.Store(512 << 20)
	require.NoError(t, <-waiting)
}

// produce writes n records of a kilobyte, in turn to three partitions.
func produce(t *testing.T, client *kgo.Client, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Partition: int32(i % 3), Value: make([]byte, 1000)}).FirstErr())
	}
}

func commit(t *testing.T, admin *kadm.Client, group string, partition int32, at int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: "t", Partition: partition, At: at, LeaderEpoch: -1})
	require.NoError(t, admin.CommitAllOffsets(t.Context(), group, offsets))
}

func starts(t *testing.T, admin *kadm.Client) (at [3]int64) {
	t.Helper()
	listed, err := admin.ListStartOffsets(t.Context(), "t")
	require.NoError(t, err)
	listed.Each(func(o kadm.ListedOffset) { at[o.Partition] = o.Offset })
	return at
}

// TestCreateAsked creates topics on demand, again after they were deleted, and one by one.
func TestCreateAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, client := cluster(t, kfake.DataDir(dir))
	createAsked(c)
	produce := func(topic string) {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(), topic)
	}
	produce("one")
	produce("two")
	produce("one")
	raw, err := os.ReadFile(filepath.Join(dir, "topics.json"))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"name":"one"`, "known on disk before the record was acknowledged")
	require.Contains(t, string(raw), `"name":"two"`)
	require.Len(t, c.PartitionInfos("one"), 2)
}

// batch is a record batch without records, as the head is all that is looked at.
func batch(offset, producer int64, epoch int16, first, count int32) []byte {
	b := make([]byte, headerSize)
	binary.BigEndian.PutUint64(b, uint64(offset))
	binary.BigEndian.PutUint32(b[8:], headerSize-12)
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	binary.BigEndian.PutUint64(b[43:], uint64(producer))
	binary.BigEndian.PutUint16(b[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(first))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func TestRepairAfterACrash(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with%2Fslash-3")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	first, second := batch(0, 7, 0, 0, 10), make([]byte, 0, 7*headerSize)
	first = append(first, batch(10, -1, -1, -1, 5)...)
	first = append(first, batch(15, 9, 2, 100, 1)...)
	for i := range int32(6) {
		second = append(second, batch(int64(16+10*i), 7, 0, 10+10*i, 10)...)
	}
	torn := batch(76, 7, 0, 70, 10)
	torn[60]++ // no longer what the checksum says
	second = append(second, torn...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0.dat"), first, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "16.dat"), second, 0o600))
	of, ok := parsePartition(filepath.Base(dir))
	require.True(t, ok)
	producers := windowsOf{}
	damages, err := partition{partitionName: of, folder: dir}.repair(producers.push)
	require.NoError(t, err)
	require.Empty(t, damages, "the last write was cut short by the crash")
	cut, err := os.ReadFile(filepath.Join(dir, "16.dat"))
	require.NoError(t, err)
	require.Equal(t, second[:6*headerSize], cut)
	require.ElementsMatch(t, []window{
		{PID: 9, Topic: "with/slash", Part: 3, Entries: [5]windowEntry{{100, 101, 15}}, Count: 1, At: 1, Epoch: 2, Seen: true, NextSeq: 101},
		{
			PID: 7, Topic: "with/slash", Part: 3, Count: 5, At: 2, Seen: true, NextSeq: 70,
			Entries: [5]windowEntry{{50, 60, 56}, {60, 70, 66}, {20, 30, 26}, {30, 40, 36}, {40, 50, 46}},
		},
	}, producers.list(of))
}

func TestTrimTorn(t *testing.T) {
	t.Parallel()
	entry := func(text string) []byte {
		rest := append([]byte{1, 0}, text...)
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(rest)))
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)))
		return append(b, rest...)
	}
	whole := append(entry("one"), entry("two")...)
	for name, tail := range map[string][]byte{"nothing": nil, "half a head": {1, 2, 3}, "half an entry": entry("three")[:9], "zeros": make([]byte, 40)} {
		path := filepath.Join(t.TempDir(), "groups.log")
		require.NoError(t, os.WriteFile(path, append(append([]byte{}, whole...), tail...), 0o600))
		require.NoError(t, trimTorn(path), name)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, whole, got, name)
	}
	require.NoError(t, trimTorn(filepath.Join(t.TempDir(), "absent")))
}

// FuzzRepair checks that no file content breaks the start, and that a second
// start finds nothing more to repair.
func FuzzRepair(f *testing.F) {
	f.Add(batch(0, 1, 0, 0, 1), []byte{}, true)
	f.Add(append(batch(0, 1, 0, 0, 1), batch(1, 1, 0, 1, 1)[:30]...), []byte("{"), false)
	f.Add([]byte{}, []byte(`{"high_watermark":7}`), true)
	f.Fuzz(func(t *testing.T, content, snapshot []byte, index bool) {
		p := partition{partitionName: partitionName{"t", 0}, folder: t.TempDir()}
		path := filepath.Join(p.folder, "0.dat")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(p.folder, "snapshot.json"), snapshot, 0o600))
		if index {
			require.NoError(t, os.WriteFile(filepath.Join(p.folder, "0.idx"), content, 0o600))
		}
		damages, err := p.repair(windowsOf{}.push)
		require.NoError(t, err)
		var kept []Damage
		for _, d := range damages {
			if d.File != "" {
				kept = append(kept, d)
			}
		}
		again, err := p.repair(windowsOf{}.push)
		require.NoError(t, err)
		require.ElementsMatch(t, kept, again)
	})
}
