// Package limit bounds what each project uses of the service: spans and reads by the second,
// statements of SQL and invocations by how many run at once. Here: the bounds, the tokens of
// this process, and the share of each bound that it may use while other processes serve the
// same project. Not here: agreeing with the other processes (write/lease) and the limits of
// one key (read/access).
package limit

import (
	"errors"
	"math"
	"sync"
	"time"

	"colonnade/domain"
)

// Resource is what a limit bounds.
type Resource int

// The resources.
const (
	Spans Resource = iota
	Reads
	SQLStatements
	Invocations
	// Resources is how many there are.
	Resources
)

// rates is how many resources are bounded by the second; they come first.
const rates = 2

// String returns the name of the resource in settings and metrics.
func (r Resource) String() string {
	return [Resources]string{"spans_per_second", "reads_per_second", "sql_statements", "invocations"}[r]
}

// Config holds the limits of each project, over all processes. Zero means no limit.
type Config struct {
	// SpansPerSecond bounds the spans that a project sends. Two seconds' worth may come at once, and one request
	// may exceed that; the next ones then wait longer.
	SpansPerSecond int
	// ReadsPerSecond bounds the requests that read spans, entities and evaluations. Four seconds' worth may come at once.
	ReadsPerSecond int
	// SQLStatements bounds the statements of SQL that run at once.
	SQLStatements int
	// Invocations bounds the invocations that run at once. Others wait for invoke.slots.wait_timeout.
	Invocations int
}

// DefaultConfig bounds a project that uses far more than its part of a small installation.
func DefaultConfig() Config {
	return Config{SpansPerSecond: 20_000, ReadsPerSecond: 50, SQLStatements: 4, Invocations: 16}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	if min(c.SpansPerSecond, c.ReadsPerSecond, c.SQLStatements, c.Invocations) < 0 {
		return errors.New("spans_per_second, reads_per_second, sql_statements, invocations: must not be negative")
	}
	return nil
}

// Of returns the limit of a resource; zero means none.
func (c Config) Of(r Resource) float64 {
	return float64([Resources]int{c.SpansPerSecond, c.ReadsPerSecond, c.SQLStatements, c.Invocations}[r])
}

// burst returns for how many seconds the unused tokens of a rate are kept.
func burst(r Resource) float64 {
	if r == Spans {
		return 2 // clients send batches, and each is of many spans
	}
	return 4 // a page of the console makes about ten reads at once, and users open several
}

// Amounts holds a number for each resource.
type Amounts [Resources]float64

// Projects counts what the projects use in this process. It is safe for concurrent use.
type Projects struct {
	cfg Config
	now func() time.Time

	mu       sync.Mutex // guards the rest
	projects map[domain.ProjectID]*project
	counts   [Resources]func() map[domain.ProjectID]int
	refused  [Resources]uint64
}

// project is the use of one project.
type project struct {
	tokens [rates]float64
	at     time.Time
	// asked counts what was asked for since the last lease, refused requests too.
	asked [rates]float64
	// demand is what was asked for by the second, share what this process may use.
	demand, share Amounts
	active        time.Time
}

// New creates a Projects in which this process uses the whole of every limit.
func New(cfg Config, now func() time.Time) *Projects {
	return &Projects{cfg: cfg, now: now, projects: map[domain.ProjectID]*project{}}
}

// Count sets where the number of a project's statements or invocations is known, with those
// that wait.
func (p *Projects) Count(r Resource, counts func() map[domain.ProjectID]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[r] = counts
}

func (p *Projects) of(id domain.ProjectID, now time.Time) *project {
	e, ok := p.projects[id]
	if !ok {
		e = &project{at: now}
		for r := range Resources {
			e.share[r] = p.cfg.Of(r)
		}
		for r := range Resource(rates) {
			e.tokens[r] = e.share[r] * burst(r)
		}
		p.projects[id] = e
	}
	e.active = now
	return e
}

