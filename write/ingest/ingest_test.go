package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/ingest"
	"colonnade/write/otlp/wire"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

var topics atomic.Int64

var received = time.Date(2026, 3, 4, 5, 6, 7, 890, time.UTC)

type fixture struct {
	*ingest.Ingest
	cfg stream.Config
	reg *prometheus.Registry
}

func open(t *testing.T, edit ...func(*ingest.Config)) fixture {
	t.Helper()
	h := fixture{cfg: stream.DefaultConfig(), reg: prometheus.NewRegistry()}
	if addrs := os.Getenv("COLONNADE_TEST_KAFKA_BROKERS"); addrs != "" {
		h.cfg.Brokers = strings.Split(addrs, ",")
	} else {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		require.NoError(t, err)
		t.Cleanup(c.Close)
		h.cfg.Brokers = c.ListenAddrs()
	}
	name := fmt.Sprintf("ingest-%d-%d", os.Getpid(), topics.Add(1))
	h.cfg.Topic, h.cfg.Group, h.cfg.Partitions, h.cfg.SessionTimeout = name, name, 1, 6*time.Second
	log := slog.New(slog.DiscardHandler)
	p, err := stream.NewProducer(h.cfg, time.Now, log, h.reg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	cfg := ingest.DefaultConfig()
	for _, e := range edit {
		e(&cfg)
	}
	h.Ingest, err = ingest.New(cfg, p, func() time.Time { return received }, log, h.reg)
	require.NoError(t, err)
	return h
}

// requireNothingInFlight looks at what the requests that have ended hold of the memory.
func (h fixture) requireNothingInFlight(t *testing.T) {
	t.Helper()
	require.NoError(t, testutil.GatherAndCompare(h.reg, strings.NewReader(`
# HELP colonnade_ingest_in_flight_bytes Memory reserved for requests in progress.
# TYPE colonnade_ingest_in_flight_bytes gauge
colonnade_ingest_in_flight_bytes 0
`), "colonnade_ingest_in_flight_bytes"))
}

func caller(t *testing.T) context.Context {
	t.Helper()
	return domain.WithPrincipal(t.Context(), domain.Principal{Project: domain.ProjectID(uuid.UUID{1}), User: uuid.UUID{2}})
}

// records reads n records off the one partition.
func (h fixture) records(t *testing.T, n int) []stream.Record {
	t.Helper()
	c, err := consumer.New(h.cfg, time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	found := make(chan []stream.Record, 1)
	done := make(chan error, 1)
	go func() {
		done <- c.Run(ctx, func(ctx context.Context, p *consumer.Partition) error {
			batch, err := p.PollTo(ctx, int64(n-1))
			if err != nil {
				return err
			}
			found <- batch
			<-ctx.Done()
			return nil
		})
	}()
	batch := <-found
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, c.Close())
	return batch
}

func span(traceN, spanN byte, text string) trace.Span {
	return trace.Span{
		TraceID: trace.TraceID{15: traceN}, SpanID: trace.SpanID{7: spanN}, Name: fmt.Sprintf("span %d", spanN),
		Start: received.UnixNano(), End: received.UnixNano() + 1, Attributes: map[string]any{"text": text},
	}
}

func TestSpansBecomeOneRecordForEachTrace(t *testing.T) {
	t.Parallel()
	h := open(t)
	receipt, err := h.JSON(caller(t), "json", []trace.Span{span(1, 1, "a"), span(2, 2, "b"), span(1, 3, "c")}, nil)
	require.NoError(t, err)
	require.Equal(t, ingest.Receipt{
		Count: 3, Token: domain.Token{{Partition: 0, Offset: 1}}, ReceivedAt: received,
		Links: []ingest.Link{
			{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 1}},
			{TraceID: trace.TraceID{15: 2}, SpanID: trace.SpanID{7: 2}},
			{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 3}},
		},
	}, receipt)
	var names []string
	for _, r := range h.records(t, 2) {
		require.Equal(t, domain.ProjectID(uuid.UUID{1}), r.Project)
		require.Equal(t, uuid.UUID{2}, r.User)
		require.Equal(t, "json", r.Source)
		require.Equal(t, stream.Upsert, r.Operation)
		require.Equal(t, received, r.ReceivedAt)
		names = append(names, r.Trace.String()[31:]+": "+spanNames(t, r))
	}
	require.ElementsMatch(t, []string{"1: span 1,span 3", "2: span 2"}, names)
	require.NoError(t, testutil.GatherAndCompare(h.reg, strings.NewReader(`
# HELP colonnade_ingest_spans_total Spans of requests, by source and result: accepted, refused (invalid), failed (Kafka did not acknowledge).
# TYPE colonnade_ingest_spans_total counter
colonnade_ingest_spans_total{result="accepted",source="json"} 3
colonnade_ingest_spans_total{result="refused",source="json"} 0
`), "colonnade_ingest_spans_total"))
}

