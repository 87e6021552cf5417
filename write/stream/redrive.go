package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A transaction of Redrive ends after so many records or value bytes: readers of
// the main topic wait for an open transaction.
const (
	redriveRecords = 500
	redriveBytes   = 8 << 20
	// redriveTimeout is how long a transaction of a killed redrive can hold readers up.
	redriveTimeout = 10 * time.Second
)

// RedriveOptions say how to redrive.
type RedriveOptions struct {
	// DryRun reads and counts, and sends nothing.
	DryRun bool
	// Progress is called after every transaction; nil means nobody watches.
	Progress func(Redriven)
}

// Redriven is how far a redrive is.
type Redriven struct {
	// Total is how many records were waiting when it began, Done how many of them were sent (or counted) since.
	Total, Done int64
	// Reasons counts the records by why they had died.
	Reasons map[string]int64
}

// Redrive sends the records of the dead topic to the main topic again, each
// exactly once: what it read and what it wrote is committed in one transaction,
// in a consumer group of its own. Records that die again while it runs are left
// for the next redrive.
func Redrive(ctx context.Context, cfg Config, opts RedriveOptions, now func() time.Time, log *slog.Logger) (Redriven, error) {
	log = log.With(slog.String("component", "stream"))
	base, err := options(cfg, now, log)
	if err != nil {
		return Redriven{}, err
	}
	r := &redrive{cfg: cfg, opts: opts, group: cfg.redriveGroup(), left: make(map[int32]span), state: Redriven{Reasons: make(map[string]int64)}}
	if r.limits, err = r.measure(ctx, base, log); err != nil || r.state.Total == 0 {
		return r.state, err
	}
	if opts.DryRun {
		err = r.count(ctx, base)
	} else {
		err = r.send(ctx, base)
	}
	return r.state, err
}

type redrive struct {
	cfg    Config
	opts   RedriveOptions
	group  string
	limits limits
	// begun is where each partition stands by the last commit, for the client's callback.
	mu    sync.Mutex
	begun map[int32]int64
	// left are the partitions of the dead topic that still hold records to send.
	left map[int32]span
	// idle are the others, which are not read.
	idle  []int32
	state Redriven
}

// span is what is left of a partition: next inclusive, end exclusive.
type span struct{ next, end int64 }

