package stream_test

import (
	"bufio"
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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"colonnade/write/stream"
)

// The broker of these tests is kfake with its files on disk, in a process of
// its own: the tests kill it with SIGKILL. COLONNADE_TEST_KAFKA_BROKERS
// replaces it where a test does not kill.
const (
	brokerDir  = "STREAM_TEST_BROKER_DIR"
	brokerPort = "STREAM_TEST_BROKER_PORT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(brokerDir); dir != "" {
		os.Exit(serveBroker(dir, os.Getenv(brokerPort)))
	}
	os.Exit(m.Run())
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
	fmt.Println("ready")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	return 0
}

// broker is a broker process that can be killed and started again at its address.
type broker struct {
	addr, dir, port string
	cmd             *exec.Cmd
}

func startBroker(t testing.TB) *broker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	b := &broker{addr: addr, dir: t.TempDir(), port: port}
	b.start(t)
	t.Cleanup(func() { b.kill(t) })
	return b
}

func (b *broker) start(t testing.TB) {
	t.Helper()
	b.cmd = exec.Command(os.Args[0])
	b.cmd.Env = append(os.Environ(), brokerDir+"="+b.dir, brokerPort+"="+b.port)
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, b.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready", strings.TrimSpace(line))
}

// kill is kill -9.
func (b *broker) kill(t testing.TB) {
	t.Helper()
	if b.cmd == nil {
		return
	}
	require.NoError(t, b.cmd.Process.Kill())
	_ = b.cmd.Wait()
	b.cmd = nil
}

// shared is the address of a broker that no test kills.
func shared(t *testing.T) []string {
	t.Helper()
	if addrs := os.Getenv("COLONNADE_TEST_KAFKA_BROKERS"); addrs != "" {
		return strings.Split(addrs, ",")
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

// config is a configuration with a topic and group of its own.
func config(t testing.TB, brokers ...string) stream.Config {
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
var topics atomic.Int64

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func producer(t testing.TB, cfg stream.Config) *stream.Producer {
	t.Helper()
	p, err := stream.NewProducer(cfg, time.Now, quiet(), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func consumer(t testing.TB, cfg stream.Config) *stream.Consumer {
	t.Helper()
	c, err := stream.NewConsumer(cfg, time.Now, quiet(), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
