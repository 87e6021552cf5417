package traces

import (
	"sync"
	"time"

	"colonnade/domain"
	"colonnade/read/compile"
)

// pace remembers how close the spans of a project follow each other where they
// were last looked at. It is a guess: it decides how long the first stretch is
// that a list reads, never what is in the list.
type pace struct {
	mu sync.Mutex
	// projects has the time from one span to the next.
	projects map[domain.ProjectID]time.Duration
	// maxRows is what the store may read for such a stretch.
	maxRows int
}

const (
	// paceSlack is how many times the stretch is that the rows took last time: spans come in bursts.
	paceSlack = 4
	// paceRows is how many rows tell of a pace.
	paceRows = 16
	// maxNarrowRows are read in a fraction of a second, should the guess be that
	// wrong. Whole granules count, at least one for each type and part.
	maxNarrowRows = 500_000
	// maxPaces bounds the projects that are remembered.
	maxPaces = 4096
)

func newPace() *pace {
	return &pace{projects: map[domain.ProjectID]time.Duration{}, maxRows: maxNarrowRows}
}

func (p *pace) of(project domain.ProjectID) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, known := p.projects[project]
	return d, known
}

// learn takes the rows of a scan, in its order.
func (p *pace) learn(scan *compile.Scan, rows []keyRow) {
	if len(rows) < paceRows || !scan.Plain() {
		return
	}
	apart := rows[0].Start - rows[len(rows)-1].Start
	if scan.Order == domain.Ascending {
		apart = -apart
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.projects) >= maxPaces {
		clear(p.projects)
	}
	p.projects[scan.Project] = time.Duration(apart) * time.Microsecond / time.Duration(len(rows))
}

func (p *pace) forget(project domain.ProjectID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.projects, project)
}
