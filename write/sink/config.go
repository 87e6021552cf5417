package sink

import (
	"errors"
	"fmt"
	"time"

	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
)

// Config tunes the sink. The zero value does not work; start from DefaultConfig.
type Config struct {
	// BatchBytes is how much of a partition makes a batch without waiting. A record
	// counts for 512 bytes a span at least, so that short ones do not take more memory.
	BatchBytes int
	// MinLinger is how long a quiet partition gathers: most of the time from a
	// write to its visibility. MaxLinger bounds it on a busy one.
	MinLinger, MaxLinger time.Duration
	// BatchesPerSecond is what the busy partitions of this process share, so
	// that the store gets few large parts: every batch is a part in each of seven
	// tables. Fewer show a span later.
	BatchesPerSecond float64
	// InsertTimeout bounds one insert; a slower one is tried again.
	InsertTimeout time.Duration
	// DrainTimeout bounds how long a batch under way is finished when its partition is given up.
	DrainTimeout time.Duration
	// MinBackoff and MaxBackoff bound the pause before a failed insert is tried again.
	MinBackoff, MaxBackoff time.Duration
	// RecentSpans bounds the recent spans in memory, over all partitions of this
	// process. They recognise client retries and let traces be finalized without a
	// query. At 20 000 spans per second, 260 000 arrive within FinalizeAfter and
	// FinalizeEvery: with a smaller bound the finalizer reads most of them again.
	RecentSpans int
	// DedupWindow is how long a span stays recent: a retry that comes later is
	// written again and hidden by the read side.
	DedupWindow time.Duration
	// FinalizeAfter is how long a trace must receive no span before it is finalized,
	// FinalizeEvery how often such traces are searched for, FinalizeTraces how many
	// are finalized together. FinalizeTimeout bounds one such group: a group that
	// takes longer is halved, and a trace that takes longer alone gets no totals.
	FinalizeAfter, FinalizeEvery time.Duration
	FinalizeTraces               int
	FinalizeTimeout              time.Duration
	// RollupEvery is how often changed rollup buckets are computed again, and how often
	// an idle partition commits that it has finalized everything. Rollups that take
	// long are computed less often.
	RollupEvery time.Duration
	// MaxClockSkew is the largest difference between the clocks of two successive
	// owners of a partition.
	MaxClockSkew time.Duration
	// CleanUpEvery is the time within which deleted rows leave the disk.
	CleanUpEvery time.Duration
	// PurgeEvery is how often spans of deleted projects are searched for, ExpireEvery how often expired ones.
	PurgeEvery, ExpireEvery time.Duration
	// MaxBatchAge and MaxLag are the bounds of Ready: the age of the oldest batch that
	// is not yet committed, and the number of records not yet polled.
	MaxBatchAge time.Duration
	MaxLag      int64
	// Deployment is what migrations were applied with.
	Deployment schema.Deployment
}

// DefaultConfig returns the settings for a ClickHouse on this machine or near it.
func DefaultConfig() Config {
	return Config{
		BatchBytes:       16 << 20,
		MinLinger:        150 * time.Millisecond,
		MaxLinger:        time.Second,
		BatchesPerSecond: 2,
		InsertTimeout:    time.Minute,
		DrainTimeout:     10 * time.Second,
		MinBackoff:       100 * time.Millisecond,
		MaxBackoff:       10 * time.Second,
		RecentSpans:      400_000,
		DedupWindow:      15 * time.Minute,
		FinalizeAfter:    10 * time.Second,
		FinalizeEvery:    3 * time.Second,
		FinalizeTraces:   5000,
		FinalizeTimeout:  30 * time.Second,
		RollupEvery:      30 * time.Second,
		MaxClockSkew:     time.Minute,
		CleanUpEvery:     time.Hour,
		PurgeEvery:       5 * time.Second,
		ExpireEvery:      time.Hour,
		MaxBatchAge:      2 * time.Minute,
		MaxLag:           2_000_000,
	}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	positive := func(field string, ok bool) {
		if !ok {
			errs = append(errs, fmt.Errorf("sink: %s must be positive", field))
		}
	}
	positive("batch_bytes", c.BatchBytes > 0)
	positive("min_linger", c.MinLinger > 0)
	positive("batches_per_second", c.BatchesPerSecond > 0)
	positive("insert_timeout", c.InsertTimeout > 0)
	positive("drain_timeout", c.DrainTimeout > 0)
	positive("min_backoff", c.MinBackoff > 0)
	positive("recent_spans", c.RecentSpans > 0)
	positive("dedup_window", c.DedupWindow > 0)
	positive("finalize_after", c.FinalizeAfter > 0)
	positive("finalize_every", c.FinalizeEvery > 0)
	positive("finalize_traces", c.FinalizeTraces > 0)
	positive("finalize_timeout", c.FinalizeTimeout > 0)
	positive("rollup_every", c.RollupEvery > 0)
	positive("max_clock_skew", c.MaxClockSkew > 0)
	positive("clean_up_every, purge_every, expire_every", min(c.CleanUpEvery, c.PurgeEvery, c.ExpireEvery) > 0)
	positive("max_batch_age", c.MaxBatchAge > 0)
	positive("max_lag", c.MaxLag > 0)
	if c.MaxLinger < c.MinLinger {
		errs = append(errs, errors.New("sink: max_linger is below min_linger"))
	}
	if c.MaxBackoff < c.MinBackoff {
		errs = append(errs, errors.New("sink: max_backoff is below min_backoff"))
	}
	return errors.Join(errs...)
}

// store returns the settings of statements.
func (c Config) store() clickhouse.Config {
	return clickhouse.Config{Deployment: c.Deployment, InsertTimeout: c.InsertTimeout, MinBackoff: c.MinBackoff, MaxBackoff: c.MaxBackoff}
}
