package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"colonnade/domain"
	"colonnade/write/ingest"
)

// Authenticate returns the caller for the value of the authorization header.
type Authenticate func(ctx context.Context, authorization string) (domain.Principal, error)

// EncryptToken returns a token as clients get it; empty for none.
type EncryptToken func(ctx context.Context, token domain.Token) string

// GRPC is the gRPC receiver: the Export calls of the trace, metrics and logs services, and
// the health service, on a listener of their own.
type GRPC struct {
	cfg          Config
	ingest       *ingest.Ingest
	logs         Logs
	authenticate Authenticate
	encrypt      EncryptToken
	now          func() time.Time
	log          *slog.Logger
	metrics      metrics
	ignored      *ignored
	// calls has room for MaxCalls messages, which take memory before their size is known to the budget.
	calls chan struct{}
}

// NewGRPC returns the gRPC receiver.
func NewGRPC(cfg Config, ing *ingest.Ingest, logs Logs, authenticate Authenticate, encrypt EncryptToken, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*GRPC, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	log = log.With(slog.String("component", "otlp"))
	return &GRPC{
		cfg: cfg, ingest: ing, logs: logs, authenticate: authenticate, encrypt: encrypt, now: now, log: log,
		metrics: newMetrics(reg, "grpc"), ignored: newIgnored(reg, log, now), calls: make(chan struct{}, cfg.MaxCalls),
	}, nil
}

// Run serves until ctx ends, then lets calls finish for the drain time.
func (g *GRPC) Run(ctx context.Context, listener net.Listener) error {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(g.cfg.MaxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: g.cfg.MaxConnectionIdle, MaxConnectionAge: g.cfg.MaxConnectionAge, MaxConnectionAgeGrace: time.Minute,
			// Pings detect a client that vanished within 80 s.
			Time: time.Minute, Timeout: 20 * time.Second,
		}),
		grpc.ConnectionTimeout(10 * time.Second),
	}
	if g.cfg.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(g.cfg.TLS)))
	}
	server := grpc.NewServer(opts...)
	for _, service := range g.services() { //nolint:contextcheck // a call brings its own context
		server.RegisterService(service, nil)
	}
	state := health.NewServer()
	state.SetServingStatus(collectorpb.TraceService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, state)

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("otlp: serve gRPC on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	state.Shutdown()
	stopped := make(chan struct{})
	go func() { server.GracefulStop(); close(stopped) }()
	timer := time.NewTimer(g.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		g.log.WarnContext(ctx, "drain timeout ended gRPC calls in progress")
		server.Stop()
		<-stopped
	}
	if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("otlp: serve gRPC: %w", err)
	}
	return nil
}

// services describes the services with handlers that run before the message is read, so
// that a caller without permission costs no memory. On the wire they are the same unary methods.
func (g *GRPC) services() []*grpc.ServiceDesc {
	describe := func(like grpc.ServiceDesc, take taker) *grpc.ServiceDesc {
		return &grpc.ServiceDesc{
			ServiceName: like.ServiceName, Metadata: like.Metadata,
			Streams: []grpc.StreamDesc{{
				StreamName: "Export",
				Handler:    func(_ any, stream grpc.ServerStream) error { return g.handle(stream, take) },
			}},
		}
	}
	return []*grpc.ServiceDesc{
		describe(collectorpb.TraceService_ServiceDesc, g.takeSpans),
		describe(collectormetrics.MetricsService_ServiceDesc, g.takeMetrics),
		describe(collectorlogs.LogsService_ServiceDesc, g.takeLogs),
	}
}

// taker publishes what a message holds and returns the reply.
type taker = func(ctx context.Context, stream grpc.ServerStream, text string) (proto.Message, error)

func (g *GRPC) handle(stream grpc.ServerStream, take taker) error {
	start := g.now()
	err := g.export(stream, take)
	g.metrics.observe("protobuf", err, g.now().Sub(start))
	if err != nil {
		return toStatus(err)
	}
	return nil
}

