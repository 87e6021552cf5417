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

	"github.com/twmb/franz-go/pkg/kfake"

	"colonnade/deploy/embedded/internal/supervise"
)

// Config of the broker's process; its listening socket is descriptor 3.
type Config struct {
	Dir        string `json:"dir"`
	Partitions int    `json:"partitions"` // of a topic that does not say
	// MaxMessageBytes bounds one batch of records.
	MaxMessageBytes int `json:"max_message_bytes"`
	// RetainBytes bounds each partition's log on disk, RetainFor its age.
	RetainBytes int64         `json:"retain_bytes"`
	RetainFor   time.Duration `json:"retain_for"`
}

// retentionEvery is how often the bounds are enforced.
const retentionEvery = 15 * time.Second

// Run serves the broker until the context ends.
func Run(ctx context.Context, c Config, ready func(supervise.Ready)) error {
	lock, err := supervise.Lock(ctx, filepath.Join(c.Dir, "kafka.lock"), 15*time.Second)
	if err != nil {
		return fmt.Errorf("the Kafka directory %s: %w", c.Dir, err)
	}
	defer lock.Close() //nolint:errcheck // the end of the process gives it up as well
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID("colonnade-embedded"),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return net.FileListener(os.NewFile(3, "listener")) }),
		kfake.DataDir(filepath.Join(c.Dir, "data")),
		kfake.SyncWrites(),
		kfake.DefaultNumPartitions(c.Partitions),
		kfake.AllowAutoTopicCreation(),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelError)),
		kfake.BrokerConfigs(map[string]string{
			"message.max.bytes":          strconv.Itoa(c.MaxMessageBytes),
			"default.replication.factor": "1",
			"log.retention.bytes":        strconv.FormatInt(c.RetainBytes, 10),
			"log.retention.ms":           strconv.FormatInt(c.RetainFor.Milliseconds(), 10),
			// Space comes back a segment at a time.
			"log.segment.bytes": strconv.FormatInt(max(c.RetainBytes/16, 8<<20), 10),
		}),
	)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	defer cluster.Close()
	ready(supervise.Ready{Version: "kfake"})
	tick := time.NewTicker(retentionEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			cluster.ApplyRetention()
		}
	}
}
