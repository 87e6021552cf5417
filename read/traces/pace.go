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

// likeness names lists that differ in their place and length only. Those from
// now on are lists of their own: how much comes now says little of last week.
type likeness struct {
	project domain.ProjectID
	scan    uint64 // statements.Scan.Fingerprint
	open    bool   // from now on
}

// seen is what the latest scan found, in microseconds.
type seen struct {
	// apart is the time from one row to the next; negative while none was found.
	apart float64
	// perRoot is how many rows there are for each root that started meanwhile, as density
	// has it; 0 for not known.
	perRoot float64
	// at is where the scan ended, a start.
	at int64
	// newest is the latest start that a list from now on has found, and then is
	// when that was; both are zero where none was read since.
	newest, then int64
	// refused is how long a stretch was that the store did not read at once, and
	// refusedAt when that was; zero for none.
	refused   time.Duration
	refusedAt int64
	// perTrace is how many rows a list of traces looked at for each that it
	// found; 0 for other lists and where none was looked at.
	perTrace float64
	// share is how many of the rows without its condition on documents were of the
	// list, 0..1, and sharedAt when that was; zero where they were not looked at.
	share    float64
	sharedAt int64
	// rare tells of a project that what was looked for last was not in most sections.
	rare bool
	// sought tells of a list that it was asked where what it looks for is, and common
	// that it was in most sections that were near.
	sought, common bool
}

const (
	// slack is how many times the stretch is that the rows of a list took last
	// time. A list without conditions that begins at another time than the last
	// takes plainSlack: spans come in bursts, and a thousand rows more are read with
	// those of a page. One that begins now does not: what it reads too much of are
	// the small parts of what has just come, and each costs what a page of rows does.
	plainSlack, slack = 16, 4
	// unknownPerRoot is taken for the rows that a list has for each root while that is not
	// known. One without conditions has the root itself.
	unknownPerRoot = 1. / 16
	perRootChange  = 4
	// calming is how much of the longest time between rows is left with each look
	// at a list from now on: what comes in bursts is calm in between.
	calming = .8
	// fewSince is how many rows may have come since the last list for all of them to be read.
	fewSince = 2000
	// maxNarrowRows are read in a fraction of a second, should the guess be that
	// wrong. Whole granules count, at least one for each type and part.
	maxNarrowRows = 500_000
	// maxNeedleRows are those of granules that the index names: it has looked into them already.
	maxNeedleRows = 2_000_000
	// tracesSlack is how many times the rows are that the traces of a list took.
	tracesSlack = 1.5
	// refusedFor is how long a refusal is remembered.
	refusedFor = time.Minute
	// sharedFor is how long it is remembered that few rows are of a list. That many are
	// holds until it turns out that they are not.
	sharedFor = time.Minute
	// maxPaces bounds the lists that are remembered.
	maxPaces = 16_384
)

func newPace() *pace {
	return &pace{lists: map[likeness]seen{}, maxRows: maxNarrowRows, maxNeedleRows: maxNeedleRows}
}

// step is how long a stretch should hold limit rows that begins at a start, or behind a
// pause before now, in which nothing is expected, and goes back. ok is false where nothing
// is known: of how far behind now the newest row is only lists from now on tell.
func (p *pace) step(list likeness, plain bool, limit int, from int64, now time.Time) (step, pause time.Duration, ok bool) {
	open := list.open
	p.mu.Lock()
	s, ok := p.lists[list]
	if (!ok || s.apart < 0) && !open { // the page after the first of a list from now on
		s, ok = p.lists[likeness{list.project, list.scan, true}]
	}
	p.mu.Unlock()
	if !ok || s.apart < 0 || open && s.newest == 0 {
		return 0, 0, false
	}
	micros := slack * s.apart * float64(limit)
	if plain && !open {
		micros = plainSlack * s.apart * float64(limit)
		if math.Abs(float64(from-s.at)) > micros {
			micros *= slack // pages that follow each other tell more of the next than of any other time
		}
	}
	still := 0.0
	if open {
		// Nothing is visible the moment it starts. Where few came since, all that did
		// is read; else the newest is as old as the newest was, or about. In a pause that
		// had lasted far longer then, none came: what was before it may be dense.
		moment := now.UnixMicro()
		if since := float64(moment - s.then); since < max(fewSince*s.apart, float64(s.then-s.newest)/2) {
			still = float64(max(moment-s.newest, 0))
		} else {
			still = float64(max(s.then-s.newest, 0))
			micros += still / 4
		}
	}
	duration := func(micros float64) time.Duration {
		return time.Duration(min(micros, float64(forever.Microseconds()))) * time.Microsecond
	}
	return duration(max(micros, 1000)), duration(still), true
}

