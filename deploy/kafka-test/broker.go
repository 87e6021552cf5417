package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 15 * time.Second
)

// broker is one node, started again on the same ports and data when somebody kills it, as tests do.
type broker struct {
	address string
	dir     string
	java    string
	options []string

	stopping chan struct{} // closed by stop
	ended    chan error    // holds why the node runs no more, nil after stop; nil before it was started
}

// properties make a node that is broker and controller in one, keeps little
// and waits for nobody. The bounds of messages are those of the embedded broker.
const properties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%[3]s
num.partitions=4
message.max.bytes=33554432
replica.fetch.max.bytes=33554432
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`

// startBroker formats an empty storage, starts the node on it and waits until it answers.
func startBroker(ctx context.Context) (*broker, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, errors.New("a real Kafka needs Java 17 or later, and there is no java on the path")
	}
	jars, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "colonnade-kafka-")
	if err != nil {
		return nil, err
	}
	b := &broker{dir: dir, java: java, stopping: make(chan struct{})}
	if err := b.start(ctx, jars); err != nil {
		return nil, errors.Join(err, b.stop())
	}
	return b, nil
}

// pidFile holds the number of the node's process, another one after each start.
func (b *broker) pidFile() string { return filepath.Join(b.dir, "pid") }

func (b *broker) start(ctx context.Context, jars string) error {
	addresses, err := freeAddresses(2)
	if err != nil {
		return err
	}
	b.address = addresses[0]
	config := filepath.Join(b.dir, "server.properties")
	text := fmt.Sprintf(properties, addresses[0], addresses[1], filepath.Join(b.dir, "data"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	b.options = []string{
		// A small heap and the quick compiler: the node lives for one run of tests.
		"-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", filepath.Join(jars, "*"),
	}
	//nolint:gosec // the java that was found, with arguments of ours
	format := exec.CommandContext(ctx, b.java, append(slices.Clip(b.options), "kafka.tools.StorageTool", "format", "-t", "Y29sb25uYWRlLXRlc3QtMQ", "-c", config)...)
	if output, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("formatting the storage: %w: %s", err, output)
	}
	b.ended = make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel ends a child with the thread that forked it
		defer runtime.UnlockOSThread()
		b.ended <- b.keep(config)
	}()
	return b.answers(ctx)
}

// keep runs the node until stop, again after each kill. One that ends by itself is not
// started again: what it ended of would not be seen.
func (b *broker) keep(config string) error {
	for {
		err := b.once(config)
		select {
		case <-b.stopping:
			return nil
		default:
		}
		if !wasKilled(err) {
			return fmt.Errorf("the node ended: %w; its log: %s", err, b.log())
		}
	}
}

// wasKilled tells that a process ended by SIGKILL.
func wasKilled(ended error) bool {
	exit, is := errors.AsType[*exec.ExitError](ended)
	if !is {
		return false
	}
	status, is := exit.Sys().(syscall.WaitStatus)
	return is && status.Signal() == syscall.SIGKILL
}

// once runs the node until it ends.
func (b *broker) once(config string) error {
	log, err := os.OpenFile(filepath.Join(b.dir, "kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	//nolint:gosec,noctx // the java that was found, with arguments of ours; stop ends it
	cmd := exec.Command(b.java, append(slices.Clip(b.options), "kafka.Kafka", config)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.dir, log, log
	cmd.SysProcAttr = brokerAttributes()
	if err := cmd.Start(); err != nil {
		return err
	}
	stopped := make(chan struct{})
	go func() {
		select {
		case <-stopped:
			return
		case <-b.stopping:
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		}
		select {
		case <-stopped:
		case <-time.After(stopTimeout):
			_ = cmd.Process.Kill() // it had its time
		}
	}()
	defer close(stopped)
	return errors.Join(b.tell(cmd.Process.Pid), cmd.Wait())
}

// tell writes the process's number to where tests look for it, whole at any moment.
func (b *broker) tell(pid int) error {
	making := b.pidFile() + ".making"
	if err := os.WriteFile(making, []byte(strconv.Itoa(pid)), 0o600); err != nil {
		return err
	}
	return os.Rename(making, b.pidFile())
}

// answers waits until the node does.
func (b *broker) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		err := client.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-b.ended:
			b.ended <- nil
			return ended
		case <-ctx.Done():
			return fmt.Errorf("the broker does not answer: %w; its log: %s", err, b.log())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (b *broker) log() string {
	raw, err := os.ReadFile(filepath.Join(b.dir, "kafka.log"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(raw[max(0, len(raw)-4000):]))
}

// stop ends the node and removes its data. It tells of a node that could not be kept running.
func (b *broker) stop() error {
	close(b.stopping)
	var ended error
	if b.ended != nil {
		ended = <-b.ended
	}
	return errors.Join(ended, os.RemoveAll(b.dir))
}

// freeAddresses finds loopback ports that nobody listens on now.
func freeAddresses(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local socket, at once
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // held until all are found, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}
