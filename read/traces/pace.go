package traces

import (
	"math"
	"sync"
	"time"

	"colonnade/domain"
)

// pace remembers how the rows of a list lay where they were last looked at. It
// is a guess: it decides how long the first stretch is that a list reads, never
// what is in the list.
type pace struct {
	mu    sync.Mutex
	lists map[likeness]seen
	// maxRows is what the store may read for a stretch, maxNeedleRows where the index finds the rows.
	maxRows, maxNeedleRows int
}

// likeness names lists that differ in their place and length only.
type likeness struct {
	project domain.ProjectID
	scan    uint64 // compile.Scan.Likeness
}

// seen is what the latest scan found, in microseconds.
type seen struct {
	// apart is the time from one row to the next; negative while none was found.
	apart float64
	// at is where the scan ended, a start.
	at int64
	// newest is the latest start that a list from now on has found, and then is
	// when that was; both are zero where none was read since.
	newest, then int64
	// refused is how long a stretch was that the store did not read at once, and
	// refusedAt when that was; zero for none.
	refused   time.Duration
	refusedAt int64
}

const (
	// plainSlack is how many times the stretch is that the rows of a list without
	// conditions took last time: spans come in bursts, and a thousand rows more are
	// read with those of a page. With conditions each row is one of many.
	plainSlack, slack = 16, 4
	// fewSince is how many rows may have come since the last list for all of them to be read.
	fewSince = 20_000
	// maxNarrowRows are read in a fraction of a second, should the guess be that
	// wrong. Whole granules count, at least one for each type and part.
	maxNarrowRows = 500_000
	// maxNeedleRows are those of granules that the index names: it has looked into them already.
	maxNeedleRows = 2_000_000
	// refusedFor is how long a refusal is remembered.
	refusedFor = time.Minute
	// maxPaces bounds the lists that are remembered.
	maxPaces = 16_384
)

func newPace() *pace {
	return &pace{lists: map[likeness]seen{}, maxRows: maxNarrowRows, maxNeedleRows: maxNeedleRows}
}

// step is how long a stretch should hold limit rows that begins at a start, or,
// if open, now and goes back. ok is false where nothing is known: of how far
// behind now the newest row is only lists from now on tell.
func (p *pace) step(list likeness, plain bool, limit int, from int64, open bool, now time.Time) (step time.Duration, ok bool) {
	p.mu.Lock()
	s, ok := p.lists[list]
	p.mu.Unlock()
	if !ok || s.apart < 0 || open && s.newest == 0 {
		return 0, false
	}
	micros := slack * s.apart * float64(limit)
	if plain {
		micros = plainSlack * s.apart * float64(limit)
		if !open && math.Abs(float64(from-s.at)) > micros {
			micros *= slack // pages that follow each other tell more of the next than of any other time
		}
	}
	if open {
		// Nothing is visible the moment it starts. Where few came since, all that did
		// is read; else the newest is as old as the newest was, or about.
		moment := now.UnixMicro()
		if float64(moment-s.then) < fewSince*s.apart {
			micros += float64(max(moment-s.newest, 0))
		} else {
			micros += float64(max(s.then-s.newest, 0)) * 5 / 4
		}
	}
	return time.Duration(min(max(micros, 1000), float64(forever.Microseconds()))) * time.Microsecond, true
}

// learn takes what a scan found so far: the time from one row to the next, where
// it is now and, for a list from now on, its newest start; 0 otherwise.
func (p *pace) learn(list likeness, apart float64, at, newest int64, now time.Time) {
	p.update(list, func(s *seen) {
		s.apart, s.at = apart, at
		if newest != 0 {
			s.newest, s.then = newest, now.UnixMicro()
		}
	})
}

// refuse takes that the store did not read a stretch at once.
func (p *pace) refuse(list likeness, stretch time.Duration, now time.Time) {
	p.update(list, func(s *seen) { s.refused, s.refusedAt = stretch, now.UnixMicro() })
}

// refused is how long a stretch was that the store lately did not read at once; 0 for none.
func (p *pace) refused(list likeness, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.lists[list]; now.UnixMicro()-s.refusedAt < refusedFor.Microseconds() {
		return s.refused
	}
	return 0
}

func (p *pace) update(list likeness, change func(*seen)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, there := p.lists[list]
	if !there {
		s.apart = -1
		if len(p.lists) >= maxPaces {
			clear(p.lists)
		}
	}
	change(&s)
	p.lists[list] = s
}
