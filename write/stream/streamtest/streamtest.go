// Package streamtest gives the tests of write/stream and its sub-packages a broker that they
// can kill, records and a producer. It is for tests alone.
package streamtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/stream"
)

// The broker of these tests is kfake with its files on disk, in a process of
// its own: the tests kill it with SIGKILL. COLONNADE_TEST_KAFKA_BROKERS
// replaces it where a test does not kill.
const (
	brokerDir  = "STREAM_TEST_BROKER_DIR"
	brokerPort = "STREAM_TEST_BROKER_PORT"
)

// Main runs the tests of a package and returns the exit code. In a process that StartBroker
// started it serves the broker instead.
func Main(m *testing.M) int {
	if dir := os.Getenv(brokerDir); dir != "" {
		return serveBroker(dir, os.Getenv(brokerPort))
	}
	return m.Run()
}

func serveBroker(dir, port string) int {
	p, err := strconv.Atoi(port)
	if err != nil {
		return 2
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(p), kfake.DataDir(dir), kfake.SyncWrites(),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "67108864"}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.Close()
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	return 0
}

// Broker is a broker process that can be killed and started again at its address.
type Broker struct {
	Addr      string
	dir, port string
	cmd       *exec.Cmd
}

// StartBroker starts a broker that ends with the test.
func StartBroker(t testing.TB) *Broker {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	b := &Broker{Addr: addr, dir: t.TempDir(), port: port}
	b.Start(t)
	t.Cleanup(func() { b.Kill(t) })
	return b
}

// Start starts the broker again after Kill.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	b.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]) //nolint:gosec // this test again; Kill ends it
	b.cmd.Env = append(os.Environ(), brokerDir+"="+b.dir, brokerPort+"="+b.port)
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, b.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready", strings.TrimSpace(line))
}

// Kill kills the broker with SIGKILL.
func (b *Broker) Kill(t testing.TB) {
	t.Helper()
	if b.cmd == nil {
		return
	}
	require.NoError(t, b.cmd.Process.Kill())
	_ = b.cmd.Wait()
	b.cmd = nil
}

// Shared returns the addresses of a broker that no test kills.
func Shared(t testing.TB) []string {
	t.Helper()
	if addrs := os.Getenv("COLONNADE_TEST_KAFKA_BROKERS"); addrs != "" {
		return strings.Split(addrs, ",")
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

// Config returns a configuration with a topic and a group of its own.
func Config(t testing.TB, brokers ...string) stream.Config {
	t.Helper()
	cfg := stream.DefaultConfig()
	cfg.Brokers = brokers
	name := fmt.Sprintf("t%d-%d", os.Getpid(), topics.Add(1))
	cfg.Topic, cfg.Group = "spans-"+name, "sink-"+name
	cfg.Partitions = 3
	cfg.SessionTimeout = 6 * time.Second
	return cfg
}

// topics numbers the topics of this process.
//
//nolint:gochecknoglobals // the tests of a package have no other common ground
var topics atomic.Int64

// Quiet returns a log that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Producer returns a producer that is closed with the test.
func Producer(t testing.TB, cfg stream.Config) *stream.Producer {
	t.Helper()
	p, err := stream.NewProducer(cfg, time.Now, Quiet(), prometheus.NewRegistry()) //nolint:forbidigo // for tests alone
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Record returns a record of the nth trace.
func Record(n int) stream.Record {
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[8:], uint64(n)+1) //nolint:gosec // tests count upwards from zero
	return stream.Record{
		Project: domain.ProjectID(uuid.UUID{1}), User: uuid.UUID{2}, Trace: id, Source: "otlp", Operation: stream.Upsert,
		ReceivedAt: time.Unix(1_700_000_000, int64(n)).UTC(), Headers: map[string]string{"colour": "blue"},
		Value: fmt.Appendf(nil, "value %d", n),
	}
}

// Records returns records of n traces.
func Records(n int) []stream.Record {
	rs := make([]stream.Record, n)
	for i := range rs {
		rs[i] = Record(i)
	}
	return rs
}

// Admin returns an administrative client for the brokers of a configuration.
func Admin(t testing.TB, cfg stream.Config) *kadm.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

// OwnBroker returns a broker in this process whose answers a test controls, and a
// configuration with a topic of one partition.
func OwnBroker(t testing.TB) (*kfake.Cluster, stream.Config) {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(k.Close)
	cfg := Config(t, k.ListenAddrs()...)
	cfg.Partitions = 1
	return k, cfg
}

// DeleteTopic deletes the topic and waits until it is gone: a broker deletes it after it has
// answered, and a producer that still finds it does not create it again. The client is its
// own, because a client remembers for a while that a topic is unknown.
func DeleteTopic(t testing.TB, cfg stream.Config) {
	t.Helper()
	adm := Admin(t, cfg)
	_, err := adm.DeleteTopic(t.Context(), cfg.Topic)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		topics, err := adm.ListTopics(t.Context(), cfg.Topic)
		return err == nil && errors.Is(topics[cfg.Topic].Err, kerr.UnknownTopicOrPartition)
	}, time.Minute, 10*time.Millisecond)
}
