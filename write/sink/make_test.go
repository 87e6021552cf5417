package sink

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/normalize"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// maker is a worker that makes batches and stores none.
func maker(t *testing.T) *worker {
	t.Helper()
	normalizer, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
	require.NoError(t, err)
	cfg := DefaultConfig()
	keys := newKeySet(maxAttributeKeys)
	s := &Sink{cfg: cfg, deps: Deps{Normalizer: normalizer, Now: time.Now}, keys: keys, metrics: newMetrics(prometheus.NewRegistry())}
	return &worker{sink: s, partition: &consumer.Partition{}, metrics: s.metrics, memory: recent.New(cfg.DedupWindow), rows: rows.NewBuffer(keys.has)}
}

// sent is a record of one trace that has spans of these numbers, each with one attribute.
func sent(t *testing.T, project domain.ProjectID, id byte, attributes map[byte]string) stream.Record {
	t.Helper()
	r := stream.Record{Project: project, Trace: trace.TraceID{1, 15: id}, Operation: stream.Upsert, ReceivedAt: time.Now()}
	scope := &tracepb.ScopeSpans{}
	for span, attribute := range attributes {
		scope.Spans = append(scope.Spans, &tracepb.Span{
			TraceId: r.Trace[:], SpanId: []byte{7: span}, Name: "s", StartTimeUnixNano: uint64(r.ReceivedAt.UnixNano()), EndTimeUnixNano: uint64(r.ReceivedAt.UnixNano()),
			Attributes: []*commonpb.KeyValue{{Key: attribute, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "x"}}}},
		})
	}
	var err error
	r.Value, err = proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}})
	require.NoError(t, err)
	return r
}

// A panic anywhere between a record and its rows costs that record, and leaves
// neither halves of rows nor spans that are taken for stored.
func TestARecordThatPanicsDiesAlone(t *testing.T) {
	t.Parallel()
	w, project := maker(t), domain.ProjectID(uuid.New())
	w.rows = rows.NewBuffer(func(key rows.AttributeKey) bool {
		if key.Path == "poison" {
			panic("poison")
		}
		return false
	})
	records := []stream.Record{
		sent(t, project, 1, map[byte]string{1: "fine"}),
		sent(t, project, 1, map[byte]string{2: "fine", 3: "poison"}),
		sent(t, project, 2, map[byte]string{4: "fine"}),
		sent(t, project, 3, map[byte]string{5: "poison"}),
	}
	for i := range records {
		records[i].Offset = int64(i)
	}
	b, err := w.make(t.Context(), records, stream.Range{First: 0, Last: 3})
	require.NoError(t, err)
	var spans []byte
	for _, e := range b.entries {
		spans = append(spans, e.Span.SpanID[7])
	}
	require.Equal(t, []byte{1, 4}, spans)
	require.Equal(t, 2, w.rows.Spans.Rows())
	require.Equal(t, 2, w.rows.Payloads.Rows())
	require.Equal(t, 2, w.memory.Size())
	require.Len(t, b.dead, 2)
	for n, at := range []int{1, 3} {
		require.Equal(t, at, b.dead[n].record)
		require.Equal(t, "row", b.dead[n].stage)
		require.Contains(t, b.dead[n].reason, "cannot be made a row")
	}
}

// What is done for a trace as a whole has no record to blame but all of them.
func TestATraceThatPanicsDies(t *testing.T) {
	t.Parallel()
	w := maker(t)
	b := &batch{records: make([]stream.Record, 3)}
	w.decide(b, &group{records: []int{0, 2}, entries: []*entry{{}}}) // of no span
	require.True(t, b.needsRebuild)
	require.Len(t, b.quarantined, 2)
	require.Contains(t, b.quarantined[2].reason, "cannot be made rows")
}
