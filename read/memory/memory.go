// Package memory bounds the memory of answers: all reads of a process take bytes from
// one budget, in a lease for each request, until the reply is written. read/traces
// Charges what it reads; read/api opens and releases the leases.
package memory

import (
	"context"
	"sync"
	"time"

	"colonnade/domain"
)

// Budget is the bound of bytes that all answers of this process may hold at once.
// One project holds at most three quarters of it.
type Budget struct {
	limit int64

	mu   sync.Mutex // guards what follows
	used int64
	held map[domain.ProjectID]int64
}

// NewBudget creates a budget of bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, held: map[domain.ProjectID]int64{}}
}

// share is how much of the budget one project may hold.
func (m *Budget) share() int64 { return m.limit - m.limit/4 }

// take adds to what a project holds.
func (m *Budget) take(project domain.ProjectID, bytes int64) error {
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

func (m *Budget) give(project domain.ProjectID, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= bytes
	if m.held[project] -= bytes; m.held[project] == 0 {
		delete(m.held, project)
	}
}

// InUse returns the bytes that all answers hold.
func (m *Budget) InUse() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// What a span takes in memory beside its payloads, and how many times the length of
// its payloads their parsed form takes. Measured with spans of 300 B to 30 KB: the
// estimate is above what they take.
const (
	SpanBytes     = 2 << 10
	PayloadFactor = 3
)

// Lease is the part of the budget that one request holds until its reply is written.
// A request may read with several statements at once.
type Lease struct {
	from *Budget

	mu          sync.Mutex // guards what follows
	project     domain.ProjectID
	taken, used int64
}

type leaseKey struct{}

// Open returns a context whose reads count the memory of their answers, and the
// function that gives it back once the reply is written.
func (m *Budget) Open(ctx context.Context) (held context.Context, release func()) {
	l := &Lease{from: m, project: domain.PrincipalFrom(ctx).Project}
	return context.WithValue(ctx, leaseKey{}, l), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.from.give(l.project, l.taken)
		l.taken, l.used = 0, 0
	}
}

// LeaseOf returns the lease of a context, nil if it has none: its reads are not
// counted.
func LeaseOf(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}

// quantum is in what steps a lease grows: a lock of the budget for each span would be
// contended.
const quantum = 1 << 20

// Charge counts bytes. It fails with Unavailable when the budget is used up, and with
// Rejected when the request alone would need more than its share.
func (l *Lease) Charge(bytes int64) error {
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

// Reserve takes bytes that later charges use.
func (l *Lease) Reserve(bytes int64) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grow(l.used + bytes)
}

func (l *Lease) grow(to int64) error {
	if to <= l.taken {
		return nil
	}
	if to > l.from.share() {
		return TooLarge(l.from.share() / PayloadFactor)
	}
	more := min((to-l.taken+quantum-1)/quantum*quantum, l.from.share()-l.taken)
	if err := l.from.take(l.project, more); err != nil {
		return err
	}
	l.taken += more
	return nil
}

// Mark returns the bytes that are counted, for Rewind.
func (l *Lease) Mark() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// Rewind forgets what was counted since Mark, which is no longer in use.
func (l *Lease) Rewind(mark int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = mark
}

// TooLarge returns the error of an answer that holds more than maxBytes and cannot be
// split.
func TooLarge(maxBytes int64) error {
	return domain.E(domain.Rejected, "The answer would hold more than %d MiB. Ask for fewer traces or spans, or page through the spans with a filter on trace_id.", maxBytes>>20)
}