func (g *GRPC) export(stream grpc.ServerStream, take taker) error {
	ctx, err := g.identify(stream.Context())
	if err != nil {
		return err
	}
	select {
	case g.calls <- struct{}{}:
		defer func() { <-g.calls }()
	default:
		e := domain.E(domain.Unavailable, "Too many calls are under way; send the same request again.")
		e.RetryAfter = g.cfg.RetryAfter
		return e
	}
	m, err := g.receive(stream)
	if err != nil {
		return err
	}
	if err := g.ingest.Budget().Acquire(int64(len(m.data))); err != nil {
		return err
	}
	defer g.ingest.Budget().Release(int64(len(m.data)))
	reply, err := take(ctx, stream, m.data)
	if err != nil {
		return err
	}
	return stream.SendMsg(reply)
}

func (g *GRPC) takeSpans(ctx context.Context, stream grpc.ServerStream, text string) (proto.Message, error) {
	receipt, err := g.ingest.OTLP(ctx, source, text, nil)
	if err != nil {
		return nil, unreadable(err, receipt)
	}
	if token := g.encrypt(ctx, receipt.Token); token != "" {
		if err := stream.SetHeader(metadata.Pairs(domain.TokenHeader, token)); err != nil {
			return nil, err
		}
	}
	return response(receipt), nil
}

func (g *GRPC) takeMetrics(ctx context.Context, _ grpc.ServerStream, text string) (proto.Message, error) {
	n, err := countMetrics(text)
	g.ignored.note(ctx, signalMetrics, n)
	return new(collectormetrics.ExportMetricsServiceResponse), err
}

func (g *GRPC) takeLogs(ctx context.Context, _ grpc.ServerStream, text string) (proto.Message, error) {
	budget := g.ingest.Budget()
	if err := budget.Acquire(int64(len(text))); err != nil { // the message with its objects
		return nil, err
	}
	defer budget.Release(int64(len(text)))
	return new(collectorlogs.ExportLogsServiceResponse), takeLogs(ctx, g.logs, g.ignored, text)
}

// receive reads the message within ReadTimeout: a client that sends nothing must not occupy
// one of the MaxCalls places. gRPC stops reading when the handler returns.
func (g *GRPC) receive(stream grpc.ServerStream) (*rawMessage, error) {
	m := new(rawMessage)
	done := make(chan error, 1)
	go func() { done <- stream.RecvMsg(m) }()
	timer := time.NewTimer(g.cfg.ReadTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return m, err
	case <-timer.C:
		return nil, status.Error(codes.DeadlineExceeded, "The message did not come in time.")
	}
}

func (g *GRPC) identify(ctx context.Context) (context.Context, error) {
	authorization := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if values := md.Get("authorization"); len(values) > 0 {
			authorization = values[0]
		}
	}
	principal, err := g.authenticate(ctx, authorization)
	if err != nil {
		return nil, err
	}
	if err := principal.Check(domain.AddSpans); err != nil {
		return nil, err
	}
	return domain.WithPrincipal(ctx, principal), nil
}

// toStatus returns the code by which an exporter decides whether to retry.
// Source: OTLP specification, "OTLP/gRPC response" and "throttling".
func toStatus(err error) error {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		if _, ok := status.FromError(err); ok {
			return err // gRPC's own: a message above its bound, a client that left
		}
		return status.Error(codes.Internal, "An unexpected error occurred. Please try again later or contact support.")
	}
	code := codes.Internal
	switch e.Kind {
	case domain.Rejected, domain.Invalid:
		code = codes.InvalidArgument
	case domain.Unauthenticated:
		code = codes.Unauthenticated
	case domain.Forbidden:
		code = codes.PermissionDenied
	case domain.TooLarge, domain.TooMany:
		code = codes.ResourceExhausted
	case domain.Unavailable:
		code = codes.Unavailable
	default:
		return status.Error(code, "An unexpected error occurred. Please try again later or contact support.")
	}
	s := status.New(code, e.Message)
	if e.RetryAfter > 0 {
		if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}); err == nil {
			s = detailed
		}
	}
	return s.Err()
}
