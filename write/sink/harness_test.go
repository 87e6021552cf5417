//go:build embedded

package sink_test

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/migrationstest"
	"colonnade/write/cost"
	"colonnade/write/normalize"
	"colonnade/write/sink"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// fixture is a topic and a database of a test's own, and what works on them.
type fixture struct {
	t       testing.TB
	project domain.ProjectID
	user    uuid.UUID
	stream  stream.Config
	url     string
	conn    driver.Conn
	// through is how sinks reach the store; nil means conn.
	through  driver.Conn
	producer *stream.Producer
	sink     sink.Config
	// erased are the deleted projects; nil means that the sink is not told of any.
	erased func(ctx context.Context, since time.Time) ([]domain.ProjectID, error)
	// log is where sinks write, at first what is shown when the test fails.
	log *slog.Logger
}

func newFixture(t testing.TB, partitions int32) *fixture {
	t.Helper()
	h := &fixture{t: t, project: domain.ProjectID(uuid.New()), user: uuid.New(), log: embeddedtest.Log(t)}
	h.url = migrationstest.Database(t)
	h.stream = stream.DefaultConfig()
	h.stream.Brokers, h.stream.Topic = embeddedtest.Kafka(t), embeddedtest.Topic(t)
	h.stream.SASL = stream.SASL(embeddedtest.KafkaSASL(t))
	h.stream.Group, h.stream.Partitions = h.stream.Topic, partitions
	h.sink = sink.DefaultConfig()
	h.sink.MinLinger, h.sink.FinalizeAfter, h.sink.FinalizeEvery = 20*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
	h.conn = open(t, h.url)
	var err error
	h.producer, err = stream.NewProducer(h.stream, time.Now, h.log, prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.producer.Close()) })
	return h
}

func open(t testing.TB, url string) driver.Conn {
	t.Helper()
	opts, err := clickhouse.ParseDSN(url)
	require.NoError(t, err)
	conn, err := clickhouse.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// running is one sink at work.
type running struct {
	*sink.Sink
	registry *prometheus.Registry
	stop     func()
}

// start runs a sink until stop or the test's end.
func (h *fixture) start() *running {
	h.t.Helper()
	registry := prometheus.NewRegistry()
	member, err := consumer.New(h.stream, time.Now, h.log, registry)
	require.NoError(h.t, err)
	normalizer, err := normalize.New(cost.DefaultConfig(), registry)
	require.NoError(h.t, err)
	store := h.conn
	if h.through != nil {
		store = h.through
	}
	s, err := sink.New(h.sink, sink.Deps{
		Store: store, Consumer: member, Dead: h.producer, Normalizer: normalizer, Erased: h.erased, Now: time.Now, Log: h.log, Registerer: registry,
	})
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1) // Run's one answer
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
		if err := member.Close(); err != nil {
			h.t.Error(err)
		}
	})
	h.t.Cleanup(stop)
	return &running{s, registry, stop}
}

// count reads a metric, summed over its labels: of a histogram, how often it observed.
func (r *running) count(t testing.TB, name string) int {
	t.Helper()
	var sum float64
	families, err := r.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return int(sum)
}

// span is a span to be sent.
type span struct {
	trace, span, parent byte
	name                string
	start               int64 // milliseconds after base
	attributes          map[string]any
	links               []byte // traces it links to
	events              []string
	failed              bool
}

// base is the start of all test spans: now, or the clamp of partitions would move them.
var base = time.Now().Add(-time.Minute).Truncate(time.Millisecond)

func traceOf(n byte) trace.TraceID { return trace.TraceID{0: 1, 15: n} }
func spanOf(n byte) trace.SpanID   { return trace.SpanID{0: 2, 7: n} }

