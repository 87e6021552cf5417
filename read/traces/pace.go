package traces

import (
	"math"
	"sync"
	"time"

	"colonnade/domain"
	"colonnade/read/compile"
)

// pace remembers how the spans of a project came where they were last looked
// at. It is a guess: it decides how long the first stretch is that a list reads,
// never what is in the list.
type pace struct {
	mu       sync.Mutex
	projects map[domain.ProjectID]seen
	// maxRows is what the store may read for such a stretch.
	maxRows int
}

// seen is what the latest scan of a project found, in microseconds.
type seen struct {
	// apart is the time from one span to the next.
	apart float64
	// at is where the scan ended, a start.
	at int64
	// newest is the latest start that a list from now on has found, lag how long
	// before the list that was; newest is zero where none was read since.
	newest, lag int64
}

const (
	// paceSlack is how many times the stretch is that the rows took last time:
	// spans come in bursts, and a thousand rows more are read with those of a page.
	paceSlack = 16
	// paceRows is how many rows tell of a pace.
	paceRows = 16
	// fewSince is how many rows may have come since the last list for all of them to be read.
	fewSince = 20_000
	// maxNarrowRows are read in a fraction of a second, should the guess be that
	// wrong. Whole granules count, at least one for each type and part.
	maxNarrowRows = 500_000
	// maxPaces bounds the projects that are remembered.
	maxPaces = 4096
)

func newPace() *pace { return &pace{projects: map[domain.ProjectID]seen{}, maxRows: maxNarrowRows} }

// step is how long a stretch should hold limit rows that begins at a start, or,
// if open, now and goes back. ok is false where nothing is known of there: pages
// that follow each other tell of the next, and not of any other time.
func (p *pace) step(project domain.ProjectID, limit int, from int64, open bool, now time.Time) (step time.Duration, ok bool) {
	p.mu.Lock()
	s, ok := p.projects[project]
	p.mu.Unlock()
	micros := paceSlack * s.apart * float64(limit)
	if !ok || open && s.newest == 0 || !open && math.Abs(float64(from-s.at)) > micros {
		return 0, false
	}
	if open {
		// Nothing is visible the moment it starts. In a quiet project the newest
		// is still the one that was; in a busy one it is as old as the newest was.
		since := float64(now.UnixMicro() - s.newest)
		if since < fewSince*s.apart {
			micros += max(since, 0)
		} else {
			micros += max(float64(s.lag)*5/4, 0)
		}
	}
	return time.Duration(min(max(micros, 1000), float64(century.Microseconds()))) * time.Microsecond, true
}

// learn takes the rows of a scan, in its order; open is as in step.
func (p *pace) learn(scan *compile.Scan, rows []keyRow, open bool, now time.Time) {
	if len(rows) < paceRows || !scan.Plain() {
		return
	}
	first, last := rows[0].Start, rows[len(rows)-1].Start
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.projects) >= maxPaces {
		clear(p.projects)
	}
	s := p.projects[scan.Project]
	s.apart, s.at = math.Abs(float64(first-last))/float64(len(rows)), last
	if open {
		s.newest, s.lag = first, now.UnixMicro()-first
	}
	p.projects[scan.Project] = s
}

func (p *pace) forget(project domain.ProjectID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.projects, project)
}
