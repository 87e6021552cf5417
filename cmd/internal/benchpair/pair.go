package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/load"
)

const (
	// spansPerTrace is the mean of the traces that the load command makes.
	spansPerTrace = 18.5
	// turnsAlone is how often a row that failed is measured once more.
	turnsAlone = 10
	// warmUp rounds are asked before a turn's reads and not measured: the first
	// reads after an ingest find cold caches.
	warmUp = 2
)

// pair runs the three services and their turns.
type pair struct {
	options
	say      func(format string, args ...any)
	now      func() time.Time
	services []*service
	// loads counts what was sent to each service: equal seeds make equal traces.
	loads int
}

func (p *pair) start(ctx context.Context) error {
	for _, build := range []struct{ name, binary string }{{"base", p.baseBinary}, {"base-again", p.baseBinary}, {"candidate", p.candidateBinary}} {
		s, err := startService(ctx, build.name, build.binary, p.dir)
		if err != nil {
			return err
		}
		p.services = append(p.services, s)
		p.say("%s is ready at %s", s.name, s.url)
	}
	return nil
}

func (p *pair) stop() error {
	errs := make([]error, 0, len(p.services))
	for _, s := range p.services {
		errs = append(errs, s.stop())
	}
	return errors.Join(errs...)
}

// fill sends the half of the spans that lies there before the first turn.
func (p *pair) fill(ctx context.Context) error {
	traces := strconv.Itoa(int(float64(p.spans) / 2 / spansPerTrace))
	seed := p.seed()
	for _, s := range p.services {
		report, err := s.load(ctx, "--traces", traces, "--over", p.over.String(), "--seed", seed, "--probes", "0")
		if err != nil {
			return err
		}
		p.say("%s: %d spans over %s, visible after %s", s.name, report.spans, p.over, report.visible)
	}
	return nil
}

// seed returns a new seed, the same for each service's next load.
func (p *pair) seed() string {
	p.loads++
	return strconv.Itoa(p.loads)
}

// The rows of ingest.
const (
	cpuPerSpan  = "ingest: CPU per span"
	timePerSpan = "ingest: time per span until visible"
	toVisible   = "ingest: receipt to visible"
	diskPerSpan = "disk: ClickHouse per span"
)

func ingestRows() []string { return []string{cpuPerSpan, timePerSpan, toVisible} }

// measure runs turns of ingest, if there are rows of it, and of reads: all of
// them, or only those of the names given; an empty list that is not nil is none.
func (p *pair) measure(ctx context.Context, turns int, ingest, reads []string) (table, error) {
	m := &measurement{rows: map[string]*row{}}
	for n := range turns {
		p.say("turn %d of %d", n+1, turns)
		if len(ingest) > 0 {
			if err := p.ingestTurn(ctx, m); err != nil {
				return nil, err
			}
		}
		if reads == nil || len(reads) > 0 {
			if err := p.readTurn(ctx, m, reads); err != nil {
				return nil, err
			}
		}
	}
	return m.table(), nil
}

