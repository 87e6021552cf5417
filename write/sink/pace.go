package sink

import (
	"sync"
	"time"
)

// pace chooses how long a partition waits for records. A sink with little traffic shows a
// span at once; a busy one makes few large parts: the busy partitions share
// BatchesPerSecond.
type pace struct {
	min, max time.Duration
	rate     float64

	mu sync.Mutex
	// last is when each partition last had a batch of busyBytes.
	last map[int32]time.Time
}

// busyBytes is the size from which a batch makes its partition busy, for busyFor.
const (
	busyBytes = 256 << 10
	busyFor   = 3 * time.Second
)

func newPace(cfg Config) *pace {
	return &pace{min: cfg.MinLinger, max: cfg.MaxLinger, rate: cfg.BatchesPerSecond, last: map[int32]time.Time{}}
}

// linger returns how long a partition waits for records now.
func (p *pace) linger(partition int32, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy := 0
	for number, at := range p.last {
		if now.Sub(at) > busyFor {
			delete(p.last, number)
			continue
		}
		busy++
	}
	if _, ok := p.last[partition]; !ok {
		return p.min
	}
	return min(max(time.Duration(float64(busy)/p.rate*float64(time.Second)), p.min), p.max)
}

// took notes a batch.
func (p *pace) took(partition int32, bytes int, now time.Time) {
	if bytes < busyBytes {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[partition] = now
}
