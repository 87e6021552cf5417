package traces

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/migrations/schema"
	"colonnade/read/compile"
)

const (
	// maxStretches is how many stretches a scan is narrowed to.
	maxStretches = 2000
	// fewStretches are read in a fraction of a second, wherever they are.
	fewStretches = 32
	// rare is the share of all stretches in which what is looked for is rare: of 2, 1.
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

// find asks in which stretches of the stream the documents of the rest may be. What
// is known to be near is looked for there first.
func (s *scanner) find(ctx context.Context) error {
	near := s.stretch(s.rest) <= firstWindow || s.guessed && s.stretch(s.window()) <= firstWindow
	if s.sought || near || !s.scan.Condition.Phrases() || s.scan.ContentIndex {
		return nil
	}
	s.sought = true
	from := s.r.ngramsFrom(ctx)
	within := compile.Within{From: from}
	covered := false
	for _, offset := range from {
		covered = covered || offset != schema.NotCovered
	}
	if !covered {
		return nil
	}
	var total uint64
	statement := compile.Stretches{Project: s.scan.Project, Condition: s.scan.Condition, Range: s.rest, Limit: maxStretches + 1}.Statement()
	err := s.r.query(ctx, "stretches", statement, func(rows driver.Rows) error { return rows.Scan(&within.Stretches, &total) })
	if err != nil || len(within.Stretches) > min(maxStretches, int(total/rare)) {
		return err
	}
	s.scan.Within = &within
	s.whole = s.whole || within.Whole() && len(within.Stretches) <= fewStretches
	return nil
}
