package ingest

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
)

// Budget bounds the memory of concurrent requests. It never waits: a caller that exceeds the
// budget gets Unavailable with a delay, because a queue would cost the memory that is short.
type Budget struct {
	most       int64
	retryAfter time.Duration
	used       atomic.Int64
	gauge      prometheus.Gauge
}

// Acquire reserves n bytes, or returns Unavailable.
func (b *Budget) Acquire(n int64) error {
	if b.used.Add(n) > b.most {
		b.used.Add(-n)
		e := domain.E(domain.Unavailable, "Too much is being received at the moment; send the same request again.")
		e.RetryAfter = b.retryAfter
		return e
	}
	b.gauge.Add(float64(n))
	return nil
}

// Release returns n bytes to the budget.
func (b *Budget) Release(n int64) {
	b.used.Add(-n)
	b.gauge.Sub(float64(n))
}