// record makes a record of spans of one trace.
func (h *fixture) record(op stream.Operation, id byte, spans ...span) stream.Record {
	r := stream.Record{
		Project: h.project, User: h.user, Trace: traceOf(id), Source: "otlp", Operation: op, ReceivedAt: time.Now().UTC(),
	}
	if len(spans) == 0 {
		return r
	}
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "test"}}
	for _, s := range spans {
		traceID, spanID := traceOf(s.trace), spanOf(s.span)
		pb := &tracepb.Span{
			TraceId: traceID[:], SpanId: spanID[:], Name: s.name, Kind: tracepb.Span_SPAN_KIND_CLIENT,
			StartTimeUnixNano: uint64(base.UnixNano() + s.start*1e6 + 7), EndTimeUnixNano: uint64(base.UnixNano() + s.start*1e6 + 5e6),
		}
		if s.parent != 0 {
			parent := spanOf(s.parent)
			pb.ParentSpanId = parent[:]
		}
		for k, v := range s.attributes {
			pb.Attributes = append(pb.Attributes, &commonpb.KeyValue{Key: k, Value: anyValue(v)})
		}
		for _, l := range s.links {
			linked, linkedSpan := traceOf(l), spanOf(l)
			pb.Links = append(pb.Links, &tracepb.Span_Link{TraceId: linked[:], SpanId: linkedSpan[:], Attributes: []*commonpb.KeyValue{{Key: "key", Value: anyValue("of")}}})
		}
		for _, name := range s.events {
			pb.Events = append(pb.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: pb.StartTimeUnixNano, Attributes: []*commonpb.KeyValue{{Key: "of", Value: anyValue(s.name)}}})
		}
		if s.failed {
			pb.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "bad"}
		}
		scope.Spans = append(scope.Spans, pb)
	}
	var err error
	r.Value, err = proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: anyValue("checkout")}}},
		ScopeSpans: []*tracepb.ScopeSpans{scope},
	}}})
	require.NoError(h.t, err)
	return r
}

func anyValue(v any) *commonpb.AnyValue {
	switch v := v.(type) {
	case string:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}
	case int:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(v)}}
	case float64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
	case bool:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}}
	default:
		panic("test value")
	}
}

// publish sends records and gives their positions.
func (h *fixture) publish(records ...stream.Record) domain.Token {
	h.t.Helper()
	token, err := h.producer.Publish(h.t.Context(), records)
	require.NoError(h.t, err)
	return token
}

// wait waits until the store shows that a token's positions are visible.
func (h *fixture) wait(token domain.Token) {
	h.t.Helper()
	h.eventually("the token becomes visible", func() bool {
		visible := map[uint32]uint64{}
		rows, err := h.conn.Query(h.t.Context(), "SELECT stream_partition, max(next_offset) FROM sink_progress WHERE topic = ? GROUP BY stream_partition", h.stream.Topic)
		if err != nil {
			return false
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var p uint32
			var next uint64
			require.NoError(h.t, rows.Scan(&p, &next))
			visible[p] = next
		}
		for _, p := range token {
			if uint64(p.Offset) >= visible[uint32(p.Partition)] {
				return false
			}
		}
		return true
	})
}

// send publishes and waits.
func (h *fixture) send(records ...stream.Record) domain.Token {
	h.t.Helper()
	token := h.publish(records...)
	h.wait(token)
	return token
}

func (h *fixture) eventually(what string, ok func() bool) {
	h.t.Helper()
	require.Eventually(h.t, ok, 2*time.Minute, 20*time.Millisecond, what)
}

// one reads a single value.
func one[T any](h *fixture, query string, args ...any) (v T) {
	h.t.Helper()
	require.NoError(h.t, h.conn.QueryRow(h.t.Context(), query, args...).Scan(&v))
	return v
}

// strings reads a column of text.
func (h *fixture) strings(query string, args ...any) (out []string) {
	h.t.Helper()
	rows, err := h.conn.Query(h.t.Context(), query, args...)
	require.NoError(h.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		require.NoError(h.t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(h.t, rows.Err())
	return out
}

// rewind puts the group's commit back to the intent of a range, as a sink
// leaves it that dies before its commit.
func (h *fixture) rewind(rng stream.Range) {
	h.t.Helper()
	h.committed(func(ctx context.Context, p *consumer.Partition) error { return p.Intend(ctx, rng) })
}

// committed changes the group's commit of the one partition.
func (h *fixture) committed(change func(context.Context, *consumer.Partition) error) {
	h.t.Helper()
	member, err := consumer.New(h.stream, time.Now, h.log, prometheus.NewRegistry())
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(h.t.Context())
	require.NoError(h.t, member.Run(ctx, func(ctx context.Context, p *consumer.Partition) error {
		err := change(ctx, p)
		cancel()
		return err
	}))
	require.NoError(h.t, member.Close())
}
