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
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 15 * time.Second
)

// broker is one running node.
type broker struct {
	address string
	dir     string
	cmd     *exec.Cmd
	ended   chan error
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
	b := &broker{dir: dir}
	if err := b.start(ctx, java, jars); err != nil {
		return nil, errors.Join(err, b.stop())
	}
	return b, nil
}

func (b *broker) start(ctx context.Context, java, jars string) error {
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
	options := []string{
		// A small heap and the quick compiler: the node lives for one run of tests.
		"-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", filepath.Join(jars, "*"),
	}
	//nolint:gosec // the java that was found, with arguments of ours
	format := exec.CommandContext(ctx, java, append(slices.Clip(options), "kafka.tools.StorageTool", "format", "-t", "Y29sb25uYWRlLXRlc3QtMQ", "-c", config)...)
	if output, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("formatting the storage: %w: %s", err, output)
	}
	log, err := os.Create(filepath.Join(b.dir, "kafka.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	//nolint:gosec,noctx // the java that was found, with arguments of ours; stop ends it
	b.cmd = exec.Command(java, append(slices.Clip(options), "kafka.Kafka", config)...)
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = b.dir, log, log
	b.cmd.SysProcAttr = brokerAttributes()
	b.ended = make(chan error, 1)
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel ends the child with the thread that forked it
		defer runtime.UnlockOSThread()
		err := b.cmd.Start()
		started <- err
		if err == nil {
			b.ended <- b.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		b.cmd = nil
		return err
	}
	return b.answers(ctx)
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
			b.cmd = nil
			return fmt.Errorf("the broker ended (%w); its log: %s", ended, b.log())
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

// stop ends the node and removes its data.
func (b *broker) stop() error {
	if b.cmd != nil {
		if err := b.cmd.Process.Signal(syscall.SIGTERM); err == nil {
			select {
			case <-b.ended: //nolint:errcheck // how it ended does not matter here
			case <-time.After(stopTimeout):
				_ = b.cmd.Process.Kill() // it had its time
				<-b.ended                //nolint:errcheck // it was killed
			}
		}
	}
	return os.RemoveAll(b.dir)
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
