// Package redrive sends the records of the dead-letter topic to the main topic again
// (colonnade redrive).
//
// Not here: which records are dead-lettered and why (write/sink).
package redrive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"colonnade/write/stream"
)

// A transaction ends after this many records or bytes of values, because readers of the main
// topic wait for an open transaction.
const (
	maxRecords = 500
	maxBytes   = 8 << 20
	// transactionTimeout is how long the transaction of a killed redrive can delay readers.
	transactionTimeout = 10 * time.Second
)

// Options are the options of Run.
type Options struct {
	// DryRun reads and counts, and sends nothing.
	DryRun bool
	// Progress is called after every transaction; nil means not at all.
	Progress func(Result)
}

// Result is the progress of a redrive.
type Result struct {
	// Total is how many records the dead-letter topic had to be sent at the start, Done how
	// many of them were sent since, or counted in a dry run.
	Total, Done int64
	// Reasons counts the records by the reason why they were dead-lettered.
	Reasons map[string]int64
}

// Run sends the records of the dead-letter topic to the main topic again, each exactly once:
// the offsets that it read and the records that it wrote are committed in one transaction, in
// a consumer group of its own. Records that are dead-lettered while it runs are left for the
// next redrive.
func Run(ctx context.Context, cfg stream.Config, opts Options, now func() time.Time, log *slog.Logger) (Result, error) {
	log = log.With(slog.String("component", "stream"))
	base, err := stream.ClientOptions(cfg, now, log)
	if err != nil {
		return Result{}, err
	}
	r := &redrive{cfg: cfg, opts: opts, group: cfg.RedriveGroup(), left: make(map[int32]span), state: Result{Reasons: make(map[string]int64)}}
	if r.topics, err = r.measure(ctx, base, log); err != nil || r.state.Total == 0 {
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
	cfg    stream.Config
	opts   Options
	group  string
	topics stream.Topics
	// begun is the offset of each partition at the last commit.
	mu    sync.Mutex // guards begun, which a callback of the client reads
	begun map[int32]int64
	// left are the partitions of the dead-letter topic that have records to send.
	left map[int32]span
	// idle are the others, which are not read.
	idle  []int32
	state Result
}

// span is the offsets of a partition that are to be sent: next inclusive, end exclusive.
type span struct{ next, end int64 }

// measure finds the records that are to be sent.
func (r *redrive) measure(ctx context.Context, base []kgo.Opt, log *slog.Logger) (stream.Topics, error) {
	client, err := kgo.NewClient(base...)
	if err != nil {
		return stream.Topics{}, fmt.Errorf("stream: make a client: %w", err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	topics, err := stream.EnsureTopics(ctx, client, r.cfg, log)
	if err != nil {
		return stream.Topics{}, err
	}
	dead := r.cfg.DeadTopic()
	starts, err := adm.ListStartOffsets(ctx, dead)
	if err != nil {
		return stream.Topics{}, fmt.Errorf("stream: list start offsets: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, dead)
	if err != nil {
		return stream.Topics{}, fmt.Errorf("stream: list end offsets: %w", err)
	}
	commits, err := stream.Committed(ctx, client, r.group, dead, slices.Collect(maps.Keys(ends[dead])))
	if err != nil {
		return stream.Topics{}, err
	}
	for number, end := range ends[dead] {
		start := starts[dead][number]
		if err := errors.Join(end.Err, start.Err); err != nil {
			return stream.Topics{}, fmt.Errorf("stream: bounds of partition %d: %w", number, err)
		}
		next := max(start.Offset, commits[number])
		if next < end.Offset {
			r.left[number] = span{next, end.Offset}
			r.state.Total += end.Offset - next
		} else {
			r.idle = append(r.idle, number)
		}
	}
	return topics, nil
}

// count reads the records that are to be sent and sends none.
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

// send sends the records, one transaction after the other.
func (r *redrive) send(ctx context.Context, base []kgo.Opt) error {
	codec, err := stream.Compression(r.cfg.Compression)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.begin()
	session, err := kgo.NewGroupTransactSession(append(base,
		kgo.TransactionalID(r.group),
		kgo.TransactionTimeout(transactionTimeout),
		kgo.ConsumerGroup(r.group),
		kgo.ConsumeTopics(r.cfg.DeadTopic()),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.OnOffsetsFetched(func(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
			if r.superseded(resp) {
				cancel(errSuperseded)
			}
			return nil
		}),
		kgo.SessionTimeout(r.cfg.SessionTimeout),
		kgo.HeartbeatInterval(r.cfg.SessionTimeout/5),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytesFn(r.topics.BatchBytes(r.cfg)),
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
	// If the transaction is not committed, its records do not count.
	done, reasons, left := r.state.Done, maps.Clone(r.state.Reasons), maps.Clone(r.left)
	undo := func() { r.state.Done, r.state.Reasons, r.left = done, reasons, left }
	promise := kgo.AbortingFirstErrPromise(client)
	var failure error
	for n, bytes := 0, 0; n < maxRecords && bytes < maxBytes && len(r.left) > 0; n++ {
		// One record a poll, so that none beyond the end is ever committed as read.
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
		session.Produce(ctx, stream.Revive(k, r.cfg.Topic), promise.Promise())
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
		// A rebalance revoked the partitions; the client reads them again from the last commit.
		undo()
		client.ResumeFetchPartitions(map[string][]int32{r.cfg.DeadTopic(): slices.Collect(maps.Keys(r.left))})
	}
	return nil
}

// errSuperseded ends a redrive that would wait for records that another one has sent.
var errSuperseded = errors.New("stream: another redrive has sent records of the dead-letter topic meanwhile; run it again")

// begin records the offsets at which a transaction begins.
func (r *redrive) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = make(map[int32]int64, len(r.left))
	for number, s := range r.left {
		r.begun[number] = s.next
	}
}

// superseded reports whether a commit is beyond the offsets of this redrive.
func (r *redrive) superseded(resp *kmsg.OffsetFetchResponse) bool {
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

// poll returns the record of a fetch, nil for none, or its error.
func (r *redrive) poll(ctx context.Context, fetches kgo.Fetches) (*kgo.Record, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := fetches.Err(); err != nil {
		return nil, fmt.Errorf("stream: read the dead-letter topic: %w", err)
	}
	var record *kgo.Record
	fetches.EachRecord(func(k *kgo.Record) { record = k })
	return record, nil
}

// mark counts a record and reports whether it is the last of its partition.
func (r *redrive) mark(k *kgo.Record) (finished bool) {
	r.state.Done++
	reason := "unknown"
	for _, h := range k.Headers {
		if h.Key == stream.HeaderDeadReason {
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
