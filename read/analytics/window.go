package analytics

import (
	"time"

	"colonnade/domain"
)

// The bounds of a question's time. Source: contract §3.6, §9.
const (
	maxBuckets   = 1024
	defaultDays  = 30
	minuteMicros = int64(time.Minute / time.Microsecond)
)

// window is a question's time, cut into buckets.
type window struct {
	oldest, newest time.Time
	// low and high are the same in microseconds, width that of a bucket.
	low, high, width int64
}

func windowOf(q Question, now time.Time) (w window, err error) {
	w.newest, w.oldest = q.Newest.UTC(), q.Oldest.UTC()
	if q.Newest.IsZero() {
		y, m, d := now.UTC().Date()
		w.newest = time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
	}
	if q.Oldest.IsZero() {
		w.oldest = w.newest.AddDate(0, 0, -defaultDays)
	}
	w.newest, w.oldest = w.newest.Truncate(time.Microsecond), w.oldest.Truncate(time.Microsecond)
	w.low, w.high = w.oldest.UnixMicro(), w.newest.UnixMicro()
	if w.low >= w.high {
		return w, domain.E(domain.Rejected, "windowing.oldest must be before windowing.newest.")
	}
	w.width = widthOf(w.high-w.low, q.Interval)
	return w, nil
}

// widthOf is the width of buckets: all of the range where no interval was
// asked for, and the next of a list where there would be too many.
func widthOf(span int64, interval int) int64 {
	if interval <= 0 {
		return ceil(span, minuteMicros) * minuteMicros
	}
	width := int64(interval)
	if width <= span/minuteMicros && ceil(span, width*minuteMicros) > maxBuckets {
		for _, width = range []int64{1, 5, 15, 30, 60, 3 * 60, 6 * 60, 12 * 60, 24 * 60, 3 * 24 * 60, 7 * 24 * 60, 14 * 24 * 60, 30 * 24 * 60} {
			if ceil(span, width*minuteMicros) <= maxBuckets {
				break
			}
		}
	}
	return min(width, maxMinutes) * minuteMicros
}

// maxMinutes is more than any range holds.
const maxMinutes = 1 << 40 / 1000

func ceil(n, by int64) int64 { return (n + by - 1) / by }

func (w window) minutes() int { return int(w.width / minuteMicros) }

// start is when bucket n begins.
func (w window) start(n int64) time.Time { return time.UnixMicro(w.low + n*w.width).UTC() }

// count is how many buckets there are.
func (w window) count() int64 { return ceil(w.high-w.low, w.width) }
