//go:build embedded

package sink_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/write/stream"
)

// TestARecordTooLargeForTheDeadTopicHoldsNothingUp: a log written under a larger
// bound holds a record that cannot be read. It is named where refusals are, and what
// is behind it becomes visible.
func TestARecordTooLargeForTheDeadTopicHoldsNothingUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.publish(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "before"}))
	client, err := kgo.NewClient(append(embeddedtest.KafkaOptions(t), kgo.ProducerBatchMaxBytes(4<<20))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	poison := bytes.Repeat([]byte("poison "), 3<<20/7)
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: h.stream.Topic, Key: []byte("k"), Value: poison}).FirstErr())

	h.stream.MaxRecordBytes = 1 << 20
	h.producer, err = stream.NewProducer(h.stream, time.Now, h.log, prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.producer.Close() })
	r := h.start()
	h.send(h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "behind"}))
	require.Equal(t, []string{"before", "behind"}, h.strings("SELECT span_name FROM spans WHERE project_id = ? ORDER BY version", h.project.String()))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM rejected_spans WHERE stream_offset = 1 AND stage = 'envelope' AND reason LIKE '%without a colonnade-version header%of its 3145723 bytes (xxhash64 %' AND startsWith(raw, 'poison poison')"))
	require.Zero(t, r.count(t, "colonnade_sink_dead_letter_records_total"))
}
