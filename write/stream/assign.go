package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assigned starts a worker for each partition that was added, from the commits
// the broker answered. An error makes the client join again after a pause, so it is
// never lost: the client itself would leave out a partition whose commit it cannot
// have, and nobody would read it until the next rebalance.
func (s *session) assigned(ctx context.Context, client *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	if err := s.refusedCommits(resp); err != nil {
		return err
	}
	member, _ := client.GroupMetadata()
	adm := kadm.NewClient(client)
	starts, err := adm.ListStartOffsets(ctx, s.cfg.Topic)
	if err != nil {
		return fmt.Errorf("stream: list start offsets: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, s.cfg.Topic)
	if err != nil {
		return fmt.Errorf("stream: list end offsets: %w", err)
	}
	for _, group := range resp.Groups {
		for _, topic := range group.Topics {
			// One topic is all we consume; newer brokers name it by id only.
			for _, commit := range topic.Partitions {
				start, ok1 := starts.Lookup(s.cfg.Topic, commit.Partition)
				end, ok2 := ends.Lookup(s.cfg.Topic, commit.Partition)
				if !ok1 || !ok2 || start.Err != nil || end.Err != nil {
					return fmt.Errorf("stream: partition %d does not tell its bounds: %w", commit.Partition, errors.Join(start.Err, end.Err))
				}
				s.end([]int32{commit.Partition}) // an assignment that was not finished
				p := s.partition(ctx, commit, start.Offset, end.Offset)
				p.member = member
				s.stuck.over(p.number)
				s.start(p) //nolint:contextcheck // a worker lives longer than this callback
			}
		}
	}
	return nil
}

// refusedCommits tells of the partitions whose commit the broker did not give.
func (s *session) refusedCommits(resp *kmsg.OffsetFetchResponse) error {
	var refused error
	for _, group := range resp.Groups {
		for _, topic := range group.Topics {
			for _, commit := range topic.Partitions {
				if err := kerr.ErrorForCode(commit.ErrorCode); err != nil {
					err = fmt.Errorf("stream: the commit of partition %d is not to be had: %w", commit.Partition, err)
					s.stuck.failed(commit.Partition, err)
					refused = errors.Join(refused, err)
				}
			}
		}
	}
	return refused
}

// partition reads a commit: where to go on and what was under way.
func (s *session) partition(ctx context.Context, commit kmsg.OffsetFetchResponseGroupTopicPartition, start, end int64) *Partition {
	p := &Partition{consumer: s, number: commit.Partition, next: commit.Offset, epoch: commit.LeaderEpoch, arrived: make(chan struct{}, 1)}
	if commit.Offset < 0 {
		p.next = start
		return p
	}
	var metadata string
	if commit.Metadata != nil {
		metadata = *commit.Metadata
	}
	var err error
	if p.intended, p.pending, err = parseIntent(metadata, commit.Offset); err != nil {
		s.log.WarnContext(ctx, "commit metadata is not readable, no intended range is repeated",
			slog.Int("partition", int(p.number)), slog.Any("error", err))
	}
	switch {
	case commit.Offset > end:
		s.lost(ctx, "committed offset is beyond the end of the partition", p.number, end, commit.Offset)
		p.pending = false // its records are gone
	case commit.Offset < start:
		s.lost(ctx, "committed offset is below the start of the partition", p.number, commit.Offset, start)
		p.next = start
		p.pending = p.pending && p.intended.Last >= start
	}
	if p.pending && p.intended.Last >= end {
		s.lost(ctx, "partition ends within the intended range", p.number, end, p.intended.Last+1)
		p.intended.Last = end - 1
		p.pending = p.intended.Last >= p.intended.First
	}
	return p
}

func (s *session) revoked(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	s.end(partitions[s.cfg.Topic])
}

// checkStart finds records that retention removed before they were read.
func (s *session) checkStart(p *Partition, logStart, first int64) {
	next := p.tail()
	if next < logStart && first >= logStart {
		s.lost(s.running, "retention deleted records before they were consumed", p.number, next, min(logStart, first))
	}
}

// lost makes a loss visible: offsets from (inclusive) to (exclusive) are gone.
func (s *session) lost(ctx context.Context, what string, partition int32, from, to int64) {
	s.metrics.losses.Inc()
	s.metrics.lost.Add(float64(max(to-from, 0)))
	s.log.LogAttrs(ctx, slog.LevelError, "records are missing from the topic, their spans are lost", slog.String("what", what),
		slog.Int("partition", int(partition)), slog.Int64("from", from), slog.Int64("to", to))
}

// fetchError logs every error that a fetch carried. The client goes on after all
// of them, at once: a partition that cannot be read is fetched again only after a
// pause. A loss counts as an error.
func (s *session) fetchError(topic string, partition int32, err error) {
	if s.running.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	if loss, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		s.lost(s.running, "broker lost records that were already consumed", partition, loss.ResetTo, loss.ConsumedTo)
		return
	}
	s.metrics.errors.Inc()
	if before, ok := s.told.again(err.Error()); ok {
		s.log.LogAttrs(s.running, slog.LevelError, "fetch failed, the client fetches again", slog.String("topic", topic),
			slog.Int("partition", int(partition)), slog.Any("error", err), slog.Int("not_logged_before", before))
	}
	switch {
	case errors.Is(err, kgo.ErrClientClosed):
		s.fail(err)
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
		s.fail(errTopicGone)
	case topic == s.cfg.Topic:
		s.unread.failed(partition, err)
		s.mu.Lock()
		w := s.workers[partition]
		s.mu.Unlock()
		if w != nil {
			w.partition.hold()
		}
	}
}

// commit commits one partition's offset and metadata, again and again until the
// broker takes it, the context ends, or this member no longer may.
func (s *session) commit(ctx context.Context, p *Partition, kind string, offset int64, metadata string) error {
	start := s.now()
	for {
		s.stuck.begin(p.number)
		err := s.commitOnce(ctx, p, offset, metadata)
		if err == nil {
			s.stuck.over(p.number)
			s.metrics.commits.WithLabelValues(kind, "ok").Inc()
			s.metrics.commitTime.Observe(s.now().Sub(start).Seconds())
			return nil
		}
		s.metrics.commits.WithLabelValues(kind, "error").Inc()
		s.stuck.failed(p.number, err)
		if thrownOut(err) && !p.ending.Load() {
			s.fail(errReplaced)
		}
		if ctx.Err() != nil || fenced(err) {
			return fmt.Errorf("stream: %s offset %d of partition %d: %w", kind, offset, p.number, err)
		}
		select {
		case <-time.After(retryPause / 5):
		case <-ctx.Done():
			return fmt.Errorf("stream: %s offset %d of partition %d: %w", kind, offset, p.number, err)
		}
	}
}

func (s *session) commitOnce(ctx context.Context, p *Partition, offset int64, metadata string) error {
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		if req.MemberID != p.member {
			return errReplaced
		}
		for t := range req.Topics {
			for i := range req.Topics[t].Partitions {
				req.Topics[t].Partitions[i].Metadata = &metadata
			}
		}
		return nil
	})
	var failure error
	s.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{
		s.cfg.Topic: {p.number: {Epoch: p.leaderEpoch(), Offset: offset}},
	}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failure = err
		if err != nil {
			return
		}
		for _, topic := range resp.Topics {
			for _, partition := range topic.Partitions {
				failure = errors.Join(failure, kerr.ErrorForCode(partition.ErrorCode))
			}
		}
	})
	return failure
}

// errReplaced is a commit for a partition that was assigned to another member:
// to this client, before a broker that had forgotten the group told it in the
// middle of joining again to begin as somebody new. The client does, and keeps
// its partitions while it joins; so the broker would take its commits, although
// the partitions may have had another owner meanwhile. All it has is void: it
// leaves and comes back, and reads anew where each partition stands.
var errReplaced = errors.New("stream: the broker took this member for a new one")

// thrownOut tells whether the broker refused a commit because it does not know
// this member in this generation, as after its restart. The client joins again by
// itself then, and is given the partitions it had; since nothing changed by its own
// account it tells nobody, and their workers would wait for ever for what they
// lost. A partition that is just being given up has been told already.
func thrownOut(err error) bool {
	for _, reason := range []error{errReplaced, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.StaleMemberEpoch} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// fenced tells whether no commit of this membership is possible any more: the
// partition is lost, or about to be.
func fenced(err error) bool {
	for _, fatal := range []error{
		kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedInstanceID, kerr.FencedMemberEpoch,
		kerr.StaleMemberEpoch, kerr.OffsetMetadataTooLarge, kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed,
		kgo.ErrClientClosed, errReplaced,
	} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}
