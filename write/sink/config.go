package sink

import (
	"errors"
	"fmt"
	"time"

	"colonnade/migrations/schema"
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
	// RecentSpans bounds what the partitions of this process remember together, to
	// drop retries and to settle traces without asking the store, RecentFor for how
	// long. At 20 000 spans a second fewer than those of SettleAfter and
	// SettleEvery, 260 000, make settling read most of them again.
	RecentSpans int
	RecentFor   time.Duration
	// KnownKeys bounds the attribute paths remembered as already recorded.
	KnownKeys int
	// SettleAfter is how long a trace must be quiet, SettleEvery how often
	// quiet ones are looked for, SettleTraces how many are settled together, and
	// SettleTimeout bounds that: what takes longer is tried in smaller groups, and
	// traces that are too much by themselves are left without totals.
	SettleAfter, SettleEvery time.Duration
	SettleTraces             int
	SettleTimeout            time.Duration
	// RollupEvery is how often the minutes that changed are computed anew, less often
	// where that takes long, and how often an idle partition says that it is settled;
	// ClockSlack is how far the clocks of two owners of a partition may lie apart.
	RollupEvery, ClockSlack time.Duration
	// CleanUpEvery is within what time deleted rows leave the disk.
	CleanUpEvery time.Duration
	// EraseEvery is how soon the spans of a deleted project are removed.
	EraseEvery time.Duration
	// MaxAge and MaxLag bound what Ready accepts: the age of the oldest record
	// in work, and the records not yet taken.
	MaxAge time.Duration
	MaxLag int64
	// Deployment is what migrations were applied with.
	Deployment schema.Deployment
}

// DefaultConfig is for a store on this machine or near it.
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
		RecentFor:        15 * time.Minute,
		KnownKeys:        100_000,
		SettleAfter:      10 * time.Second,
		SettleEvery:      3 * time.Second,
		SettleTraces:     5000,
		SettleTimeout:    30 * time.Second,
		RollupEvery:      30 * time.Second,
		ClockSlack:       time.Minute,
		CleanUpEvery:     time.Hour,
		EraseEvery:       5 * time.Second,
		MaxAge:           2 * time.Minute,
		MaxLag:           2_000_000,
	}
}

// Validate tells every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	positive := func(field string, ok bool) {
		if !ok {
			errs = append(errs, fmt.Errorf("sink: %s must be positive", field))
		}
	}
	positive("batch bytes", c.BatchBytes > 0)
	positive("min linger", c.MinLinger > 0)
	positive("batches per second", c.BatchesPerSecond > 0)
	positive("insert timeout", c.InsertTimeout > 0)
	positive("drain timeout", c.DrainTimeout > 0)
	positive("min backoff", c.MinBackoff > 0)
	positive("recent spans", c.RecentSpans > 0)
	positive("recent for", c.RecentFor > 0)
	positive("known keys", c.KnownKeys > 0)
	positive("settle after", c.SettleAfter > 0)
	positive("settle every", c.SettleEvery > 0)
	positive("settle traces", c.SettleTraces > 0)
	positive("settle timeout", c.SettleTimeout > 0)
	positive("rollup every", c.RollupEvery > 0)
	positive("clock slack", c.ClockSlack > 0)
	positive("clean up every", c.CleanUpEvery > 0)
	positive("erase every", c.EraseEvery > 0)
	positive("max age", c.MaxAge > 0)
	positive("max lag", c.MaxLag > 0)
	if c.MaxLinger < c.MinLinger {
		errs = append(errs, errors.New("sink: max linger is below min linger"))
	}
	if c.MaxBackoff < c.MinBackoff {
		errs = append(errs, errors.New("sink: max backoff is below min backoff"))
	}
	return errors.Join(errs...)
}
