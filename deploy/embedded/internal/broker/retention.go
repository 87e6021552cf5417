//go:build embedded

package broker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/deploy/embedded/internal/supervise"
)

// lookEvery is how often the log is looked at, lookTimeout how long that may take.
const (
	lookEvery   = 2 * time.Second
	lookTimeout = 10 * time.Second
)

// keeper bounds the log. What every consumer group has committed goes when a
// partition grows beyond keep bytes, or when it is older than age, but for its
// last record (see butLast). What somebody has still to read stays: a partition
// that is full of it takes no more, which its producers see as a broker that cannot
// write now, until readers caught up. Kafka's own retention would delete it, and
// with it records that were acknowledged.
type keeper struct {
	cluster     *kfake.Cluster
	admin       *kadm.Client
	keep, limit int64
	age         time.Duration
	now         func() time.Time
	// free returns the free bytes of the disk of dir, of which reserve stay so.
	free    func() (int64, error)
	dir     string
	reserve int64

	mu sync.Mutex // guards the following
	// sizes are those of the last look and what was admitted since, and admitted
	// what was since that look began.
	sizes, admitted sizes
	// names are those of the topics, by their ids.
	names map[[16]byte]string
	// refused is what was refused since the last look; empty for nothing.
	refused string
	// noRoom is why the disk refused since the last look; empty for nothing.
	noRoom string
	logged time.Time
}

// sizes are in bytes, by topic and partition; a topic whose name is not known yet is under its id.
type sizes map[string]map[int32]int64

func (s sizes) add(topic string, partition int32, bytes int64) {
	if s[topic] == nil {
		s[topic] = map[int32]int64{}
	}
	s[topic][partition] += bytes
}

func newKeeper(c Config, cluster *kfake.Cluster, admin *kadm.Client, now func() time.Time) *keeper {
	// What was read must go well before it fills the log.
	k := &keeper{cluster: cluster, admin: admin, keep: min(c.KeepBytes, c.RetainBytes/2), limit: c.RetainBytes, age: c.RetainFor, now: now, dir: c.DataDir, reserve: c.DiskReserveBytes, sizes: sizes{}, admitted: sizes{}}
	k.free = func() (int64, error) { return supervise.FreeBytes(k.dir) }
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		request, is := r.(*kmsg.ProduceRequest)
		if !is {
			return nil, nil, false //nolint:nilnil // not handled: the broker answers itself
		}
		why := k.diskFull()
		if why == "" && k.full(request) {
			why = "the log is full of records that are still to be read"
		}
		if why == "" {
			return nil, nil, false //nolint:nilnil // not handled: the broker answers itself
		}
		cluster.KeepControl()
		return refusal(request, why), nil, true
	})
	return k
}

// diskFull returns why the disk has no room for records, empty where it has. A
// disk that is full of records leaves ClickHouse and Postgres none to store them.
func (k *keeper) diskFull() string {
	if k.reserve == 0 {
		return ""
	}
	free, err := k.free()
	if err != nil || free >= k.reserve {
		return "" // a disk that cannot be asked refuses by itself
	}
	why := fmt.Sprintf("the disk of %s has %d MiB free, and below %d MiB no records are taken", k.dir, free>>20, k.reserve>>20)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noRoom = why
	return why
}

// refusal answers a request for a partition that is full, or a disk. Nothing of it was
// taken: who repeats it repeats all of it.
func refusal(request *kmsg.ProduceRequest, why string) kmsg.Response {
	response, _ := request.ResponseKind().(*kmsg.ProduceResponse)
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
	for _, topic := range request.Topics {
		for _, p := range topic.Partitions {
			if k.sizes[k.name(topic)][p.Partition]+int64(len(p.Records)) > k.limit {
				k.refused = fmt.Sprintf("partition %d of topic %s", p.Partition, k.name(topic))
				return true
			}
		}
	}
	for _, topic := range request.Topics {
		for _, p := range topic.Partitions {
			k.sizes.add(k.name(topic), p.Partition, int64(len(p.Records)))
			k.admitted.add(k.name(topic), p.Partition, int64(len(p.Records)))
		}
	}
	return false
}

