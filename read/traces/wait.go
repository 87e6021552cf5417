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

// All who wait share a look at the sink's progress for lookAge, so that a hundred
// of them cost the store what one does; pause is how soon one asks whether there
// is a newer one.
const (
	lookAge = 75 * time.Millisecond
	pause   = 20 * time.Millisecond
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
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if pending, err = r.missing(ctx, pending); err != nil || len(pending) == 0 {
			return nil, err
		}
		select {
		case <-ticker.C:
		case <-deadline.Done():
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
	next, err := r.Progress(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(token, func(p domain.Position) bool { return p.Offset < next[p.Partition] }), nil
}

// look is what one look at the sink's progress saw, for all who asked before it
// ended and for those who ask within lookAge; also where it failed, or they
// would wait for the store to fail one after the other.
type look struct {
	ended time.Time
	next  map[int32]int64
	err   error
}

// Progress tells, for each partition of the stream, the offset before which
// everything is visible, or was when the last look began; a partition of which
// nothing is, is left out. The map is shared and not to be changed.
func (r *Reader) Progress(ctx context.Context) (map[int32]int64, error) {
	asked := r.now()
	select {
	case r.looking <- struct{}{}:
		defer func() { <-r.looking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if last := &r.look; last.ended.After(asked) || r.now().Sub(last.ended) < lookAge {
		return last.next, last.err
	}
	next := map[int32]int64{}
	err := r.query(ctx, "progress", compile.Progress(r.cfg.Topic), func(rows driver.Rows) error {
		var partition uint32
		var offset uint64
		err := rows.Scan(&partition, &offset)
		next[int32(partition)] = int64(min(offset, math.MaxInt64))
		return err
	})
	if ctx.Err() == nil { // a caller who leaves fails alone
		r.look = look{r.now(), next, err}
	}
	return next, err
}
