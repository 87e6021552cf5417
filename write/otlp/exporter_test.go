package otlp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/write/ingest"
	"colonnade/write/otlp"
	"colonnade/write/stream"
)

// TestOfficialExporters sends spans with OpenTelemetry's own SDK through both receivers.
func TestOfficialExporters(t *testing.T) {
	t.Parallel()
	h := open(t)
	auth := map[string]string{"Authorization": goodKey}
	exporters := map[string]otlptrace.Client{
		"http":      otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(h.http.URL+"/otlp/v1/traces"), otlptracehttp.WithHeaders(auth)),
		"http gzip": otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(h.http.URL+"/v1/traces"), otlptracehttp.WithHeaders(auth), otlptracehttp.WithCompression(otlptracehttp.GzipCompression)),
		"grpc":      otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(h.grpcAddr), otlptracegrpc.WithInsecure(), otlptracegrpc.WithHeaders(auth)),
		"grpc gzip": otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(h.grpcAddr), otlptracegrpc.WithInsecure(), otlptracegrpc.WithHeaders(auth), otlptracegrpc.WithCompressor("gzip")),
	}
	want := make(map[string]bool)
	for name, client := range exporters {
		exporter, err := otlptrace.New(t.Context(), client)
		require.NoError(t, err)
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(failing{exporter, t}))
		_, span := provider.Tracer("lib").Start(t.Context(), name)
		span.SetAttributes(attribute.String("ag.type.span", "chat"), attribute.StringSlice("list", []string{"a", "b"}))
		span.End()
		require.NoError(t, provider.Shutdown(t.Context()))
		want[name] = true
	}
	got := make(map[string]bool)
	for _, rec := range h.records(t, len(exporters)) {
		var d tracepb.TracesData
		require.NoError(t, proto.Unmarshal(rec.Value, &d))
		s := d.ResourceSpans[0].ScopeSpans[0].Spans[0]
		require.Equal(t, rec.Trace[:], s.TraceId)
		got[s.Name] = true
	}
	require.Equal(t, want, got)
}

// failing turns an exporter's error, which the SDK only logs, into the test's.
type failing struct {
	sdktrace.SpanExporter
	t *testing.T
}

func (f failing) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := f.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		f.t.Errorf("export: %v", err)
	}
	return err
}

func dial(t *testing.T, h *fixture) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(h.grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func as(t *testing.T, key string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", key)
}

// With TLS the receiver takes the certificate of each connection from its configuration.
func TestGRPCSpeaksTLS(t *testing.T) {
	t.Parallel()
	issued := httptest.NewTLSServer(nil) // for its certificate
	defer issued.Close()
	h := open(t, func(cfg *otlp.Config, _ *ingest.Config, _ *stream.Config) {
		cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: issued.TLS.Certificates}, nil
		}}
	})
	roots := x509.NewCertPool()
	roots.AddCert(issued.Certificate())
	conn, err := grpc.NewClient(h.grpcAddr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = collectorpb.NewTraceServiceClient(conn).Export(as(t, goodKey), request(pbSpan(1, 1)))
	require.NoError(t, err)
	_, err = collectorpb.NewTraceServiceClient(dial(t, h)).Export(as(t, goodKey), request(pbSpan(1, 1)))
	require.Equal(t, codes.Unavailable, status.Code(err), "a client that speaks clear text")
}

