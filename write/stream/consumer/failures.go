package consumer

import (
	"sync"
	"time"

	"colonnade/domain"
)

const (
	// reportAfter is how long a partition may fail before Ready reports it.
	reportAfter = 5 * time.Second
	// failureAge is how long a failure counts that no other follows: another member may own
	// the partition by then.
	failureAge = 15 * time.Second
)

// failures are the partitions on which one kind of request fails. The sessions of a consumer
// share it, because a member that joins again has not recovered by that.
type failures struct {
	now func() time.Time
	// what completes the error: "Partition 3 has not <what> for 7s".
	what string

	mu    sync.Mutex // guards since
	since map[int32]*failing
}

// failing is a sequence of failed attempts, and the attempt in flight.
type failing struct {
	first, last time.Time
	inFlight    bool
	err         error // of the last that failed, nil before
}

func newFailures(now func() time.Time, what string) *failures {
	return &failures{now: now, what: what, since: map[int32]*failing{}}
}

// begin records that an attempt is made.
func (s *failures) begin(number int32) {
	s.note(number, func(f *failing) { f.inFlight = true })
}

// failed records that an attempt failed.
func (s *failures) failed(number int32, err error) {
	s.note(number, func(f *failing) { f.inFlight, f.err = false, err })
}

// succeeded forgets the failures of a partition.
func (s *failures) succeeded(number int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, number)
}

func (s *failures) note(number int32, change func(*failing)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	f := s.since[number]
	if f == nil || !f.counts(now) {
		f = &failing{first: now}
		s.since[number] = f
	}
	f.last = now
	change(f)
}

// counts reports whether the failures are recent, or an attempt is in flight.
func (f *failing) counts(now time.Time) bool { return f.inFlight || now.Sub(f.last) < failureAge }

// ready returns an error of kind Unavailable that names a partition that has failed for long.
func (s *failures) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for number, f := range s.since {
		until := f.last
		if f.inFlight {
			until = now
		}
		if until.Sub(f.first) > reportAfter && f.counts(now) {
			return domain.Wrap(domain.Unavailable, f.err, "Partition %d has not %s for %s.", number, s.what, now.Sub(f.first).Round(time.Second))
		}
	}
	return nil
}
