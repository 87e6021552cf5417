// Package consumer reads the topic of spans as a member of a consumer group, in ranges that a
// restart reproduces.
//
// A worker names the range that it is about to make durable in the metadata of its commit
// (Partition.Intend), makes it durable, and then moves the offset (Partition.Commit). After a
// crash the next owner of the partition finds the range in Partition.Intended and repeats
// exactly it. Source: design §3.
//
// Here: Consumer, a member of the group with one Partition for each assigned partition; and
// Follower, which reads new records without a group. Not here: records (write/stream) and
// what is done with them (write/sink, read/tail).
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/domain"
	"colonnade/write/stream"
)

// errWorkEnded reports a worker that returned while its partition was still assigned.
var errWorkEnded = errors.New("stream: the worker ended before its partition was revoked")

// retryPause is the pause before an unreachable broker is asked again.
const retryPause = time.Second

// Consumer is a member of the consumer group.
type Consumer struct {
	cfg     stream.Config
	log     *slog.Logger
	now     func() time.Time
	metrics metrics
	admin   *kgo.Client
	// commits are the partitions whose commits fail, fetches those whose fetches do.
	commits, fetches *failures
	// joined is when the group accepted this member, in Unix nanoseconds; 0 while it is no member.
	joined atomic.Int64
	// owned is the number of partitions that have a worker.
	owned atomic.Int32
}

// New returns a consumer, which joins the group in Run.
func New(cfg stream.Config, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Consumer, error) {
	log = log.With(slog.String("component", "stream"))
	opts, err := stream.ClientOptions(cfg, now, log)
	if err != nil {
		return nil, err
	}
	admin, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("stream: make a client: %w", err)
	}
	return &Consumer{
		cfg: cfg, log: log, now: now, metrics: newMetrics(reg), admin: admin,
		commits: newFailures(now, "committed an offset"), fetches: newFailures(now, "been readable"),
	}, nil
}

// Run joins the group and runs work once for each assigned partition, each in its own
// goroutine, until ctx ends or a worker fails. The worker's context ends when the partition
// is revoked or ctx ends. The partition is released only after the worker has returned: until
// then it may still Intend and Commit with a context of its own, to finish the batch in
// flight, unless the broker has removed this member from the group. Run returns the first
// worker's error, or nil when ctx ended.
func (c *Consumer) Run(ctx context.Context, work func(ctx context.Context, p *Partition) error) error {
	var wait sync.WaitGroup
	defer wait.Wait()
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	wait.Go(func() { c.keepRedriven(keeping) })
	var before kmsg.MetadataResponseTopic
	for {
		topic, ok := c.waitForTopics(ctx)
		if !ok {
			return nil
		}
		if before.Topic != nil && before.TopicID != topic.TopicID {
			c.metrics.losses.Inc()
			c.log.ErrorContext(ctx, "topic was deleted and created again, records not yet consumed are lost", slog.String("topic", c.cfg.Topic))
		}
		before = topic
		switch err := c.join(ctx, topic.TopicID, work); {
		case errors.Is(err, errReplaced):
			c.log.WarnContext(ctx, "broker does not know this member, it joins the group again")
			select { // a broker that does so repeatedly must not be flooded with requests
			case <-time.After(retryPause / 5):
			case <-ctx.Done():
				return nil
			}
		case !errors.Is(err, errTopicGone):
			return err
		}
	}
}

// errTopicGone ends a session, because the client would go on asking for the deleted topic's id.
var errTopicGone = errors.New("stream: the broker does not know the topic")

// join runs one session in the group. It returns nil when ctx ends, a worker's error,
// errTopicGone or errReplaced.
func (c *Consumer) join(ctx context.Context, topic [16]byte, work func(ctx context.Context, p *Partition) error) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &session{
		Consumer: c, topic: topic, work: work, running: running, fail: stop,
		workers: make(map[int32]*worker), repeats: stream.NewRepeats(c.now),
	}
	if err := s.open(); err != nil {
		return err
	}
	defer c.joined.Store(0)
	for running.Err() == nil {
		fetches := s.client.PollRecords(running, -1)
		s.dispatch(fetches)
		if fetches.NumRecords() == 0 { // an error or nothing: do not poll in a busy loop
			select {
			case <-time.After(retryPause / 100):
			case <-running.Done():
			}
		}
	}
	// Workers finish while this member still owns their partitions.
	s.end(s.all())
	s.client.CloseAllowingRebalance()
	s.end(s.all()) // an assignment may have come while the others ended
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(running)
}

