package stream_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/write/stream"
	"colonnade/write/stream/streamtest"
)

// TestARecordIsOnTwoBrokersWhenItIsAcknowledged, where there are three or more: topics
// are made so, and where others made them otherwise the log says it.
func TestARecordIsOnTwoBrokersWhenItIsAcknowledged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		brokers     int
		replication int16
		existing    bool
		inSync      string
		warned      bool
	}{
		{"one broker", 1, 1, false, "1", false},
		{"three", 3, 3, false, "2", false},
		{"a topic that is there", 3, 3, true, "1", true},
		{"one of three", 3, 1, false, "1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := kfake.NewCluster(kfake.NumBrokers(tt.brokers))
			require.NoError(t, err)
			t.Cleanup(c.Close)
			cfg := streamtest.Config(t, c.ListenAddrs()...)
			cfg.ReplicationFactor = tt.replication
			client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
			require.NoError(t, err)
			t.Cleanup(client.Close)
			adm := kadm.NewClient(client)
			if tt.existing {
				_, err = adm.CreateTopic(t.Context(), 1, tt.replication, nil, cfg.Topic)
				require.NoError(t, err)
			}
			var log bytes.Buffer
			p, err := stream.NewProducer(cfg, time.Now, slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
			require.NoError(t, err)
			_, err = p.Publish(t.Context(), streamtest.Records(1))
			require.NoError(t, err)
			require.NoError(t, p.Close())

			all, err := adm.DescribeTopicConfigs(t.Context(), cfg.Topic)
			require.NoError(t, err)
			got, err := all.On(cfg.Topic, nil)
			require.NoError(t, err)
			inSync := ""
			for _, s := range got.Configs {
				if s.Key == "min.insync.replicas" {
					inSync = s.MaybeValue()
				}
			}
			require.Equal(t, tt.inSync, inSync)
			require.Equal(t, tt.warned, bytes.Contains(log.Bytes(), []byte("one broker alone may acknowledge a record")), log.String())
		})
	}
}
