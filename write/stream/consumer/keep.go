package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"colonnade/write/stream"
)

// keepEvery is how often the progress of redrives is committed again. A broker deletes the
// commits of a group without members after offsets.retention.minutes, by default a week.
const keepEvery = 6 * time.Hour

// keepRedriven commits the progress of redrives again, so that the broker does not delete it
// while sinks run: the next redrive would begin at the start of the dead-letter topic and
// replace newer spans by those that it had sent before.
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

// recommit commits the offsets of the redrive group again. While a redrive runs the broker
// refuses that, because this client is no member; then it is not needed.
func (c *Consumer) recommit(ctx context.Context) error {
	dead := c.cfg.DeadTopic()
	topic, err := stream.DescribeTopic(ctx, c.admin, dead)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	} else if err != nil {
		return err
	}
	partitions := make([]int32, len(topic.Partitions))
	for i := range topic.Partitions {
		partitions[i] = topic.Partitions[i].Partition
	}
	commits, err := stream.Committed(ctx, c.admin, c.cfg.RedriveGroup(), dead, partitions)
	if err != nil || len(commits) == 0 {
		return err
	}
	var offsets kadm.Offsets
	for number, offset := range commits {
		offsets.AddOffset(dead, number, offset, -1)
	}
	answer, err := kadm.NewClient(c.admin).CommitOffsets(ctx, c.cfg.RedriveGroup(), offsets)
	if err != nil {
		return fmt.Errorf("stream: commit for group %s: %w", c.cfg.RedriveGroup(), err)
	}
	if err := answer.Error(); err != nil && !errors.Is(err, kerr.UnknownMemberID) {
		return fmt.Errorf("stream: commit for group %s: %w", c.cfg.RedriveGroup(), err)
	}
	return nil
}