// waitForTopics creates the topics where they are missing and waits until they exist; ok is
// false if ctx ends first.
func (c *Consumer) waitForTopics(ctx context.Context) (topic kmsg.MetadataResponseTopic, ok bool) {
	for {
		_, err := stream.EnsureTopics(ctx, c.admin, c.cfg, c.log)
		if err == nil {
			if topic, err = stream.DescribeTopic(ctx, c.admin, c.cfg.Topic); err == nil {
				return topic, true
			}
		}
		if ctx.Err() != nil {
			return topic, false
		}
		c.metrics.errors.Inc()
		c.log.WarnContext(ctx, "preparation of the topics failed, no record is consumed until it succeeds", slog.Any("error", err))
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// Lag returns how many offsets the group has not committed, for each partition. A partition
// without a commit counts from its start, and so does one whose commit is beyond its end,
// because the topic was created again since that commit.
func (c *Consumer) Lag(ctx context.Context) (map[int32]int64, error) {
	adm := kadm.NewClient(c.admin)
	ends, err := adm.ListEndOffsets(ctx, c.cfg.Topic)
	if err != nil {
		return nil, fmt.Errorf("stream: list end offsets: %w", err)
	}
	starts, err := adm.ListStartOffsets(ctx, c.cfg.Topic)
	if err != nil {
		return nil, fmt.Errorf("stream: list start offsets: %w", err)
	}
	commits, err := stream.Committed(ctx, c.admin, c.cfg.Group, c.cfg.Topic, slices.Collect(maps.Keys(ends[c.cfg.Topic])))
	if err != nil {
		return nil, err
	}
	lag := make(map[int32]int64, len(ends[c.cfg.Topic]))
	for number, end := range ends[c.cfg.Topic] {
		if end.Err != nil {
			return nil, fmt.Errorf("stream: end offset of partition %d: %w", number, end.Err)
		}
		var at int64
		if start, ok := starts.Lookup(c.cfg.Topic, number); ok {
			at = start.Offset
		}
		if commit := commits[number]; commit <= end.Offset {
			at = max(at, commit)
		}
		lag[number] = max(end.Offset-at, 0)
	}
	return lag, nil
}

// Ready returns an error of kind Unavailable while this member has no partitions, or while
// the commits or fetches of a partition have failed for some seconds. It sends no request.
func (c *Consumer) Ready() error {
	if err := errors.Join(c.commits.ready(), c.fetches.ready()); err != nil {
		return err
	}
	joined := c.joined.Load()
	// A member without partitions may be one too many, or wait until the session of a former owner ends.
	if joined == 0 || c.owned.Load() == 0 && c.now().Sub(time.Unix(0, joined)) < c.cfg.SessionTimeout {
		return domain.E(domain.Unavailable, "The sink waits for its partitions.")
	}
	return nil
}

// Topic returns the name of the topic that it reads.
func (c *Consumer) Topic() string { return c.cfg.Topic }

// Close disconnects; call it after Run has returned.
func (c *Consumer) Close() error {
	c.admin.Close()
	return nil
}

// session is one membership of the group, from joining to leaving.
type session struct {
	*Consumer
	client *kgo.Client
	// topic is the broker's id of the topic as it was when the session began; zero where it has none.
	topic   [16]byte
	work    func(ctx context.Context, p *Partition) error
	running context.Context //nolint:containedctx // the context of Run, from which workers' contexts descend
	fail    context.CancelCauseFunc

	mu      sync.Mutex
	workers map[int32]*worker

	// repeats are the errors of fetches that were logged lately.
	repeats *stream.Repeats
}

// worker is one partition and the goroutine that works on it.
type worker struct {
	partition *Partition
	cancel    context.CancelFunc
	done      chan struct{}
}

func (s *session) open() error {
	opts, err := stream.ClientOptions(s.cfg, s.now, s.log)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock() // start waits for it: no worker runs before client is set
	s.client, err = kgo.NewClient(append(opts,
		kgo.ConsumerGroup(s.cfg.Group),
		kgo.ConsumeTopics(s.cfg.Topic),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), // the other partitions are processed while one moves
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(s.cfg.SessionTimeout),
		kgo.HeartbeatInterval(s.cfg.SessionTimeout/5),
		kgo.RebalanceTimeout(time.Minute), // a worker may need that long to finish its batch
		// Redrive writes in transactions; records of an aborted one must not be read.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxPartitionBytes(4<<20),
		kgo.FetchMaxBytes(32<<20),
		kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		// Where the broker lost records, resume a minute earlier and never at the end, so that none is skipped.
		kgo.ConsumeResetOffset(kgo.RewindOffset(time.Minute)),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { s.joined.CompareAndSwap(0, s.now().UnixNano()) }),
		kgo.OnOffsetsFetched(s.assigned),
		kgo.OnPartitionsRevoked(s.revoked),
		kgo.OnPartitionsLost(func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			s.joined.Store(0)
			s.revoked(ctx, client, partitions)
		}),
	)...)
	if err != nil {
		return fmt.Errorf("stream: make a consuming client: %w", err)
	}
	return nil
}

