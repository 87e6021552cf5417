package traces

import (
	"context"
	"sync"
	"time"

	"colonnade/domain"
)

// memory is the budget of bytes that all answers of this process may hold at once.
// One project holds at most three quarters of it.
type memory struct {
	limit int64

	mu   sync.Mutex // guards what follows
	used int64
	held map[domain.ProjectID]int64
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, held: map[domain.ProjectID]int64{}}
}

// share is how much of the budget one project may hold.
func (m *memory) share() int64 { return m.limit - m.limit/4 }

// take adds to what a project holds.
func (m *memory) take(project domain.ProjectID, bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+bytes > m.limit || m.held[project]+bytes > m.share() {
		const retryAfter = 2 * time.Second
		return &domain.Error{Kind: domain.Unavailable, Message: "The answers that are being read fill the memory for them. Try again shortly.", RetryAfter: retryAfter}
	}
	m.used += bytes
	m.held[project] += bytes
	return nil
}

func (m *memory) give(project domain.ProjectID, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= bytes
	if m.held[project] -= bytes; m.held[project] == 0 {
		delete(m.held, project)
	}
}

// inUse returns the bytes that all answers hold.
func (m *memory) inUse() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// What a span takes in memory beside its payloads, and how many times the length of
// its payloads their parsed form takes. Measured with spans of 300 B to 30 KB: the
// estimate is above what they take.
const (
	spanBytes     = 2 << 10
	payloadFactor = 3
)

// lease is the part of the budget that one request holds until its reply is written.
// A request may read with several statements at once.
type lease struct {
	from *memory

	mu          sync.Mutex // guards what follows
	project     domain.ProjectID
	taken, used int64
}

type leaseKey struct{}

// Lease returns a context whose reads count the memory of their answers, and the
// function that gives it back once the reply is written.
func (r *Reader) Lease(ctx context.Context) (held context.Context, release func()) {
	l := &lease{from: r.memory, project: domain.PrincipalFrom(ctx).Project}
	return context.WithValue(ctx, leaseKey{}, l), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.from.give(l.project, l.taken)
		l.taken, l.used = 0, 0
	}
}

// leaseOf returns the lease of a context, nil if it has none: its reads are not
// counted.
func leaseOf(ctx context.Context) *lease {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	return l
}

// quantum is in what steps a lease grows: a lock of the budget for each span would be
// contended.
const quantum = 1 << 20

// charge counts bytes. It fails with Unavailable when the budget is used up, and with
// Rejected when the request alone would need more than its share.
func (l *lease) charge(bytes int64) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.grow(l.used + bytes); err != nil {
		return err
	}
	l.used += bytes
	return nil
}

// ahead takes bytes that later charges use.
func (l *lease) ahead(bytes int64) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grow(l.used + bytes)
}

func (l *lease) grow(to int64) error {
	if to <= l.taken {
		return nil
	}
	if to > l.from.share() {
		return tooLarge(l.from.share() / payloadFactor)
	}
	more := min((to-l.taken+quantum-1)/quantum*quantum, l.from.share()-l.taken)
	if err := l.from.take(l.project, more); err != nil {
		return err
	}
	l.taken += more
	return nil
}

// mark returns the bytes that are counted, for rewind.
func (l *lease) mark() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// rewind forgets what was counted since mark, which is no longer in use.
func (l *lease) rewind(mark int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = mark
}
