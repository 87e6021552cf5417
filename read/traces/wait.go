package traces

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/compile"
)

// The pauses between two looks at the sink's progress.
const (
	firstPause = 10 * time.Millisecond
	maxPause   = 100 * time.Millisecond
)

// Wait returns when every position of the token is visible, or when its bound
// has passed; pending are the positions that are not visible yet.
func (r *Reader) Wait(ctx context.Context, token domain.Token) (pending domain.Token, err error) {
	if len(token) == 0 {
		return nil, nil
	}
	deadline, cancel := context.WithTimeout(ctx, r.cfg.WaitTimeout)
	defer cancel()
	pending = slices.Clone(token)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if pending, err = r.missing(ctx, pending); err != nil || len(pending) == 0 {
			return nil, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-deadline.Done():
			timer.Stop()
			if err := ctx.Err(); errors.Is(err, context.Canceled) {
				return pending, err
			}
			r.metrics.pending.Inc()
			return pending, nil
		}
	}
}

// missing leaves of a token what the sink has not passed.
func (r *Reader) missing(ctx context.Context, token domain.Token) (domain.Token, error) {
	partitions := make([]int32, len(token))
	for i, p := range token {
		partitions[i] = p.Partition
	}
	next, err := r.Progress(ctx, partitions)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(token, func(p domain.Position) bool { return p.Offset < next[p.Partition] }), nil
}

// Progress tells, for partitions of the stream, the offset before which
// everything is visible; a partition of which nothing is, is left out.
func (r *Reader) Progress(ctx context.Context, partitions []int32) (map[int32]int64, error) {
	next := make(map[int32]int64, len(partitions))
	err := r.query(ctx, "progress", compile.Progress(r.cfg.Topic, partitions), func(rows driver.Rows) error {
		var partition uint32
		var offset uint64
		err := rows.Scan(&partition, &offset)
		next[int32(partition)] = int64(min(offset, math.MaxInt64))
		return err
	})
	return next, err
}