// measureAlone measures rows that failed once more: ingest without reads, and
// each read without the others.
func (p *pair) measureAlone(ctx context.Context, failed []string) (table, error) {
	var ingest, reads []string
	for _, name := range failed {
		if slices.Contains(ingestRows(), name) || name == diskPerSpan {
			ingest = append(ingest, name)
		} else {
			reads = append(reads, name)
		}
	}
	all := table{}
	measure := func(ingest, reads []string) error {
		found, err := p.measure(ctx, turnsAlone, ingest, reads)
		for _, r := range found {
			if slices.Contains(failed, r.name) {
				all = append(all, r)
			}
		}
		return err
	}
	if len(ingest) > 0 {
		if err := measure(ingest, []string{}); err != nil {
			return nil, err
		}
	}
	for _, name := range reads {
		p.say("alone: %s", name)
		if err := measure(nil, []string{name}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measurement collects rows in the order in which they first come.
type measurement struct {
	rows  map[string]*row
	order []string
}

func (m *measurement) row(name, unit string, ingest bool) *row {
	r, ok := m.rows[name]
	if !ok {
		r = &row{name: name, unit: unit, ingest: ingest}
		m.rows[name] = r
		m.order = append(m.order, name)
	}
	return r
}

func (m *measurement) table() table {
	t := make(table, 0, len(m.order))
	for _, name := range m.order {
		t = append(t, m.rows[name])
	}
	return t
}

// ingestTurn sends a turn's share of the spans to each service in turn, as
// fast as it takes them. Processor time is that of the service's whole process
// tree until everything is visible.
func (p *pair) ingestTurn(ctx context.Context, m *measurement) error {
	traces := strconv.Itoa(max(int(float64(p.spans)/2/float64(p.turns)/spansPerTrace), 1))
	seed := p.seed()
	for number, s := range p.services {
		if err := p.awaitIdle(ctx); err != nil {
			return err
		}
		before, err := s.cpu()
		if err != nil {
			return err
		}
		report, err := s.load(ctx, "--traces", traces, "--seed", seed)
		if err != nil {
			return err
		}
		after, err := s.cpu()
		if err != nil {
			return err
		}
		add := func(name string, t turn, unit string) {
			r := m.row(name, unit, true)
			r.turns[number] = append(r.turns[number], t)
		}
		spans := float64(report.spans)
		add(cpuPerSpan, turn{median: micros(after-before) / spans}, "us")
		add(timePerSpan, turn{median: micros(report.visible) / spans}, "us")
		if report.p50 > 0 {
			add(toVisible, turn{median: millis(report.p50), p99: millis(report.p99)}, "ms")
		}
		p.say("  %s: %.1f us of CPU per span, %.0f spans/s visible", s.name, micros(after-before)/spans, spans/report.visible.Seconds())
	}
	if err := p.awaitIdle(ctx); err != nil {
		return err
	}
	for number, s := range p.services {
		bytes, err := s.disk()
		if err != nil {
			return err
		}
		r := m.row(diskPerSpan, "B", true)
		// Each service has received the same number: the ratio is that of the bytes.
		r.turns[number] = append(r.turns[number], turn{median: float64(bytes) / float64(p.spans)})
	}
	return nil
}

// readTurn asks rounds of reads of each service in turn, while spans come in.
func (p *pair) readTurn(ctx context.Context, m *measurement, names []string) error {
	seed := p.seed()
	number64, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	for number, s := range p.services {
		if err := p.awaitIdle(ctx); err != nil {
			return err
		}
		stop := func() {}
		if p.rate > 0 {
			if stop, err = s.trickle(ctx, p.rate, seed); err != nil {
				return err
			}
		}
		caller := client.New(s.url, s.key)
		warm := load.NewReader(caller, number64, p.over, p.now)
		for range warmUp {
			warm.Round(ctx, ctx, names...)
		}
		reader := load.NewReader(caller, number64, p.over, p.now)
		for range p.rounds {
			reader.Round(ctx, ctx, names...)
		}
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, times := range reader.Times() {
			if len(names) > 0 && !slices.Contains(names, times.Name) {
				continue // it was asked only for what the named one needs
			}
			r := m.row(times.Name, "ms", false)
			r.failures[number] += times.Failed
			if times.Err != nil {
				r.failure[number] = times.Err
			}
			if len(times.Took) > 0 {
				r.turns[number] = append(r.turns[number], turn{median: millis(times.At(0.5)), p99: millis(times.At(0.99))})
			}
		}
		p.say("  %s: %d rounds of reads", s.name, p.rounds)
	}
	return nil
}

// awaitIdle waits until the services together use less than a fifth of a
// processor over a second: what one of them still merges must not fall into
// another's turn. It gives up after a while, because a busy machine never is idle.
func (p *pair) awaitIdle(ctx context.Context) error {
	const step, busy = time.Second, 0.2
	deadline := p.now().Add(p.idleWait)
	before, err := p.cpu()
	if err != nil {
		return err
	}
	for p.now().Before(deadline) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(step):
		}
		used, err := p.cpu()
		if err != nil {
			return err
		}
		if (used - before).Seconds() < busy*step.Seconds() {
			return nil
		}
		before = used
	}
	p.say("  the services are still busy after %s: the turn begins nevertheless", p.idleWait)
	return nil
}

func (p *pair) cpu() (sum time.Duration, err error) {
	for _, s := range p.services {
		used, err := s.cpu()
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		sum += used
	}
	return sum, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
