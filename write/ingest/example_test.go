package ingest_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/write/ingest"
	"colonnade/write/stream"
)

// One span is published for the caller's project. The receipt names the span after Kafka
// has acknowledged it.
func ExampleIngest_OTLP() {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		panic(err)
	}
	defer broker.Close()
	cfg := stream.DefaultConfig()
	cfg.Brokers, cfg.Topic = broker.ListenAddrs(), "spans"
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	producer, err := stream.NewProducer(cfg, time.Now, log, registry)
	if err != nil {
		panic(err)
	}
	defer func() { _ = producer.Close() }()
	in, err := ingest.New(ingest.DefaultConfig(), producer, time.Now, log, registry)
	if err != nil {
		panic(err)
	}

	body, _ := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		TraceId: []byte("a trace of 16 by"), SpanId: []byte("8 bytes!"), Name: "chat",
		StartTimeUnixNano: 1_772_000_000_000_000_000, EndTimeUnixNano: 1_772_000_001_000_000_000,
	}}}}}}})
	ctx := domain.WithPrincipal(context.Background(), domain.Principal{Project: domain.ProjectID(uuid.New())})
	receipt, err := in.OTLP(ctx, "example", string(body), nil)
	fmt.Println(receipt.Count, receipt.Links[0].SpanID, err)
	// Output: 1 3820627974657321 <nil>
}
