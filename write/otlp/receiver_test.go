package otlp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"colonnade/domain"
	"colonnade/write/ingest"
	"colonnade/write/logevents"
	"colonnade/write/otlp"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is the write side up to Kafka: both receivers over a broker that speaks the protocol.
type fixture struct {
	http     *httptest.Server
	grpcAddr string
	ingest   *ingest.Ingest
	stream   stream.Config
	// logs is the configuration of the topic of log records.
	logs stream.Config
	cfg  otlp.Config
	reg  *prometheus.Registry
	// status is what the engine makes of the last error's kind.
	lastError atomic.Pointer[domain.Error]
}

var topics atomic.Int64

func brokers(t *testing.T) []string {
	t.Helper()
	if addrs := os.Getenv("COLONNADE_TEST_KAFKA_BROKERS"); addrs != "" {
		return strings.Split(addrs, ",")
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "67108864"}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

const goodKey = "ApiKey good"

func authenticate(_ context.Context, authorization string) (domain.Principal, error) {
	p := domain.Principal{Project: domain.ProjectID(uuid.UUID{7}), User: uuid.UUID{8}, Role: "editor"}
	switch authorization {
	case goodKey:
		return p, nil
	case "ApiKey viewer":
		p.Role = "viewer"
		return p, nil
	default:
		return domain.Principal{}, domain.E(domain.Unauthenticated, "Unauthorized")
	}
}

// encryptToken stands for the encryption of the server.
func encryptToken(_ context.Context, token domain.Token) string { return "encrypted " + token.String() }

// requireNothingInFlight looks at what the requests that have ended hold of the memory.
func (h *fixture) requireNothingInFlight(t *testing.T) {
	t.Helper()
	require.NoError(t, testutil.GatherAndCompare(h.reg, strings.NewReader(`
# HELP colonnade_ingest_in_flight_bytes Memory reserved for requests in progress.
# TYPE colonnade_ingest_in_flight_bytes gauge
colonnade_ingest_in_flight_bytes 0
`), "colonnade_ingest_in_flight_bytes"))
}

func open(t *testing.T, edit ...func(*otlp.Config, *ingest.Config, *stream.Config)) *fixture {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	reg := prometheus.NewRegistry()
	h := &fixture{stream: stream.DefaultConfig(), cfg: otlp.DefaultConfig(), reg: reg}
	name := fmt.Sprintf("otlp-%d-%d", os.Getpid(), topics.Add(1))
	h.stream.Topic, h.stream.Group, h.stream.Partitions = name, name, 2
	h.stream.SessionTimeout = 6 * time.Second
	h.cfg.GRPCAddr = "127.0.0.1:0"
	icfg := ingest.DefaultConfig()
	for _, e := range edit {
		e(&h.cfg, &icfg, &h.stream)
	}
	if len(h.stream.Brokers) == 1 && h.stream.Brokers[0] == stream.DefaultConfig().Brokers[0] {
		h.stream.Brokers = brokers(t)
	}
	p, err := stream.NewProducer(h.stream, time.Now, log, reg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	h.ingest, err = ingest.New(icfg, p, time.Now, log, reg)
	require.NoError(t, err)

	h.logs = logevents.DefaultConfig().Kafka(h.stream)
	producer, err := stream.NewProducer(h.logs, time.Now, log, prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { _ = producer.Close() })
	logs := ingest.NewLogs(producer, time.Now)
	receiver, err := otlp.New(h.cfg, h.ingest, logs, time.Now, log, reg)
	require.NoError(t, err)
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	receiver.Mount(router{engine, h})
	h.http = httptest.NewServer(engine)
	t.Cleanup(h.http.Close)

	g, err := otlp.NewGRPC(h.cfg, h.ingest, logs, authenticate, encryptToken, time.Now, log, reg)
	require.NoError(t, err)
	l, err := net.Listen("tcp", h.cfg.GRPCAddr)
	require.NoError(t, err)
	h.grpcAddr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h
}

// router is the part of the HTTP server that the receiver needs: the caller, and the status of an error.
type router struct {
	engine  *gin.Engine
	fixture *fixture
}

func (r router) Handle(op domain.Operation, h func(*gin.Context) error) {
	r.engine.Handle(op.Method, op.Path, func(c *gin.Context) {
		p, err := authenticate(c.Request.Context(), c.GetHeader("Authorization"))
		if err == nil {
			if op.Limit > 0 {
				c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, op.Limit)
			}
			c.Request = c.Request.WithContext(domain.WithPrincipal(c.Request.Context(), p))
			err = h(c)
		}
		if err == nil {
			return
		}
		e, ok := errors.AsType[*domain.Error](err)
		if !ok {
			e = &domain.Error{Err: err}
		}
		r.fixture.lastError.Store(e)
		status := map[domain.Kind]int{domain.Rejected: 400, domain.Unauthenticated: 401, domain.TooLarge: 413, domain.Unavailable: 503}[e.Kind]
		if status == 0 {
			status = http.StatusInternalServerError
		}
		if e.RetryAfter > 0 {
			c.Header("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
		}
		c.JSON(status, gin.H{"detail": e.Message})
	})
}

// records reads n records off the log.
func (h *fixture) records(t *testing.T, n int) []stream.Record {
	t.Helper()
	return consume(t, h.stream, n)
}

// consume reads n records off the topic of a configuration.
func consume(t *testing.T, cfg stream.Config, n int) []stream.Record {
	t.Helper()
	c, err := consumer.New(cfg, time.Now, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	found := make(chan stream.Record)
	done := make(chan error, 1)
	go func() {
		done <- c.Run(ctx, func(ctx context.Context, p *consumer.Partition) error {
			for {
				batch, err := p.Poll(ctx, 1<<20, time.Millisecond)
				if err != nil {
					return err
				}
				for _, r := range batch {
					select {
					case found <- r:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
		})
	}()
	var all []stream.Record
	for len(all) < n {
		all = append(all, <-found)
	}
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, c.Close())
	return all
}
