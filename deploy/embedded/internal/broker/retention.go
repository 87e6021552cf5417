//go:build embedded

package broker

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lookEvery is how often the log is looked at, lookTimeout how long that may take.
const (
	lookEvery   = 2 * time.Second
	lookTimeout = 10 * time.Second
)

// keeper bounds the log. What every consumer group has committed goes when a
// partition grows beyond keep bytes, or when it is older than age. What somebody
// has still to read stays: a partition that is full of it takes no more, which
// its producers see as a broker that cannot write now, until readers caught up.
// Kafka's own retention would delete it, and with it records that were acknowledged.
type keeper struct {
	admin       *kadm.Client
	keep, limit int64
	age         time.Duration
	now         func() time.Time

	mu sync.Mutex // guards the following
	// sizes are those of the last look and what was admitted since, in bytes.
	sizes map[string]map[int32]int64
	// names are those of the topics, by their ids.
	names map[[16]byte]string
}

func newKeeper(c Config, cluster *kfake.Cluster, admin *kadm.Client, now func() time.Time) *keeper {
	// What was read must go well before it fills the log.
	k := &keeper{admin: admin, keep: min(c.KeepBytes, c.RetainBytes/2), limit: c.RetainBytes, age: c.RetainFor, now: now}
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		request, is := r.(*kmsg.ProduceRequest)
		if !is || !k.full(request) {
			return nil, nil, false //nolint:nilnil // not handled: the broker answers itself
		}
		cluster.KeepControl()
		return refusal(request), nil, true
	})
	return k
}

// refusal answers a request for a partition that is full. Nothing of it was
// taken: who repeats it repeats all of it.
func refusal(request *kmsg.ProduceRequest) kmsg.Response {
	response, _ := request.ResponseKind().(*kmsg.ProduceResponse)
	why := "the log is full of records that are still to be read"
	for _, topic := range request.Topics {
		refused := kmsg.NewProduceResponseTopic()
		refused.Topic, refused.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = partition.Partition, kerr.KafkaStorageError.Code, &why
			refused.Partitions = append(refused.Partitions, p)
		}
		response.Topics = append(response.Topics, refused)
	}
	return response
}

// full tells whether a partition of the request has no room, and counts the request where all have.
func (k *keeper) full(request *kmsg.ProduceRequest) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	each := func(do func(sizes map[int32]int64, partition int32, bytes int64) bool) bool {
		for _, topic := range request.Topics {
			name := topic.Topic
			if name == "" {
				name = k.names[topic.TopicID]
			}
			if k.sizes[name] == nil {
				k.sizes[name] = map[int32]int64{}
			}
			for _, p := range topic.Partitions {
				if do(k.sizes[name], p.Partition, int64(len(p.Records))) {
					return true
				}
			}
		}
		return false
	}
	if each(func(sizes map[int32]int64, p int32, bytes int64) bool { return sizes[p]+bytes > k.limit }) {
		return true
	}
	return each(func(sizes map[int32]int64, p int32, bytes int64) bool { sizes[p] += bytes; return false })
}

// look deletes what need not stay and takes how large the partitions are.
func (k *keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	sizes, err := k.measure(ctx)
	if err != nil {
		return err
	}
	gone, err := k.unneeded(ctx, sizes)
	if err != nil || len(gone) == 0 {
		return err
	}
	if _, err := k.admin.DeleteRecords(ctx, gone); err != nil {
		return fmt.Errorf("broker: trimming the log: %w", err)
	}
	_, err = k.measure(ctx)
	return err
}

// measure reads the sizes of the partitions and the ids of the topics.
func (k *keeper) measure(ctx context.Context) (map[string]map[int32]int64, error) {
	topics, err := k.admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("broker: topics of the log: %w", err)
	}
	names := make(map[[16]byte]string, len(topics))
	for name, topic := range topics {
		names[topic.ID] = name
	}
	// A request that is admitted in between is counted in what is read, or is
	// forgotten until the next look: that is a moment's worth beyond the limit.
	dirs, err := k.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("broker: sizes of the log: %w", err)
	}
	sizes := map[string]map[int32]int64{}
	dirs.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if sizes[p.Topic] == nil {
				sizes[p.Topic] = map[int32]int64{}
			}
			sizes[p.Topic][p.Partition] = p.Size
		})
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = names
	k.sizes = make(map[string]map[int32]int64, len(sizes))
	for topic, partitions := range sizes {
		k.sizes[topic] = maps.Clone(partitions)
	}
	return sizes, nil
}

// unneeded gives up to where each partition may go: what every group has
// committed where it is large, else what of that is old.
func (k *keeper) unneeded(ctx context.Context, sizes map[string]map[int32]int64) (kadm.Offsets, error) {
	consumed, err := consumedBy(ctx, k.admin)
	if err != nil || len(consumed) == 0 {
		return nil, err
	}
	old, err := k.admin.ListOffsetsAfterMilli(ctx, k.now().Add(-k.age).UnixMilli(), consumed.TopicsSet().Topics()...)
	if err != nil {
		return nil, fmt.Errorf("broker: age of the log: %w", err)
	}
	gone := kadm.Offsets{}
	consumed.Each(func(o kadm.Offset) {
		if sizes[o.Topic][o.Partition] <= k.keep {
			young, is := old.Lookup(o.Topic, o.Partition)
			if !is || young.Err != nil {
				return
			}
			o.At = min(o.At, young.Offset)
		}
		if o.At > 0 {
			gone.Add(o)
		}
	})
	return gone, nil
}

// consumedBy gives the smallest offset that any group has committed for each partition that has one.
func consumedBy(ctx context.Context, admin *kadm.Client) (kadm.Offsets, error) {
	groups, err := admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("broker: listing groups: %w", err)
	}
	least := kadm.Offsets{}
	for _, fetched := range admin.FetchManyOffsets(ctx, groups.Groups()...) {
		if fetched.Err != nil {
			return nil, fmt.Errorf("broker: commits of group %s: %w", fetched.Group, fetched.Err)
		}
		fetched.Fetched.Each(func(o kadm.OffsetResponse) {
			if before, is := least.Lookup(o.Topic, o.Partition); o.Err == nil && o.At >= 0 && (!is || o.At < before.At) {
				least.Delete(o.Topic, o.Partition) // Add alone would keep the greater
				least.Add(o.Offset)
			}
		})
	}
	return least, nil
}
