//go:build embedded

package e2e_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/migrationstest"
	"colonnade/read/order"
	"colonnade/read/traces"
	"colonnade/write/cost"
	"colonnade/write/normalize"
	"colonnade/write/sink"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// pipeline is a producer, a sink and a reader on a topic and a database of their own.
type pipeline struct {
	t          testing.TB
	conn       driver.Conn
	producer   *stream.Producer
	normalizer *normalize.Normalizer
	reader     *traces.Reader
	// leaves counts the statements of rowsOf that ask the index of leaves.
	leaves int
}

func newPipeline(t testing.TB, tune ...func(*sink.Config)) *pipeline {
	t.Helper()
	log, registry := embeddedtest.Log(t), prometheus.NewRegistry()
	options, err := clickhouse.ParseDSN(migrationstest.Database(t))
	require.NoError(t, err)
	options.Protocol = clickhouse.HTTP
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	cfg := stream.DefaultConfig()
	cfg.Brokers, cfg.Topic = embeddedtest.Kafka(t), embeddedtest.Topic(t)
	cfg.SASL = stream.SASL(embeddedtest.KafkaSASL(t))
	cfg.Group, cfg.Partitions = cfg.Topic, 2
	w := &pipeline{t: t, conn: conn}
	w.producer, err = stream.NewProducer(cfg, time.Now, log, registry)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.producer.Close()) })
	w.normalizer, err = normalize.New(cost.DefaultConfig(), registry)
	require.NoError(t, err)
	member, err := consumer.New(cfg, time.Now, log, registry)
	require.NoError(t, err)
	sinking := sink.DefaultConfig()
	sinking.MinLinger = 20 * time.Millisecond
	for _, change := range tune {
		change(&sinking)
	}
	s, err := sink.New(sinking, sink.Deps{Store: conn, Consumer: member, Dead: w.producer, Normalizer: w.normalizer, Now: time.Now, Log: log, Registerer: registry})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1) // Run's one answer
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, member.Close())
	})
	reading := traces.DefaultConfig()
	reading.Topic, reading.WaitTimeout = cfg.Topic, 2*time.Minute
	w.reader, err = traces.New(reading, conn, time.Now, registry)
	require.NoError(t, err)
	return w
}

// write sends traces through the stream, waits until they are visible, and
// gives their spans as the write side made them, with cumulative metrics.
func (w *pipeline) write(project domain.ProjectID, all ...*tracepb.TracesData) []trace.Span {
	w.t.Helper()
	var records []stream.Record
	var out []trace.Span
	for _, data := range all {
		value, err := proto.Marshal(data)
		require.NoError(w.t, err)
		id := trace.TraceID(data.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceId)
		r := stream.Record{Project: project, User: uuid.UUID{1}, Trace: id, Source: "otlp", Operation: stream.Upsert, ReceivedAt: time.Now().UTC().Truncate(time.Microsecond), Value: value}
		records = append(records, r)
		spans, refused, err := w.normalizer.Spans(normalize.Meta{Source: r.Source, ReceivedAt: r.ReceivedAt, User: r.User}, value)
		require.NoError(w.t, err)
		require.Empty(w.t, refused)
		pointers := make([]*trace.Span, len(spans))
		for i := range spans {
			pointers[i] = &spans[i]
			jsonvalue.Expand(spans[i].Attributes)
		}
		normalize.Trace(pointers)
		spanmetrics.Cumulate(pointers)
		out = append(out, spans...)
	}
	token, err := w.producer.Publish(w.t.Context(), records)
	require.NoError(w.t, err)
	pending, err := w.reader.Wait(w.t.Context(), token)
	require.NoError(w.t, err)
	require.Empty(w.t, pending)
	return out
}

// place is where a span stands in lists.
func place(s *trace.Span) order.Position {
	b := append(slices.Clone(s.TraceID[:]), s.SpanID[:]...)
	return order.Position{Start: time.Unix(0, s.Start).UnixMicro(), SortHash: xxhash.Sum64(b)}
}

func byPlace(a, b trace.Span) int {
	p, q := place(&a), place(&b)
	return cmp.Or(cmp.Compare(p.Start, q.Start), cmp.Compare(p.SortHash, q.SortHash))
}

// anyValue makes the wire form of an attribute value.
func anyValue(v any) *commonpb.AnyValue {
	switch v := v.(type) {
	case nil:
		return &commonpb.AnyValue{}
	case string:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}
	case int:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(v)}}
	case int64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}
	case float64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
	case bool:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}}
	case []any:
		list := &commonpb.ArrayValue{}
		for _, e := range v {
			list.Values = append(list.Values, anyValue(e))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	case map[string]any:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: keyValues(v)}}}
	default:
		panic("a test's value")
	}
}

func keyValues(m map[string]any) []*commonpb.KeyValue {
	var out []*commonpb.KeyValue
	for _, k := range slices.Sorted(mapKeys(m)) {
		out = append(out, &commonpb.KeyValue{Key: k, Value: anyValue(m[k])})
	}
	return out
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func idOf(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func traceIDOf(n uint64) []byte { return append(idOf(0x5eed<<48|n), idOf(math.MaxUint64-n)...) }