// learn takes what a scan found so far: the time from one row to the next, where
// it is now and, for a list from now on, its newest start; 0 otherwise.
func (p *pace) learn(list likeness, apart float64, at, newest int64, now time.Time) {
	p.update(list, func(s *seen) {
		if newest != 0 {
			apart = max(apart, s.apart*calming)
			s.newest, s.then = newest, now.UnixMicro()
		}
		s.apart, s.at = apart, at
	})
}

// roots is in how many roots' time a stretch should hold limit rows; known is false where
// that is of no list but a list like any.
func (p *pace) roots(list likeness, plain bool, limit int) (roots float64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	per := p.lists[list].perRoot
	switch known = per > 0; {
	case known:
	case plain:
		per = 1
	default:
		per = unknownPerRoot
	}
	return slack * float64(limit) / per, known
}

// sawRoots takes how many rows a list had while so many roots started. What it had before
// counts as much, and rows that came in a burst for no more than perRootChange times that.
func (p *pace) sawRoots(list likeness, rows int, roots float64) {
	if roots <= 0 {
		return
	}
	p.update(list, func(s *seen) {
		per := float64(max(rows, 1)) / roots
		if s.perRoot > 0 {
			per = math.Sqrt(min(max(per, s.perRoot/perRootChange), s.perRoot*perRootChange) * s.perRoot)
		}
		s.perRoot = per
	})
}

// burst tells whether a list has far more rows for each root than it had before; false for
// one that was not read.
func (p *pace) burst(list likeness, rows int, roots float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	per := p.lists[list].perRoot
	return per > 0 && float64(rows) > perRootChange*per*roots
}

// sawTraces takes how many rows a list of traces looked at for those that it found.
func (p *pace) sawTraces(list likeness, rows, found int) {
	p.update(list, func(s *seen) { s.perTrace = max(float64(rows)/float64(max(found, 1)), s.perTrace*calming) })
}

// rowsOf is how many rows a list should look at first for some traces: rowsPerTrace for
// each where nothing is known, and never more than maxRowsPerTrace. Where traces are
// larger, those found are left out of the next look.
func (p *pace) rowsOf(list likeness, traces int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.lists[list].perTrace; known > 0 {
		return min(int(tracesSlack*known*float64(traces))+1, traces*maxRowsPerTrace)
	}
	return traces * rowsPerTrace
}

// share is how many of all rows are of a list, 0..1; less than few are held to be so for
// a while only. ok is false where that is not known.
func (p *pace) share(list likeness, few float64, now time.Time) (share float64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.lists[list]
	if s.sharedAt == 0 && !list.open { // as for step
		s = p.lists[likeness{list.project, list.scan, true}]
	}
	return s.share, s.sharedAt != 0 && (s.share >= few || now.UnixMicro()-s.sharedAt < sharedFor.Microseconds())
}

// shared takes that so many of some rows, 0..1, are of a list.
func (p *pace) shared(list likeness, share float64, now time.Time) {
	p.update(list, func(s *seen) { s.share, s.sharedAt = share, now.UnixMicro() })
}

// wasRare tells whether the last search of a project was for what is rare; false for none.
func (p *pace) wasRare(project likeness) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists[project].rare
}

// sought takes whether what a project looked for is rare.
func (p *pace) sought(project likeness, rare bool) {
	p.update(project, func(s *seen) { s.rare = rare })
}

// wasCommon tells whether what a list looks for was in most sections that were near when
// it was asked where it is; false where that was not asked.
func (p *pace) wasCommon(list likeness) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.lists[list]
	if !s.sought && !list.open { // as for step
		s = p.lists[likeness{list.project, list.scan, true}]
	}
	return s.common
}

// soughtFor takes whether what a list looks for is common.
func (p *pace) soughtFor(list likeness, common bool) {
	p.update(list, func(s *seen) { s.sought, s.common = true, common })
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
