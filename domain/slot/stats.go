package slot

import "time"

// Stats describes the use of a pool.
type Stats struct {
	// InUse is the number of slots that are held, Waiting the number of callers that
	// wait for one.
	InUse, Waiting int
	// Refused counts the callers whose wait timed out, since the pool was created.
	Refused uint64
}

// Stats returns the use of the pool at this moment.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.InUse, s.Waiting = p.cfg.Count-p.free, len(p.waiting)
	return s
}

// Observe calls observe with the time that each later caller waited until it got a
// slot. The caller uses it before the first slot is taken.
func (p *Pool) Observe(observe func(waited time.Duration)) { p.observe = observe }