// measure finds what is waiting.
func (r *redrive) measure(ctx context.Context, base []kgo.Opt, log *slog.Logger) (limits, error) {
	client, err := kgo.NewClient(base...)
	if err != nil {
		return limits{}, fmt.Errorf("stream: make a client: %w", err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	topics, err := ensureTopics(ctx, client, r.cfg, log)
	if err != nil {
		return limits{}, err
	}
	dead := r.cfg.DeadTopic()
	starts, err := adm.ListStartOffsets(ctx, dead)
	if err != nil {
		return limits{}, fmt.Errorf("stream: list start offsets: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, dead)
	if err != nil {
		return limits{}, fmt.Errorf("stream: list end offsets: %w", err)
	}
	commits, err := committed(ctx, client, r.group, dead, slices.Collect(maps.Keys(ends[dead])))
	if err != nil {
		return limits{}, err
	}
	for number, end := range ends[dead] {
		start := starts[dead][number]
		if err := errors.Join(end.Err, start.Err); err != nil {
			return limits{}, fmt.Errorf("stream: bounds of partition %d: %w", number, err)
		}
		next := max(start.Offset, commits[number])
		if next < end.Offset {
			r.left[number] = span{next, end.Offset}
			r.state.Total += end.Offset - next
		} else {
			r.idle = append(r.idle, number)
		}
	}
	return topics.limits, nil
}

// count reads what is waiting and leaves it there.
func (r *redrive) count(ctx context.Context, base []kgo.Opt) error {
	from := make(map[int32]kgo.Offset, len(r.left))
	for number, s := range r.left {
		from[number] = kgo.NewOffset().At(s.next)
	}
	client, err := kgo.NewClient(append(base, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.cfg.DeadTopic(): from}))...)
	if err != nil {
		return fmt.Errorf("stream: make a client: %w", err)
	}
	defer client.Close()
	for len(r.left) > 0 {
		k, err := r.poll(ctx, client.PollRecords(ctx, 1))
		if err != nil {
			return err
		}
		if k != nil && r.mark(k) {
			client.PauseFetchPartitions(map[string][]int32{k.Topic: {k.Partition}})
		}
	}
	r.report()
	return nil
}

// send moves what is waiting, one transaction after the other.
func (r *redrive) send(ctx context.Context, base []kgo.Opt) error {
	codec, err := compression(r.cfg.Compression)
	if err != nil {
		return err
	}
	ctx, overtaken := context.WithCancelCause(ctx)
	defer overtaken(nil)
	r.begin()
	session, err := kgo.NewGroupTransactSession(append(base,
		kgo.TransactionalID(r.group),
		kgo.TransactionTimeout(redriveTimeout),
		kgo.ConsumerGroup(r.group),
		kgo.ConsumeTopics(r.cfg.DeadTopic()),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.OnOffsetsFetched(func(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
			if r.overtaken(resp) {
				overtaken(errOvertaken)
			}
			return nil
		}),
		kgo.SessionTimeout(r.cfg.SessionTimeout),
		kgo.HeartbeatInterval(r.cfg.SessionTimeout/5),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytesFn(r.limits.batchBytes(r.cfg)),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	)...)
	if err != nil {
		return fmt.Errorf("stream: make a transactional client: %w", err)
	}
	defer session.Close()
	client := session.Client()
	client.PauseFetchPartitions(map[string][]int32{r.cfg.DeadTopic(): r.idle})
	for len(r.left) > 0 {
		if err := r.transaction(ctx, session, client); err != nil {
			return err
		}
		r.report()
	}
	return nil
}

func (r *redrive) transaction(ctx context.Context, session *kgo.GroupTransactSession, client *kgo.Client) error {
	if err := session.Begin(); err != nil {
		return fmt.Errorf("stream: begin a transaction: %w", err)
	}
	// Only a committed transaction counts.
	done, reasons, left := r.state.Done, maps.Clone(r.state.Reasons), maps.Clone(r.left)
	undo := func() { r.state.Done, r.state.Reasons, r.left = done, reasons, left }
	promise := kgo.AbortingFirstErrPromise(client)
	var failure error
	for n, bytes := 0, 0; n < redriveRecords && bytes < redriveBytes && len(r.left) > 0; n++ {
		// One at a time, so that nothing beyond the end is ever marked as read.
		k, err := r.poll(ctx, session.PollRecords(ctx, 1))
		if err != nil {
			failure = err
			break
		}
		if k == nil {
			continue
		}
		if r.mark(k) {
			client.PauseFetchPartitions(map[string][]int32{k.Topic: {k.Partition}})
		}
		session.Produce(ctx, revive(k, r.cfg.Topic), promise.Promise())
		bytes += len(k.Value)
	}
	failure = errors.Join(failure, promise.Err())
	committed, err := session.End(context.WithoutCancel(ctx), kgo.TransactionEndTry(failure == nil))
	if err = errors.Join(failure, err); err != nil {
		undo()
		return fmt.Errorf("stream: redrive: %w", err)
	}
	if committed {
		r.begin()
	} else {
		// A rebalance took the partitions; the client reads them again from the last commit.
		undo()
		client.ResumeFetchPartitions(map[string][]int32{r.cfg.DeadTopic(): slices.Collect(maps.Keys(r.left))})
	}
	return nil
}

// keepEvery is how often the progress of redrives is committed again. A broker
// forgets that of a group without members after its offsets.retention.minutes, a
// week unless it is set.
const keepEvery = 6 * time.Hour

// keepRedriven keeps the broker from forgetting how far the dead topic was
// redriven while sinks are at work: the next redrive would begin at its start and
// send again, over what came since, all that it sent before.
func (c *Consumer) keepRedriven(ctx context.Context) {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		if err := c.recommit(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "refresh of the redrive group's commit failed, the broker may expire it", slog.Any("error", err))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// recommit commits for the group of redrives what it has committed. While one is at
// work the broker refuses that, since it comes from no member: then there is no need.
func (c *Consumer) recommit(ctx context.Context) error {
	dead := c.cfg.DeadTopic()
	topic, err := describe(ctx, c.admin, dead)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	} else if err != nil {
		return err
	}
	partitions := make([]int32, len(topic.Partitions))
	for i := range topic.Partitions {
		partitions[i] = topic.Partitions[i].Partition
	}
	commits, err := committed(ctx, c.admin, c.cfg.redriveGroup(), dead, partitions)
	if err != nil || len(commits) == 0 {
		return err
	}
	var offsets kadm.Offsets
	for number, offset := range commits {
		offsets.AddOffset(dead, number, offset, -1)
	}
	answer, err := kadm.NewClient(c.admin).CommitOffsets(ctx, c.cfg.redriveGroup(), offsets)
	if err != nil {
		return fmt.Errorf("stream: commit for group %s: %w", c.cfg.redriveGroup(), err)
	}
	if err := answer.Error(); err != nil && !errors.Is(err, kerr.UnknownMemberID) {
		return fmt.Errorf("stream: commit for group %s: %w", c.cfg.redriveGroup(), err)
	}
	return nil
}

// errOvertaken would otherwise be a wait for records that are gone.
var errOvertaken = errors.New("stream: another redrive has sent records of the dead topic meanwhile; run it again")

// begin notes where a transaction begins.
func (r *redrive) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = make(map[int32]int64, len(r.left))
	for number, s := range r.left {
		r.begun[number] = s.next
	}
}

// overtaken tells whether a commit is beyond what this redrive knows of.
func (r *redrive) overtaken(resp *kmsg.OffsetFetchResponse) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if begun, ok := r.begun[p.Partition]; ok && p.Offset > begun {
					return true
				}
			}
		}
	}
	return false
}