func spanNames(t *testing.T, r stream.Record) string {
	t.Helper()
	var names []string
	require.NoError(t, wire.Walk(string(r.Value), func(_, _, data string) error {
		var s wire.Span
		if err := s.Decode(data); err != nil {
			return err
		}
		names = append(names, s.Name)
		return nil
	}))
	return strings.Join(names, ",")
}

// turn is leave to edit trace n. Most edits do not look at what is stored.
func (h fixture) turn(t *testing.T, n byte, conn driver.Conn) *ingest.Turn {
	t.Helper()
	stored, err := ingest.NewStored(ingest.DefaultStoredConfig(), conn)
	require.NoError(t, err)
	turn, err := stored.Turn(t.Context(), domain.ProjectID(uuid.UUID{1}), trace.TraceID{15: n})
	require.NoError(t, err)
	t.Cleanup(turn.End)
	return turn
}

// TestHalfAnEditRemovesNothing: of an edit of several records any may be refused,
// and what comes after them as well. None of them may take spans away that
// another, or nobody, writes again.
func TestHalfAnEditRemovesNothing(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *ingest.Config) { cfg.EditRecordBytes = 2000 })
	away, err := clickhouse.Open(&clickhouse.Options{Addr: []string{"127.0.0.1:1"}})
	require.NoError(t, err)
	text := strings.Repeat("x", 900)
	receipt, err := h.Edit(caller(t), h.turn(t, 1, away), "json", []trace.Span{span(1, 1, text), span(1, 2, text), span(1, 3, text), span(1, 4, text), span(1, 5, text)})
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	require.Zero(t, receipt)
	var got []string
	for _, r := range h.records(t, 3) {
		got = append(got, fmt.Sprintf("%s of %s: %s", r.Operation, r.Headers[stream.HeaderScope], spanNames(t, r)))
	}
	require.Equal(t, []string{"edit of spans: span 1", "edit of spans: span 2,span 3", "edit of spans: span 4,span 5"}, got)
	_, err = h.Delete(caller(t), h.turn(t, 2, away), "json")
	require.NoError(t, err)
	require.Equal(t, trace.TraceID{15: 2}, h.records(t, 4)[3].Trace) // and nothing in between
}

func TestAnEditOfOneRecordReplacesTheTrace(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, err := h.Edit(caller(t), h.turn(t, 1, nil), "json", []trace.Span{span(1, 1, ""), span(1, 2, "")})
	require.NoError(t, err)
	_, err = h.Replace(caller(t), h.turn(t, 1, nil), "json", []trace.Span{span(1, 1, "")})
	require.NoError(t, err)
	_, err = h.Edit(caller(t), h.turn(t, 2, nil), "json", []trace.Span{span(2, 1, ""), span(1, 1, "")})
	require.ErrorContains(t, err, "with a span of "+trace.TraceID{15: 1}.String())
	var got []string
	for _, r := range h.records(t, 2) {
		got = append(got, fmt.Sprintf("%s of %q %s", r.Operation, r.Headers[stream.HeaderScope], spanNames(t, r)))
	}
	require.Equal(t, []string{`edit of "" span 1,span 2`, `edit of "spans" span 1`}, got)
}

