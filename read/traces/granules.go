package traces

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/read/clickhouse"
	"colonnade/read/statements"
)

// Statistics count whole minutes, and the last two not yet. Where a load has begun or ended
// within one, a list crawls: windows find nothing for a while and are then too much. The store
// knows from its primary index where each granule of rows begins, of what it has now. To ask
// takes about as long as a window that finds nothing, so only lists do that were misled, or that
// begin where spans cease to come.

// granules are where rows are, newest first.
type granules struct {
	list []granule
	// wanted is how many rows the next window should have.
	wanted float64
	// bounded tells that the last window had less: what the store reads at once.
	bounded bool
}

// granule is rows that lie together: the start of the first, and how many they are.
type granule struct {
	start int64
	rows  float64
}

const (
	// granuleRows is how many rows a full granule of spans has.
	granuleRows = 1024
	// mostGranules is how many are asked for: what the store reads at once, several times.
	mostGranules = 4 * maxNarrowRows / granuleRows
	// rowsPerRoot is taken for how many spans come with a root.
	rowsPerRoot = 16
	// enoughMisses is how many windows in turn that have a few rows, but not enough, are a sign.
	enoughMisses = 2
)

// miss takes that a window had not enough, found rows.
func (s *scanner) miss(found int) {
	if !s.measured {
		return
	}
	s.missed++
	s.misled = s.misled || found == 0 || s.missed >= enoughMisses
}

// byGranules is how long the next window is to have enough of the granules of the rest. ok is
// false where they do not tell.
func (s *scanner) byGranules(ctx context.Context) (step time.Duration, ok bool, err error) {
	end := min(s.rest.High.Start, s.r.now().UnixMicro())
	if s.granules == nil {
		if s.granules, err = s.askGranules(ctx, end); err != nil {
			return 0, false, err
		}
	}
	wanted, rows := min(s.granules.wanted, float64(s.maxRows)/2), 0.0
	s.granules.bounded = false
	for _, g := range s.granules.list {
		if g.start >= end {
			continue
		}
		if rows += g.rows; rows >= wanted {
			s.granules.bounded = wanted < s.granules.wanted
			s.granules.wanted *= growth // should it not be enough
			s.tooMuch = 0               // a bound by time would cut it short where a gap comes first
			return micros(g.start, end), true, nil
		}
	}
	return 0, false, nil
}

// refused takes that a window was too much. Was it sized by granules, they tell no more: it
// would be as long again.
func (g *granules) refused() {
	if g != nil {
		g.list, g.bounded = nil, false
	}
}

// askGranules asks for those before a start; none where the store does not tell.
func (s *scanner) askGranules(ctx context.Context, before int64) (*granules, error) {
	g := &granules{wanted: s.expected * rowsPerRoot}
	if s.ascending() || s.r.noGranules.Load() {
		return g, nil
	}
	err := s.r.db.Query(ctx, s.name+"_granules", statements.Granules(s.scan.Project, s.scan.Condition.Types, before, mostGranules), func(rows driver.Rows) error {
		var start int64
		var n uint64
		err := rows.Scan(&start, &n)
		g.list = append(g.list, granule{start, float64(n)})
		return err
	})
	if clickhouse.HasCode(err, clickhouse.CodeBadArguments, clickhouse.CodeAccessDenied) {
		s.r.noGranules.Store(true)
		return &granules{}, nil
	}
	return g, err
}