// fill adds the tokens of the time that has passed.
func (e *project) fill(now time.Time) {
	elapsed := now.Sub(e.at).Seconds()
	if elapsed <= 0 {
		return
	}
	for r := range Resource(rates) {
		e.tokens[r] = min(e.share[r]*burst(r), e.tokens[r]+elapsed*e.share[r])
	}
	e.at = now
}

// Take uses n of a rate, or returns TooMany with the time until some is free. A request that
// is larger than what is left passes, and those after it wait until it is paid for: no
// request is too large for a rate.
func (p *Projects) Take(id domain.ProjectID, r Resource, n int) error {
	if p.cfg.Of(r) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	e := p.of(id, now)
	e.fill(now)
	e.asked[r] += float64(n)
	if e.tokens[r] > 0 {
		e.tokens[r] -= float64(n)
		return nil
	}
	p.refused[r]++
	wait := time.Second
	if e.share[r] > 0 {
		wait = max(wait, time.Duration(math.Ceil(-e.tokens[r]/e.share[r]))*time.Second)
	}
	return tooMany(r, p.cfg.Of(r), wait)
}

func tooMany(r Resource, limit float64, wait time.Duration) error {
	what := "read %d times a second"
	if r == Spans {
		what = "send %d spans a second"
	}
	e := domain.E(domain.TooMany, "This project may "+what+". Send the same request again in %d seconds.", int(limit), int(wait.Seconds()))
	e.RetryAfter = wait
	return e
}

// Allowed returns how many statements or invocations of a project may run at once in this
// process. A process in which some wait runs at least one, however many other processes
// there are.
func (p *Projects) Allowed(id domain.ProjectID, r Resource) int {
	limit := p.cfg.Of(r)
	if limit == 0 {
		return math.MaxInt
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.of(id, p.now())
	return max(1, int(e.share[r]))
}

// Refused returns how many requests were refused for a rate.
func (p *Projects) Refused(r Resource) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[r]
}

// idleAfter is when a project that nobody uses is forgotten: its tokens are full by then.
const idleAfter = 10 * time.Second

// Demands returns what each active project asked for in the time since the last call, by the
// second, and how many of its statements and invocations run or wait.
func (p *Projects) Demands(elapsed time.Duration) map[domain.ProjectID]Amounts {
	p.mu.Lock()
	counts := p.counts
	p.mu.Unlock()
	var held [Resources]map[domain.ProjectID]int // asked without the lock: a pool asks Allowed under its own
	for r, count := range counts {
		if count != nil {
			held[r] = count()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for _, projects := range held {
		for id := range projects {
			p.of(id, now)
		}
	}
	demands := make(map[domain.ProjectID]Amounts, len(p.projects))
	for id, e := range p.projects {
		if now.Sub(e.active) > idleAfter {
			delete(p.projects, id)
			continue
		}
		for r := range Resource(rates) {
			const decay = 0.5 // a gap of a second in a steady use gives nothing away
			e.demand[r] = max(e.asked[r]/elapsed.Seconds(), e.demand[r]*decay)
			e.asked[r] = 0
		}
		for r := Resource(rates); r < Resources; r++ {
			e.demand[r] = float64(held[r][id])
		}
		demands[id] = e.demand
	}
	return demands
}

// Share divides the limits of a project between this process and the others, by what they
// ask for. others is what the others ask for, processes how many there are with this one.
func (p *Projects) Share(id domain.ProjectID, others Amounts, processes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.projects[id]
	if !ok {
		return
	}
	e.fill(p.now())
	for r := range Resources {
		e.share[r] = allot(p.cfg.Of(r), e.demand[r], others[r], processes)
	}
}

// allot returns the part of a limit for what one process asks for. What nobody asks for is
// divided equally; where all ask for more than there is, each gets its part of what is asked.
func allot(limit, own, others float64, processes int) float64 {
	if left := limit - own - others; left >= 0 {
		return own + left/float64(processes)
	}
	return limit * own / (own + others)
}