func TestGRPCCodes(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *otlp.Config, _ *ingest.Config, _ *stream.Config) { cfg.MaxMessageBytes = 1 << 20 })
	conn := dial(t, h)
	client := collectorpb.NewTraceServiceClient(conn)
	bad := func(s *tracepb.Span) { s.TraceId = nil }

	for _, compressor := range []string{"gzip", "deflate", "zstd"} {
		var header metadata.MD
		r, err := client.Export(as(t, goodKey), request(pbSpan(1, 1), pbSpan(1, 2, bad)), grpc.UseCompressor(compressor), grpc.Header(&header))
		require.NoError(t, err)
		require.EqualValues(t, 1, r.GetPartialSuccess().GetRejectedSpans())
		require.Contains(t, r.GetPartialSuccess().GetErrorMessage(), "trace_id")
		require.Regexp(t, `^encrypted \d+:\d+$`, header.Get(domain.TokenHeader)[0])
	}
	large := pbSpan(1, 1, func(s *tracepb.Span) { s.TraceState = string(make([]byte, 2<<20)) })
	tests := []struct {
		name, key string
		request   *collectorpb.ExportTraceServiceRequest
		want      codes.Code
		opts      []grpc.CallOption
	}{
		{"nobody", "", request(pbSpan(1, 1)), codes.Unauthenticated, nil},
		{"viewer", "ApiKey viewer", request(pbSpan(1, 1)), codes.PermissionDenied, nil},
		{"all bad", goodKey, request(pbSpan(1, 1, bad)), codes.InvalidArgument, nil},
		{"too large", goodKey, request(large), codes.ResourceExhausted, nil},
		{"grows too large", goodKey, request(large), codes.ResourceExhausted, []grpc.CallOption{grpc.UseCompressor("gzip")}},
		{"grows too large, zlib", goodKey, request(large), codes.ResourceExhausted, []grpc.CallOption{grpc.UseCompressor("deflate")}},
		{"grows too large, zstd", goodKey, request(large), codes.ResourceExhausted, []grpc.CallOption{grpc.UseCompressor("zstd")}},
		{"empty", goodKey, request(), codes.OK, nil},
	}
	for _, tt := range tests {
		_, err := client.Export(as(t, tt.key), tt.request, tt.opts...)
		require.Equal(t, tt.want, status.Code(err), "%s: %v", tt.name, err)
	}
	state, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_SERVING, state.GetStatus())
}

func TestGRPCOutageSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ *otlp.Config, _ *ingest.Config, cfg *stream.Config) {
		cfg.Brokers, cfg.PublishTimeout = []string{"127.0.0.1:1"}, 300*time.Millisecond
	})
	_, err := collectorpb.NewTraceServiceClient(dial(t, h)).Export(as(t, goodKey), request(pbSpan(1, 1)))
	s := status.Convert(err)
	require.Equal(t, codes.Unavailable, s.Code())
	require.Len(t, s.Details(), 1)
	info, ok := s.Details()[0].(*errdetails.RetryInfo)
	require.True(t, ok)
	require.Equal(t, h.stream.RetryAfter, info.GetRetryDelay().AsDuration())
}

// TestSilentCallsDoNotKeepOthersOut: a client that opens a call and sends
// nothing takes a place for a time, and then loses it.
func TestSilentCallsDoNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *otlp.Config, _ *ingest.Config, _ *stream.Config) {
		cfg.MaxCalls, cfg.ReadTimeout = 1, time.Second
	})
	conn := dial(t, h)
	client := collectorpb.NewTraceServiceClient(conn)
	var silent []grpc.ClientStream
	var err error
	for status.Code(err) != codes.Unavailable { // until a silent call has the place before ours comes
		s, err2 := conn.NewStream(as(t, goodKey), &grpc.StreamDesc{ClientStreams: true}, collectorpb.TraceService_Export_FullMethodName)
		require.NoError(t, err2)
		silent = append(silent, s)
		_, err = client.Export(as(t, goodKey), request(pbSpan(1, 1)))
		require.Contains(t, []codes.Code{codes.OK, codes.Unavailable}, status.Code(err), err)
	}
	require.Len(t, status.Convert(err).Details(), 1)
	ended := make(map[codes.Code]int)
	for _, s := range silent {
		ended[status.Code(s.RecvMsg(new(collectorpb.ExportTraceServiceResponse)))]++
	}
	require.Positive(t, ended[codes.DeadlineExceeded], ended)
	_, err = client.Export(as(t, goodKey), request(pbSpan(1, 1)))
	require.NoError(t, err)
}