func TestABadSpanRefusesAnEdit(t *testing.T) {
	t.Parallel()
	h := open(t)
	receipt, err := h.Edit(caller(t), h.turn(t, 1, nil), "json", []trace.Span{span(1, 1, ""), span(1, 2, "not \xff text")})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	require.ErrorContains(t, err, `attribute "text": text is not UTF-8`)
	require.Equal(t, 1, receipt.Rejected.Count)
	_, err = h.Delete(caller(t), h.turn(t, 9, nil), "json")
	require.NoError(t, err)
	require.Equal(t, stream.Delete, h.records(t, 1)[0].Operation) // nothing was published before it
}

func TestDeleteNamesTheTrace(t *testing.T) {
	t.Parallel()
	h := open(t)
	receipt, err := h.Delete(caller(t), h.turn(t, 7, nil), "simple")
	require.NoError(t, err)
	require.Equal(t, domain.Token{{Partition: 0, Offset: 0}}, receipt.Token)
	r := h.records(t, 1)[0]
	require.Equal(t, trace.TraceID{15: 7}, r.Trace)
	require.Equal(t, stream.Delete, r.Operation)
	require.Empty(t, r.Value)
}

func TestManyRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *ingest.Config) { cfg.MaxRejections = 2 })
	zero := trace.Span{Name: "no ids"}
	receipt, err := h.JSON(caller(t), "json", []trace.Span{zero, zero, span(1, 1, ""), zero, zero, zero}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, receipt.Count)
	require.Equal(t, 5, receipt.Rejected.Count)
	var reasons []string
	for _, r := range h.records(t, 4)[1:] {
		var v stream.Rejection
		require.NoError(t, json.Unmarshal(r.Value, &v))
		reasons = append(reasons, v.Reason)
	}
	ids := "trace_id is not 16 bytes that are not all zero"
	require.Equal(t, []string{ids, ids, "3 more spans of the same request were refused"}, reasons)
}

func TestNobodyHasNoProject(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, err := h.JSON(t.Context(), "json", []trace.Span{span(1, 1, "")}, nil)
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err))
	turn := h.turn(t, 1, nil)
	_, err = h.Delete(t.Context(), turn, "json")
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err))
	_, err = h.Edit(t.Context(), turn, "json", []trace.Span{span(1, 1, "")})
	require.Equal(t, domain.Unauthenticated, domain.KindOf(err))
}

// What spans share is written once for each trace: many traces with a large
// resource would become far more than was sent, and are refused before that.
func TestALargeResourceOfManyTracesIsTooLarge(t *testing.T) {
	t.Parallel()
	h := open(t)
	body := func(size, traces, spans int) string {
		resource := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "k", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.Repeat("x", size)}}}}}
		scope := &tracepb.ScopeSpans{}
		for n := range traces {
			id := trace.TraceID{0: 1, 14: byte(n >> 8), 15: byte(n)}
			for m := range spans {
				scope.Spans = append(scope.Spans, &tracepb.Span{TraceId: id[:], SpanId: []byte{1, 2, 3, 4, 5, 6, byte(m >> 8), byte(m)}, Name: "s"})
			}
		}
		text, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{Resource: resource, ScopeSpans: []*tracepb.ScopeSpans{scope}}}})
		require.NoError(t, err)
		return string(text)
	}
	_, err := h.OTLP(caller(t), "otlp", body(1<<20, 20_000, 1), nil)
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
	require.ErrorContains(t, err, "Send fewer traces at a time.")
	_, err = h.OTLP(caller(t), "otlp", body(1<<18, 1, 5000), nil)
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
	require.ErrorContains(t, err, "Send fewer spans at a time.")
	h.requireNothingInFlight(t)
	receipt, err := h.OTLP(caller(t), "otlp", body(1<<20, 3, 1), nil)
	require.NoError(t, err)
	require.Equal(t, 3, receipt.Count)
	h.requireNothingInFlight(t)
}
