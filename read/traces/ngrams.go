package traces

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/compile"
)

const (
	// maxSections is how many sections a scan is narrowed to.
	maxSections = 2000
	// rare is the share of all sections in which what is looked for is rare: of 2, 1.
	rare = 2
	// coveredFor is how long an answer holds about what the sets of n-grams cover.
	// It gets less only where a sink of an earlier version takes over.
	coveredFor = time.Minute
)

// covered is what was last seen of what the sets of n-grams cover.
type covered struct {
	at   time.Time
	from map[uint32]uint64 // as compile.Within has it
}

// ngramsFrom tells for each partition from which offset on the sets of n-grams
// have all documents; none where that cannot be told: a search goes without.
func (r *Reader) ngramsFrom(ctx context.Context) map[uint32]uint64 {
	now := r.now()
	if last := r.covered.Load(); last != nil && now.Sub(last.at) < coveredFor {
		return last.from
	}
	from := map[uint32]uint64{}
	err := r.query(ctx, "ngrams_from", compile.NgramsFrom(), func(rows driver.Rows) error {
		var partition uint32
		var offset uint64
		err := rows.Scan(&partition, &offset)
		from[partition] = max(from[partition], offset)
		return err
	})
	if err != nil {
		return nil
	}
	r.covered.Store(&covered{now, from})
	return from
}

// Within asks in which sections of the stream the documents may be that a
// condition looks for, among the spans of a range, and gives what is left of the
// range. nil where that is not known, or would not be worth a look.
func (r *Reader) Within(ctx context.Context, project domain.ProjectID, condition *compile.Condition, of compile.Range) (*compile.Within, compile.Range, error) {
	if !condition.Phrases() {
		return nil, of, nil
	}
	within := &compile.Within{From: r.ngramsFrom(ctx)}
	covered := false
	for _, offset := range within.From {
		covered = covered || offset != schema.NotCovered
	}
	if !covered {
		return nil, of, nil
	}
	var first, last int64
	var total uint64
	statement := compile.Sections{Project: project, Condition: condition, Range: of, Limit: maxSections + 1}.Statement()
	err := r.query(ctx, "sections", statement, func(rows driver.Rows) error { return rows.Scan(&within.Sections, &first, &last, &total) })
	switch {
	case err != nil || len(within.Sections) > min(maxSections, int(total/rare)):
		return nil, of, err
	case !within.Whole():
		return within, of, nil
	case len(within.Sections) == 0:
		return within, none(), nil
	default:
		return within, of.Intersect(compile.Starts(first, last)), nil
	}
}

// find asks where the documents of the rest may be. What is known to be near is
// looked for there first.
func (s *scanner) find(ctx context.Context) (err error) {
	near := s.stretch(s.rest) <= firstWindow || s.guessed && s.stretch(s.window()) <= firstWindow
	if s.sought || near || s.said != nil || s.scan.ContentIndex {
		return nil
	}
	s.sought = true
	if s.scan.Within, s.rest, err = s.r.Within(ctx, s.scan.Project, s.scan.Condition, s.rest); s.scan.Within != nil {
		s.whole = s.whole || s.scan.Within.Few()
	}
	return err
}
