//go:build embedded

package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/deploy/embedded/embeddedtest"
)

// BenchmarkClickHouseInsert sends batches of 8 MiB of 2 KB rows, the sink's
// shape: a light table beside a heavy one.
func BenchmarkClickHouseInsert(b *testing.B) {
	conn := open(b, embeddedtest.Database(b))
	require.NoError(b, conn.Exec(b.Context(), `CREATE TABLE payloads (project_id UInt64, trace_id FixedString(16), start DateTime64(6),
		inputs String CODEC(ZSTD(1)), outputs String CODEC(ZSTD(1)), attributes Map(LowCardinality(String), String))
		ENGINE=MergeTree ORDER BY (project_id, start) SETTINGS non_replicated_deduplication_window=1000`))
	const rows = 4096
	words := strings.Fields(strings.Repeat("the quick brown fox jumps over lazy dog while agents call tools and models answer questions ", 4))
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var s strings.Builder
		for s.Len() < n {
			fmt.Fprintf(&s, "%s%d ", words[random.IntN(len(words))], random.IntN(100))
		}
		return s.String()[:n]
	}
	inputs, outputs := make([]string, rows), make([]string, rows)
	for i := range rows {
		inputs[i], outputs[i] = text(1100), text(700)
	}
	attributes := map[string]string{"model": "gpt-5", "provider": "openai", "finish": "stop", "temperature": "0.2"}
	b.SetBytes(rows * 2000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		ctx := clickhouse.Context(b.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": fmt.Sprint("batch", n)}))
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO payloads")
		require.NoError(b, err)
		for i := range rows {
			require.NoError(b, batch.Append(uint64(1), fmt.Sprintf("%016d", i), time.UnixMicro(int64(n*rows+i)), inputs[i], outputs[i], attributes))
		}
		require.NoError(b, batch.Send())
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkKafkaProduce writes 1 MB batches, acknowledged and synced, to four partitions.
func BenchmarkKafkaProduce(b *testing.B) {
	topic := embeddedtest.Topic(b)
	client, err := kgo.NewClient(append(embeddedtest.KafkaOptions(b), kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedBytes(64<<20))...)
	require.NoError(b, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(b.Context(), 4, 1, nil, topic)
	require.NoError(b, err)
	value := make([]byte, 100<<10)
	for i := range value {
		value[i] = byte(rand.Uint32())
	}
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		client.Produce(b.Context(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	require.NoError(b, client.Flush(b.Context()))
}

func open(tb testing.TB, address string) clickhouse.Conn {
	tb.Helper()
	options, err := clickhouse.ParseDSN(address)
	require.NoError(tb, err)
	conn, err := clickhouse.Open(options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, conn.Close()) })
	return conn
}
