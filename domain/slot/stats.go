package slot

import "time"

// Stats describes the use of a pool. The counters start at the creation of the pool.
type Stats struct {
	// Count is the number of slots, InUse the number of those that are held.
	Count, InUse int
	// Waiting is the number of callers that wait for a slot.
	Waiting int
	// Refused counts the callers whose wait timed out.
	Refused uint64
	// Waited is how long those waited that got a slot.
	Waited Histogram
}

// Histogram counts durations.
type Histogram struct {
	Count uint64
	// Seconds is the sum of the durations.
	Seconds float64
	// Buckets holds how many durations were at most each of Bounds.
	Buckets [len(bounds)]uint64
}

// bounds are the upper bounds of the buckets in seconds.
var bounds = [...]float64{0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10} //nolint:gochecknoglobals // an array cannot be a constant

// Bounds returns the upper bounds of the buckets of a Histogram, in seconds.
func Bounds() []float64 { return bounds[:] }

func (h *Histogram) add(d time.Duration) {
	h.Count++
	h.Seconds += d.Seconds()
	for i, bound := range bounds {
		if d.Seconds() <= bound {
			h.Buckets[i]++
		}
	}
}

// Stats returns the use of the pool at this moment.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Count, s.InUse, s.Waiting = p.cfg.Count, p.cfg.Count-p.free, len(p.waiting)
	return s
}