// name is what a topic is known by; k.mu is held.
func (k *keeper) name(topic kmsg.ProduceRequestTopic) string {
	if name, known := k.names[topic.TopicID]; topic.Topic == "" && known {
		return name
	}
	return cmp.Or(topic.Topic, string(topic.TopicID[:]))
}

// look deletes what need not stay and takes how large the partitions are.
func (k *keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if what := k.refusing(); what != "" {
		_, _ = fmt.Fprintln(os.Stderr, "broker: "+what)
	}
	measured, err := k.measure(ctx)
	if err != nil {
		return err
	}
	gone, err := k.unneeded(ctx, measured)
	if err != nil || len(gone) == 0 {
		return err
	}
	if _, err := k.admin.DeleteRecords(ctx, gone); err != nil {
		return fmt.Errorf("broker: trimming the log: %w", err)
	}
	_, err = k.measure(ctx)
	return err
}

// refusing gives what was refused since it was last asked, once in a minute.
func (k *keeper) refusing() (what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); (k.refused != "" || k.noRoom != "") && now.Sub(k.logged) >= time.Minute {
		what, k.logged = k.noRoom, now
		if what == "" {
			what = fmt.Sprintf("%s is full and takes no more: it holds %d MiB that a consumer group has still to read, the sink or one of your own", k.refused, k.limit>>20)
		}
	}
	k.refused, k.noRoom = "", ""
	return what
}

// measure reads the sizes of the partitions and the ids of the topics. What is
// admitted meanwhile may be counted twice, until the next look.
func (k *keeper) measure(ctx context.Context) (sizes, error) {
	k.mu.Lock()
	k.admitted = sizes{}
	k.mu.Unlock()
	dirs, err := k.admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("broker: sizes of the log: %w", err)
	}
	measured, next := sizes{}, sizes{}
	dirs.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			measured.add(p.Topic, p.Partition, p.Size)
			next.add(p.Topic, p.Partition, p.Size)
		})
	})
	names := make(map[[16]byte]string, len(measured))
	for topic := range measured {
		if info := k.cluster.TopicInfo(topic); info != nil { // the client's own list is minutes old
			names[info.TopicID] = topic
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for topic, partitions := range k.admitted {
		if id := [16]byte{}; copy(id[:], topic) == len(id) && names[id] != "" {
			topic = names[id]
		}
		for partition, bytes := range partitions {
			next.add(topic, partition, bytes)
		}
	}
	k.sizes, k.names = next, names
	return measured, nil
}

// unneeded gives up to where each partition may go: what every group has
// committed where it is large, else what of that is old.
func (k *keeper) unneeded(ctx context.Context, measured sizes) (kadm.Offsets, error) {
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
		if measured[o.Topic][o.Partition] <= k.keep {
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
	return butLast(ctx, k.admin, gone)
}

// butLast leaves each partition its last record. A broker that is started with
// none begins to count its offsets anew, and whoever knows records by them takes
// new ones for old.
func butLast(ctx context.Context, admin *kadm.Client, gone kadm.Offsets) (kadm.Offsets, error) {
	if len(gone) == 0 {
		return gone, nil
	}
	ends, err := admin.ListEndOffsets(ctx, gone.TopicsSet().Topics()...)
	if err != nil {
		return nil, fmt.Errorf("broker: ends of the log: %w", err)
	}
	out := kadm.Offsets{}
	gone.Each(func(o kadm.Offset) {
		end, is := ends.Lookup(o.Topic, o.Partition)
		if !is || end.Err != nil {
			return
		}
		if o.At = min(o.At, end.Offset-1); o.At > 0 {
			out.Add(o)
		}
	})
	return out, nil
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
