package access

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"colonnade/domain"
)

// limiter is a token bucket for each key. Nil buckets and a zero rate mean "no limit".
type limiter struct {
	perSecond float64
	burst     float64

	mu      sync.Mutex // guards buckets
	buckets map[string]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// maxBuckets bounds the memory; only keys that exist get a bucket.
const maxBuckets = 100_000

func newLimiter(perMinute, burst int) *limiter {
	if burst == 0 {
		burst = perMinute
	}
	return &limiter{perSecond: float64(perMinute) / 60, burst: float64(burst), buckets: map[string]bucket{}}
}

func (l *limiter) filled(key string, now time.Time) bucket {
	b, ok := l.buckets[key]
	if !ok {
		return bucket{tokens: l.burst, at: now}
	}
	if elapsed := now.Sub(b.at).Seconds(); elapsed > 0 {
		b.tokens = min(l.burst, b.tokens+elapsed*l.perSecond)
		b.at = now
	}
	return b
}

// take spends one request of the key and returns zero, or how long to wait for the next.
func (l *limiter) take(key string, now time.Time) time.Duration {
	if l.perSecond == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(key, now)
	var wait time.Duration
	if b.tokens >= 1 {
		b.tokens--
	} else {
		wait = time.Duration(math.Ceil((1-b.tokens)/l.perSecond*1e3)) * time.Millisecond
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
	l.buckets[key] = b
	return wait
}

func (l *limiter) headers(key string, now time.Time) http.Header {
	if l.perSecond == 0 {
		return nil
	}
	l.mu.Lock()
	left := int(l.filled(key, now).tokens)
	l.mu.Unlock()
	h := http.Header{}
	h.Set("X-RateLimit-Limit", strconv.Itoa(int(l.burst)))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	return h
}

func tooMany(wait time.Duration) error {
	seconds := time.Duration(math.Ceil(wait.Seconds())) * time.Second
	e := domain.E(domain.TooMany, "Rate limit exceeded. Please retry after %d seconds.", int(seconds.Seconds()))
	e.RetryAfter = seconds
	return e
}
