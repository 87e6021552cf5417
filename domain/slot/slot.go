// Package slot bounds how much work runs at once and shares the bound fairly
// between projects. A pool has a fixed number of slots. A free slot goes to the
// waiting project that holds the fewest. A quarter of the slots, at least one, is
// kept for projects that hold none and for short work, so that one project never
// holds them all.
//
// The read side takes a slot for each statement, the write side for each
// invocation, each child of the sandbox and each evaluation run.
package slot

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"colonnade/domain"
)

// Config bounds the work of a pool.
type Config struct {
	// Count is how many slots there are. One project holds at most three quarters
	// of them, all but one where there are fewer than four.
	Count int
	// WaitTimeout bounds how long a request waits for a slot. Beyond it the request
	// is answered with 429 and Retry-After.
	WaitTimeout time.Duration
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Count < 1 {
		errs = append(errs, errors.New("count: must be at least 1"))
	}
	if c.WaitTimeout <= 0 {
		errs = append(errs, errors.New("wait_timeout: must be positive"))
	}
	return errors.Join(errs...)
}

// Class is how long work is expected to take.
type Class int

// The classes of work.
const (
	// Long work takes a slot that is not kept, unless its project holds none.
	Long Class = iota + 1
	// Short work may take half of the slots that are kept, or the only one.
	Short
)

// Pool is a bounded number of slots. It is safe for concurrent use.
type Pool struct {
	cfg  Config
	what string
	now  func() time.Time
	kept int
	// observe receives how long each caller waited for its slot.
	observe func(time.Duration)
	// allowed returns how many slots a project may hold at most; nil means no such bound.
	allowed func(domain.ProjectID) int

	mu      sync.Mutex // guards the rest
	free    int
	held    map[domain.ProjectID]int
	waiting []*waiter // in the order of their arrival
	stats   Stats
}

// waiter is one caller of Acquire that waits.
type waiter struct {
	project domain.ProjectID
	class   Class
	granted chan struct{} // closed when the waiter holds a slot
}

// New creates a pool. what names the work in the error of a full pool, in the
// plural: "queries".
func New(cfg Config, what string, now func() time.Time) *Pool {
	return &Pool{cfg: cfg, what: what, now: now, kept: kept(cfg.Count), observe: func(time.Duration) {}, free: cfg.Count, held: map[domain.ProjectID]int{}}
}

// kept returns how many of the slots are kept for projects that hold none and
// for short work.
func kept(count int) int {
	if count == 1 {
		return 0
	}
	return max(1, count/4)
}

// Acquire waits for a slot and returns the function that gives it back. It fails
// with TooMany after the wait timeout, and with the cause of ctx when that ends
// first.
func (p *Pool) Acquire(ctx context.Context, project domain.ProjectID, class Class) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	started := p.now()
	w := &waiter{project: project, class: class, granted: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.grant()
	p.mu.Unlock()
	select {
	case <-w.granted:
		return p.acquired(w, started), nil
	default:
	}
	timer := time.NewTimer(p.cfg.WaitTimeout)
	defer timer.Stop()
	select {
	case <-w.granted:
		return p.acquired(w, started), nil
	case <-timer.C:
		err = p.full(project)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.waiting, w)
	if at < 0 { // granted in the meantime
		p.give(w.project)
	} else {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	}
	if domain.KindOf(err) == domain.TooMany {
		p.stats.Refused++
	}
	return nil, err
}

func (p *Pool) acquired(w *waiter, started time.Time) (release func()) {
	p.observe(p.now().Sub(started))
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.give(w.project)
	})
}

// TryAcquire returns a slot of long work if one is free for the project, without
// waiting.
func (p *Pool) TryAcquire(project domain.ProjectID) (release func(), ok bool) {
	p.mu.Lock()
	w := &waiter{project: project, class: Long}
	ok = p.allows(w)
	if ok {
		p.take(project)
	}
	p.mu.Unlock()
	if !ok {
		return nil, false
	}
	return p.acquired(w, p.now()), true
}

// Held returns how many slots each project holds, and reports whether a project
// that holds some may take another one.
func (p *Pool) Held() (held map[domain.ProjectID]int, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.held), p.free > p.kept
}

// full is the answer to a caller whose wait timed out.
func (p *Pool) full(project domain.ProjectID) error {
	const retryAfter = time.Second
	if p.allowed != nil {
		if most := p.allowed(project); most < p.cfg.Count {
			e := domain.E(domain.TooMany, "At most %d %s of this project run at a time here, and none of them ended within %s. Send fewer requests at once, or try again in a second.", most, p.what, p.cfg.WaitTimeout)
			e.RetryAfter = retryAfter
			return e
		}
	}
	e := domain.E(domain.TooMany, "At most %d %s run at a time, and none of these slots became free for the project within %s. Send fewer requests at once, or try again shortly.", p.cfg.Count, p.what, p.cfg.WaitTimeout)
	e.RetryAfter = retryAfter
	return e
}

// grant hands free slots to those who wait, as long as one of them may take one.
func (p *Pool) grant() {
	for p.free > 0 {
		var next *waiter
		for _, w := range p.waiting {
			if p.allows(w) && (next == nil || cmp.Less(p.held[w.project], p.held[next.project])) {
				next = w
			}
		}
		if next == nil {
			return
		}
		p.take(next.project)
		at := slices.Index(p.waiting, next)
		p.waiting = slices.Delete(p.waiting, at, at+1)
		close(next.granted)
	}
}

// allows reports whether a slot is free for this work.
func (p *Pool) allows(w *waiter) bool {
	switch {
	case p.allowed != nil && p.held[w.project] >= p.allowed(w.project):
		return false
	case p.held[w.project] == 0:
		return p.free > 0
	case w.class == Short:
		return p.free > p.kept/2
	default:
		return p.free > p.kept
	}
}

func (p *Pool) take(project domain.ProjectID) {
	p.free--
	p.held[project]++
}

// give takes a slot back and hands it on.
func (p *Pool) give(project domain.ProjectID) {
	p.free++
	if p.held[project]--; p.held[project] == 0 {
		delete(p.held, project)
	}
	p.grant()
}
