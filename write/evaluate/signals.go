package evaluate

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"
)

// signals connects the commands on runs with the runner of this process.
type signals struct {
	// wake has room for one signal, which is enough for any number of queued runs.
	wake chan struct{}

	mu    sync.Mutex // guards under
	under map[uuid.UUID]context.CancelCauseFunc
}

// ErrStopped is the cause of the context of a run that was stopped.
var ErrStopped = errors.New("evaluate: the run was stopped")

// Wake lets the runner of this process query for runs now.
func (s *signals) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a signal is pending already
	}
}

// Woken returns the channel that receives the signals of Wake.
func (s *signals) Woken() <-chan struct{} { return s.wake }

// Track registers a run that this process executes, so that Stop cancels it with
// ErrStopped. The caller calls the returned function when the execution ends.
func (s *signals) Track(run uuid.UUID, cancel context.CancelCauseFunc) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under[run] = cancel
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.under, run)
	}
}

// interrupt cancels a run that this process executes.
func (s *signals) interrupt(run uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.under[run]; cancel != nil {
		cancel(ErrStopped)
	}
}