// dispatch adds fetched records to the queues of the partitions.
func (s *session) dispatch(fetches kgo.Fetches) {
	at := s.now()
	fetches.EachError(s.fetchError)
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		if len(f.Records) == 0 {
			return
		}
		s.mu.Lock()
		w := s.workers[f.Partition]
		s.mu.Unlock()
		if w == nil {
			return // the partition was revoked; its next owner reads them
		}
		s.checkStart(w.partition, f.LogStartOffset, f.Records[0].Offset)
		w.partition.push(f.Records, at)
		s.fetches.succeeded(f.Partition)
		s.metrics.records.Add(float64(len(f.Records)))
		for _, r := range f.Records {
			s.metrics.bytes.Add(float64(len(r.Value)))
		}
	})
}

// start runs the worker of a partition.
func (s *session) start(p *Partition) {
	ctx, cancel := context.WithCancel(s.running)
	w := &worker{partition: p, cancel: cancel, done: make(chan struct{})}
	s.mu.Lock()
	s.workers[p.number] = w
	s.mu.Unlock()
	s.metrics.assigned.Inc()
	s.owned.Add(1)
	go func() {
		defer close(w.done)
		err := s.work(ctx, p)
		switch {
		case ctx.Err() == nil && err == nil:
			s.fail(errWorkEnded)
		case ctx.Err() == nil:
			s.fail(err)
		case err != nil && !errors.Is(err, context.Canceled):
			s.log.WarnContext(ctx, "worker of a revoked partition failed, the next owner repeats its batch", slog.Int("partition", int(p.number)), slog.Any("error", err))
		}
	}()
}

// end stops workers and waits for them.
func (s *session) end(numbers []int32) {
	var ending []*worker
	s.mu.Lock()
	for _, number := range numbers {
		if w := s.workers[number]; w != nil {
			w.partition.ending.Store(true)
			w.cancel()
			ending = append(ending, w)
		}
	}
	s.mu.Unlock()
	for _, w := range ending {
		<-w.done
		w.partition.drop()
		s.mu.Lock()
		delete(s.workers, w.partition.number)
		s.mu.Unlock()
		s.metrics.assigned.Dec()
		s.owned.Add(-1)
	}
}

func (s *session) all() []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := make([]int32, 0, len(s.workers))
	for number := range s.workers {
		numbers = append(numbers, number)
	}
	return numbers
}

func (s *session) pause(number int32) {
	s.client.PauseFetchPartitions(map[string][]int32{s.cfg.Topic: {number}})
}

func (s *session) resume(number int32) {
	s.client.ResumeFetchPartitions(map[string][]int32{s.cfg.Topic: {number}})
}
