//go:build apachekafka

package main

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestBroker shows that the real broker does what the embedded one is used
// for: topics, idempotent writes that are acknowledged by all, and groups
// whose commits carry metadata; and that all of it is there again after it was killed.
func TestBroker(t *testing.T) {
	b, err := startBroker(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, b.stop()) }()

	const topic, group, records = "real", "readers", 1000
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.DisableAutoCommit())
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = admin.CreateTopic(t.Context(), 4, 1, nil, topic)
	require.NoError(t, err)

	for range records {
		client.Produce(t.Context(), kgo.StringRecord("value"), func(_ *kgo.Record, err error) { require.NoError(t, err) })
	}
	require.NoError(t, client.Flush(t.Context()))
	for got := 0; got < records; {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		got += fetches.NumRecords()
	}
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 7, LeaderEpoch: -1, Metadata: "intended 7-9"})
	require.NoError(t, admin.CommitAllOffsets(t.Context(), "simple", offsets))
	pid := pidOf(t, b)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return pidOf(t, b) != pid }, time.Minute, 5*time.Millisecond, "the node is started again")
	require.NoError(t, b.answers(t.Context()))

	committed, err := admin.FetchOffsets(t.Context(), "simple")
	require.NoError(t, err)
	offset, is := committed.Lookup(topic, 0)
	require.True(t, is)
	require.Equal(t, "intended 7-9", offset.Metadata)
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	var stored int64
	ends.Each(func(o kadm.ListedOffset) { stored += o.Offset })
	require.EqualValues(t, records, stored)
}

func pidOf(t *testing.T, b *broker) int {
	t.Helper()
	raw, err := os.ReadFile(b.pidFile())
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(raw))
	require.NoError(t, err)
	return pid
}
