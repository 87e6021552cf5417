package stream

import (
	"sync"
	"time"

	"colonnade/domain"
)

const (
	// stuckAfter is for how long a partition may fail before it shows.
	stuckAfter = 5 * time.Second
	// stuckFor is how long a failure counts that is not followed by another: the
	// partition may be in other hands, where it goes on.
	stuckFor = 15 * time.Second
)

// stuck are the partitions that do not get on. All of a consumer's sessions share
// one: a member that joins again and again has not recovered.
type stuck struct {
	now func() time.Time
	// what a partition has not done, for the error.
	what string

	mu    sync.Mutex // guards since
	since map[int32]*failing
}

// failing is an attempt under way, a commit or a fetch of a partition, or those that failed.
type failing struct {
	first, last time.Time
	underway    bool
	err         error // of the last that failed, nil before
}

func newStuck(now func() time.Time, what string) *stuck {
	return &stuck{now: now, what: what, since: map[int32]*failing{}}
}

// begin notes that an attempt is made, failed that it did not work, over that it did.
func (s *stuck) begin(number int32) {
	s.note(number, func(f *failing) { f.underway = true })
}

func (s *stuck) failed(number int32, err error) {
	s.note(number, func(f *failing) { f.underway, f.err = false, err })
}

func (s *stuck) over(number int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, number)
}

func (s *stuck) note(number int32, change func(*failing)) {
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

// counts tells whether what failed still says something.
func (f *failing) counts(now time.Time) bool { return f.underway || now.Sub(f.last) < stuckFor }

func (s *stuck) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for number, f := range s.since {
		until := f.last
		if f.underway {
			until = now
		}
		if until.Sub(f.first) > stuckAfter && f.counts(now) {
			return domain.Wrap(domain.Unavailable, f.err, "Partition %d has not %s for %s.", number, s.what, now.Sub(f.first).Round(time.Second))
		}
	}
	return nil
}
