//go:build embedded

// Package broker is the embedded Kafka: franz-go's own broker with its log on
// disk, one node, synced before it acknowledges.
//
// It knows addresses, directories and bounds, not what is in the records.
package broker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"colonnade/deploy/embedded/internal/supervise"
)

// Config of the broker's process; its listening socket is descriptor 3.
type Config struct {
	Dir string `json:"dir"`
	// User is the only one; every client must prove that it has the Password.
	User       string `json:"user"`
	Password   string `json:"password"`
	Partitions int    `json:"partitions"` // of a topic that does not say
	// MaxMessageBytes bounds one batch of records.
	MaxMessageBytes int `json:"max_message_bytes"`
	// KeepBytes of a partition stay although every group has read them.
	KeepBytes int64 `json:"keep_bytes"`
	// RetainBytes bounds a partition: one that is full of what is still to be read
	// takes no more. RetainFor bounds the age of what every group has read.
	RetainBytes int64         `json:"retain_bytes"`
	RetainFor   time.Duration `json:"retain_for"`
	// DiskReserveBytes of the disk of DataDir stay free.
	DataDir          string `json:"data_dir"`
	DiskReserveBytes int64  `json:"disk_reserve_bytes"`
}

// segmentBytes is the piece in which space comes back, and that is read at once after a crash.
const segmentBytes = 16 << 20

// Run serves the broker until the context ends.
func Run(ctx context.Context, c Config, ready func(supervise.Ready)) error {
	lock, err := supervise.Lock(ctx, filepath.Join(c.Dir, "kafka.lock"), 15*time.Second)
	if err != nil {
		return fmt.Errorf("the Kafka directory %s: %w", c.Dir, err)
	}
	defer lock.Close() //nolint:errcheck // the end of the process gives it up as well
	data := filepath.Join(c.Dir, "data")
	damages, err := recoverState(data)
	if err != nil {
		return err
	}
	problems := make([]string, len(damages))
	for i, d := range damages {
		problems[i] = d.String()
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID("colonnade-embedded"),
		kfake.ListenFn(func(string, string) (net.Listener, error) {
			listener, err := net.FileListener(os.NewFile(3, "listener"))
			return gate{listener}, err
		}),
		kfake.EnableSASL(),
		kfake.Superuser(mechanism, c.User, c.Password),
		kfake.DataDir(data),
		kfake.SyncWrites(),
		kfake.DefaultNumPartitions(c.Partitions),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelError)),
		kfake.BrokerConfigs(map[string]string{
			"message.max.bytes":          strconv.Itoa(c.MaxMessageBytes),
			"default.replication.factor": "1",
			"log.retention.bytes":        "-1", // see keeper
			"log.retention.ms":           "-1",
			"log.segment.bytes":          strconv.Itoa(segmentBytes),
		}),
	)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer cluster.Close()
	createAsked(cluster)
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.SASL(scram.Auth{User: c.User, Pass: c.Password}.AsSha256Mechanism()))
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer admin.Close()
	k := newKeeper(c, cluster, admin, time.Now) //nolint:forbidigo // the process begins here
	if err := k.look(ctx); err != nil {
		return err
	}
	ready(supervise.Ready{Version: "kfake", Problems: problems})
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := k.look(ctx); err != nil && ctx.Err() == nil {
				_, _ = fmt.Fprintln(os.Stderr, err) // the next tick tries again
			}
			cluster.ApplyRetention() // of topics that have their own
		}
	}
}
