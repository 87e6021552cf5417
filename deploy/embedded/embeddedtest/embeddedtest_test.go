//go:build embedded

package embeddedtest_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

func TestClickHouseDatabase(t *testing.T) {
	t.Parallel()
	address := embeddedtest.Database(t)
	options, err := clickhouse.ParseDSN(address)
	require.NoError(t, err)
	options.Protocol = clickhouse.HTTP
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (a UInt64, b String) ENGINE=MergeTree ORDER BY a"))
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO t")
	require.NoError(t, err)
	for i := range 1000 {
		require.NoError(t, batch.Append(uint64(i), strings.Repeat("x", i)))
	}
	require.NoError(t, batch.Send())
	var n, bytes uint64
	var database string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(), sum(length(b)), currentDatabase() FROM t WHERE a >= {from:UInt64}", clickhouse.Named("from", "10")).Scan(&n, &bytes, &database))
	require.Equal(t, uint64(990), n)
	u, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(u.Path, "/"), database)
}

func TestKafkaTopic(t *testing.T) {
	t.Parallel()
	topic := embeddedtest.Topic(t)
	client, err := kgo.NewClient(append(embeddedtest.KafkaOptions(t), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics(topic), kgo.DefaultProduceTopic(topic))...)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("hello")).FirstErr())
	fetches := client.PollFetches(t.Context())
	require.NoError(t, fetches.Err())
	require.Equal(t, "hello", string(fetches.Records()[0].Value))
}

func TestPostgresDatabase(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	var one int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT 1").Scan(&one))
	require.Equal(t, 1, one)
	require.NoError(t, conn.Close(t.Context()))
}
