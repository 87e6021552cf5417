package slot

import (
	"maps"
	"time"

	"colonnade/domain"
)

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

// Limit bounds the slots of each project by what allowed returns at the time, besides what
// the pool keeps for others. The caller uses it before the first slot is taken. allowed must
// not call the pool.
func (p *Pool) Limit(allowed func(domain.ProjectID) int) { p.allowed = allowed }

// Recheck hands out slots that a limit which rose now allows.
func (p *Pool) Recheck() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant()
}

// Demand returns how many slots each project holds or waits for.
func (p *Pool) Demand() map[domain.ProjectID]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	demand := maps.Clone(p.held)
	for _, w := range p.waiting {
		demand[w.project]++
	}
	return demand
}
