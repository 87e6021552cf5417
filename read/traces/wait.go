package traces

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/statements"
)

// All who wait share a look at the sink's progress for lookAge, so that a hundred
// of them cost the store what one does; pause is how soon one asks whether there
// is a newer one. Where the sink itself tells (Hear), the store is asked only by
// who has waited for hearAge, or half of what he may wait: a sink that lost its
// partition may not know yet.
const (
	lookAge = 75 * time.Millisecond
	pause   = 20 * time.Millisecond
	hearAge = 500 * time.Millisecond
)

// Hear lets those who wait ask a sink of this process before they ask the store:
// progress tells, for each partition that the sink works on, the offset before
// which everything is visible. Call it before the first read.
func (r *Reader) Hear(progress func() map[int32]int64) { r.heard = progress }

// Wait returns when every position of the token is visible, or when its bound
// has passed; pending are the positions that are not visible yet.
func (r *Reader) Wait(ctx context.Context, token domain.Token) (pending domain.Token, err error) {
	if len(token) == 0 {
		return nil, nil
	}
	deadline, cancel := context.WithTimeout(ctx, r.cfg.WaitTimeout)
	defer cancel()
	pending = slices.Clone(token)
	asked, patience := r.now(), min(hearAge, r.cfg.WaitTimeout/2)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		var told bool
		pending, told = r.told(pending)
		if len(pending) > 0 && (!told || r.now().Sub(asked) >= patience) {
			asked = r.now()
			if pending, err = r.missing(ctx, pending); err != nil {
				return nil, err
			}
		}
		if len(pending) == 0 {
			return nil, nil
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

// told leaves of a token what the sink of this process has not passed; all
// tells that it works on every partition that is left.
func (r *Reader) told(token domain.Token) (left domain.Token, all bool) {
	if r.heard == nil {
		return token, false
	}
	next := r.heard()
	left = behind(token, next)
	return left, !slices.ContainsFunc(left, func(p domain.Position) bool { _, ok := next[p.Partition]; return !ok })
}

// missing leaves of a token what no sink has passed.
func (r *Reader) missing(ctx context.Context, token domain.Token) (domain.Token, error) {
	next, err := r.Progress(ctx)
	if err != nil {
		return nil, err
	}
	return behind(token, next), nil
}

// behind leaves of a token, which it changes, what is at or after next.
func behind(token domain.Token, next map[int32]int64) domain.Token {
	return slices.DeleteFunc(token, func(p domain.Position) bool { return p.Offset < next[p.Partition] })
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
	err := r.db.Query(ctx, "progress", statements.SinkProgress(r.cfg.Topic), func(rows driver.Rows) error {
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
