//go:build embedded

package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// trimEvery is how often the log is looked at, trimTimeout how long that may take.
const (
	trimEvery   = 10 * time.Second
	trimTimeout = 10 * time.Second
)

// trimConsumed deletes what every consumer group has committed from the
// partitions that grew beyond keep bytes. What was not read yet stays, up to
// the broker's own bound: a sink that was down for an hour finds its records.
func trimConsumed(ctx context.Context, admin *kadm.Client, keep int64) error {
	ctx, cancel := context.WithTimeout(ctx, trimTimeout)
	defer cancel()
	dirs, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return fmt.Errorf("broker: sizes of the log: %w", err)
	}
	large := kadm.TopicsSet{}
	dirs.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			if p.Size > keep {
				large.Add(p.Topic, p.Partition)
			}
		})
	})
	if len(large) == 0 {
		return nil
	}
	consumed, err := consumedBy(ctx, admin)
	if err != nil {
		return err
	}
	consumed.KeepFunc(func(o kadm.Offset) bool { return large.Lookup(o.Topic, o.Partition) })
	if len(consumed) == 0 {
		return nil
	}
	if _, err := admin.DeleteRecords(ctx, consumed); err != nil {
		return fmt.Errorf("broker: trimming the log: %w", err)
	}
	return nil
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
