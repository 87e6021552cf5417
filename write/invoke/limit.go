package invoke

import (
	"sync"
	"time"

	"colonnade/domain"
)

// limits counts the invocations that each project has under way. It never
// queues: a queue of callers costs memory that a refusal does not.
type limits struct {
	most  int
	mu    sync.Mutex
	under map[domain.ProjectID]int
}

// enter takes a place, to be given back.
func (l *limits) enter(project domain.ProjectID) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under[project] >= l.most {
		e := domain.E(domain.TooMany, "The project has %d invocations under way, as many as it may. Please try again.", l.most)
		e.RetryAfter = time.Second
		return nil, e
	}
	l.under[project]++
	return func() { l.leave(project) }, nil
}

func (l *limits) leave(project domain.ProjectID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under[project]--; l.under[project] == 0 {
		delete(l.under, project)
	}
}
