package consumer

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

// assigned starts a worker for each added partition at the offset that the broker has for it.
// An error makes the client join again after a pause. Without that, the client would leave
// out a partition whose commit it cannot fetch, and no member would read it until the next
// rebalance.
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
			// It is the only topic of this group; newer brokers name it by its id alone.
			for _, commit := range topic.Partitions {
				start, ok1 := starts.Lookup(s.cfg.Topic, commit.Partition)
				end, ok2 := ends.Lookup(s.cfg.Topic, commit.Partition)
				if !ok1 || !ok2 || start.Err != nil || end.Err != nil {
					return fmt.Errorf("stream: partition %d has no bounds: %w", commit.Partition, errors.Join(start.Err, end.Err))
				}
				s.end([]int32{commit.Partition}) // a former assignment that was not completed
				p := s.partition(ctx, commit, start.Offset, end.Offset)
				p.member = member
				s.commits.succeeded(p.number)
				s.start(p) //nolint:contextcheck // a worker lives longer than this callback
			}
		}
	}
	return nil
}

// refusedCommits returns an error that names the partitions whose commit the broker did not return.
func (s *session) refusedCommits(resp *kmsg.OffsetFetchResponse) error {
	var refused error
	for _, group := range resp.Groups {
		for _, topic := range group.Topics {
			for _, commit := range topic.Partitions {
				if err := kerr.ErrorForCode(commit.ErrorCode); err != nil {
					err = fmt.Errorf("stream: fetching the commit of partition %d failed: %w", commit.Partition, err)
					s.commits.failed(commit.Partition, err)
					refused = errors.Join(refused, err)
				}
			}
		}
	}
	return refused
}

// partition returns a partition with the offset at which it continues and the range that was
// being made durable.
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

// revoked stops the workers of partitions that the group takes from this member.
func (s *session) revoked(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	s.end(partitions[s.cfg.Topic])
}

// checkStart reports records that retention deleted before they were read.
func (s *session) checkStart(p *Partition, logStart, first int64) {
	next := p.tail()
	if next < logStart && first >= logStart {
		s.lost(s.running, "retention deleted records before they were consumed", p.number, next, min(logStart, first))
	}
}

// lost counts and logs the loss of the offsets from (inclusive) to (exclusive).
func (s *session) lost(ctx context.Context, what string, partition int32, from, to int64) {
	s.metrics.losses.Inc()
	s.metrics.lost.Add(float64(max(to-from, 0)))
	s.log.LogAttrs(ctx, slog.LevelError, "records are missing from the topic, their spans are lost", slog.String("what", what),
		slog.Int("partition", int(partition)), slog.Int64("from", from), slog.Int64("to", to))
}

// fetchError logs an error of a fetch and pauses the partition, which the client would fetch
// again at once.
func (s *session) fetchError(topic string, partition int32, err error) {
	if s.running.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	if loss, ok := errors.AsType[*kgo.ErrDataLoss](err); ok {
		s.lost(s.running, "broker lost records that were already consumed", partition, loss.ResetTo, loss.ConsumedTo)
		return
	}
	s.metrics.errors.Inc()
	if before, ok := s.repeats.Allow(err.Error()); ok {
		s.log.LogAttrs(s.running, slog.LevelError, "fetch failed, the client fetches again", slog.String("topic", topic),
			slog.Int("partition", int(partition)), slog.Any("error", err), slog.Int("not_logged_before", before))
	}
	switch {
	case errors.Is(err, kgo.ErrClientClosed):
		s.fail(err)
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition):
		s.fail(errTopicGone)
	case topic == s.cfg.Topic:
		s.fetches.failed(partition, err)
		s.mu.Lock()
		w := s.workers[partition]
		s.mu.Unlock()
		if w != nil {
			w.partition.hold()
		}
	}
}

// commit commits an offset and metadata of a partition. It tries until the broker accepts
// them, the context ends, or this member can no longer commit for the partition.
func (s *session) commit(ctx context.Context, p *Partition, kind string, offset int64, metadata string) error {
	start := s.now()
	for {
		s.commits.begin(p.number)
		err := s.commitOnce(ctx, p, offset, metadata)
		if err == nil {
			s.commits.succeeded(p.number)
			s.metrics.commits.WithLabelValues(kind, "ok").Inc()
			s.metrics.commitTime.Observe(s.now().Sub(start).Seconds())
			return nil
		}
		s.metrics.commits.WithLabelValues(kind, "error").Inc()
		s.commits.failed(p.number, err)
		if removed(err) && !p.ending.Load() {
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

// errReplaced reports a commit for a partition that was assigned to this client under another
// member id. A broker that has lost the group makes the client join as a new member, and the
// client keeps its partitions meanwhile. The broker would accept its commits, although the
// partitions may have had another owner. So the session ends, and the next one reads the
// offset of each partition again.
var errReplaced = errors.New("stream: the broker replaced this member by a new one")

// removed reports whether the broker refused a commit because it does not know this member in
// this generation, for example after a restart of the broker. The client then joins again by
// itself and is assigned the same partitions, so that it calls none of our functions: the
// workers would wait forever for the records that they lost. So the session must end.
func removed(err error) bool {
	for _, reason := range []error{errReplaced, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.StaleMemberEpoch} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// fenced reports whether no commit of this session can succeed any more, because the partition
// is lost or about to be.
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