// poll takes the one record of a poll, or the error that it carried.
func (r *redrive) poll(ctx context.Context, fetches kgo.Fetches) (*kgo.Record, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := fetches.Err(); err != nil {
		return nil, fmt.Errorf("stream: read the dead topic: %w", err)
	}
	var record *kgo.Record
	fetches.EachRecord(func(k *kgo.Record) { record = k })
	return record, nil
}

// mark counts a record and tells whether its partition is finished.
func (r *redrive) mark(k *kgo.Record) (finished bool) {
	r.state.Done++
	reason := "unknown"
	for _, h := range k.Headers {
		if h.Key == headerDeadReason {
			reason = string(h.Value)
		}
	}
	r.state.Reasons[reason]++
	s := r.left[k.Partition]
	s.next = k.Offset + 1
	r.left[k.Partition] = s
	if s.next < s.end {
		return false
	}
	delete(r.left, k.Partition)
	return true
}

func (r *redrive) report() {
	if r.opts.Progress != nil {
		r.opts.Progress(r.state)
	}
}

// revive is the record as it was before it died.
func revive(k *kgo.Record, topic string) *kgo.Record {
	alive := &kgo.Record{Topic: topic, Key: k.Key, Value: k.Value}
	for _, h := range k.Headers {
		switch h.Key {
		case headerDeadReason, headerDeadPartition, headerDeadOffset, headerRedriven:
		default:
			alive.Headers = append(alive.Headers, h)
		}
	}
	position := strconv.AppendInt(nil, int64(k.Partition), 10)
	position = append(position, ':')
	position = strconv.AppendInt(position, k.Offset, 10)
	alive.Headers = append(alive.Headers, kgo.RecordHeader{Key: headerRedriven, Value: position})
	return alive
}
