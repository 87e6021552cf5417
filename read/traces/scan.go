package traces

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/compile"
)

// The windows of a scan. A list begins at one end of time and is mostly
// satisfied nearby, so a scan looks at a short stretch first and at more the
// fewer rows that gave. A needle's rows are found by the index, for which the
// length of the stretch hardly counts.
const (
	firstWindow = 15 * time.Minute
	growth      = 4
	// fastGrowth is for windows that gave almost nothing.
	fastGrowth = 16
	// century bounds them.
	century = 100 * 365 * 24 * time.Hour
	// longAgo is before all data: an ascending scan from there looks for the first row.
	longAgo = 946684800000000 // 2000-01-01 in Unix microseconds
)

// scanner walks through the rows of a condition in order, a window at a time.
type scanner struct {
	r    *Reader
	scan compile.Scan
	// rest is what was not looked at.
	rest compile.Range
	step time.Duration
	// whole takes the rest as one window.
	whole bool
	begun bool
	// said tells where the rows are; nil for anywhere.
	said *said
}

func (r *Reader) scanner(scan compile.Scan, rest compile.Range) *scanner {
	said := r.saidBy(scan)
	return &scanner{r: r, scan: scan, rest: rest, step: firstWindow, whole: said != nil || scan.Condition.Needle(), said: said}
}

func (s *scanner) done() bool { return s.rest.Empty() }

func (s *scanner) ascending() bool { return s.scan.Order == domain.Ascending }

// next gives the rows of the next windows: limit rows or a few less, none only at the end.
func (s *scanner) next(ctx context.Context, limit int) ([]keyRow, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	open := s.open()
	if rows, err := s.narrowly(ctx, limit, open); err != nil || len(rows) > 0 {
		return rows, err
	}
	for !s.done() {
		window := s.window()
		if s.said != nil {
			var err error
			if window, s.scan.Places, err = s.said.next(ctx, window, limit); err != nil || len(s.scan.Places) == 0 {
				s.rest = none()
				return nil, err
			}
		}
		s.scan.Range, s.scan.Limit = window, limit
		rows, err := s.r.scanned(ctx, "scan", s.scan)
		if err != nil {
			return nil, err
		}
		s.advance(window, rows, limit)
		if len(rows) > 0 {
			s.r.pace.learn(&s.scan, rows, open, s.r.now())
			return rows, nil
		}
	}
	return nil, nil
}

// narrowly gives the rows of a plain scan from a stretch that holds few more, by
// what the pace of before says; none where that is not known, or where more is
// there or less than it said.
func (s *scanner) narrowly(ctx context.Context, limit int, open bool) ([]keyRow, error) {
	if s.whole || s.done() || !s.scan.Plain() {
		return nil, nil
	}
	from := s.rest.High.Start
	if s.ascending() {
		from = s.rest.Low.Start
	}
	guess, known := s.r.pace.step(s.scan.Project, limit, from, open, s.r.now())
	if !known {
		return nil, nil
	}
	step := s.step
	s.step = guess
	window := s.window()
	s.step = step
	scan := s.scan
	scan.Range, scan.Limit = window, limit
	rows, err := s.r.rows(ctx, "scan_narrow", scan.Narrow(s.r.pace.maxRows), scan.Core)
	if exception, ok := errors.AsType[*clickhouse.Exception](err); ok && exception.Code == codeTooManyRows {
		s.r.pace.forget(scan.Project)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(rows) < limit {
		s.skip(window)
		s.r.pace.forget(scan.Project)
		return rows, nil
	}
	s.r.pace.learn(&scan, rows, open, s.r.now())
	s.behind(rows)
	return rows, nil
}

// begin finds where an ascending scan without lower bound has its first row:
// windows from 1900 on would find nothing for long.
func (s *scanner) begin(ctx context.Context) error {
	if s.begun || s.whole || !s.ascending() || s.rest.Low.Start > longAgo {
		return nil
	}
	s.begun = true
	everything, err := compile.Filter(nil)
	if err != nil {
		return err
	}
	everything.Types = s.scan.Condition.Types
	first := s.scan
	first.Condition, first.Range, first.Limit, first.Rate, first.Except, first.Core = everything, s.rest, 1, compile.Rate{}, nil, false
	rows, err := s.r.scanned(ctx, "scan_first", first)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		s.rest = none()
		return nil
	}
	s.rest.Low = rows[0].Position
	return nil
}

// open tells that the rest begins now, or later, and goes back.
func (s *scanner) open() bool { return !s.ascending() && s.rest.High.Start >= s.r.now().UnixMicro() }

// window is the next stretch of the rest.
func (s *scanner) window() compile.Range {
	w := s.rest
	step := s.step.Microseconds()
	switch {
	case s.whole:
	case s.ascending():
		if end := w.Low.Start + step; end < w.High.Start && end > w.Low.Start {
			w.High = compile.Position{Start: end}
		}
	default:
		// Clocks that run ahead put spans into the future: the first window has them all.
		end := min(w.High.Start, s.r.now().UnixMicro())
		if begin := end - step; begin > w.Low.Start && begin < end {
			w.Low = compile.Position{Start: begin}
		}
	}
	return w
}

// advance takes what was seen off the rest and sizes the next window.
func (s *scanner) advance(window compile.Range, rows []keyRow, limit int) {
	if len(rows) >= limit {
		s.behind(rows)
		return
	}
	s.skip(window)
	// A word that a window has nowhere is rare enough for the index to find it in all the rest.
	s.whole = s.whole || len(rows) == 0 && s.scan.ContentIndex
	switch {
	case len(rows) < limit/fastGrowth:
		s.step *= fastGrowth
	default:
		s.step *= growth
	}
	s.step = min(s.step, century)
}

// behind leaves of the rest what comes after some rows.
func (s *scanner) behind(rows []keyRow) {
	last := rows[len(rows)-1].Position
	if s.ascending() {
		s.rest.Low = last.After()
	} else {
		s.rest.High = last.Before()
	}
}

// skip takes a window off the rest.
func (s *scanner) skip(window compile.Range) {
	if s.ascending() {
		s.rest.Low = window.High.After()
	} else {
		s.rest.High = window.Low.Before()
	}
}

// scanned runs a scan. Its rows are in the scan's order, Limit of them at most.
func (r *Reader) scanned(ctx context.Context, name string, scan compile.Scan) ([]keyRow, error) {
	rows, err := r.rows(ctx, name, scan.Keys(), scan.Core)
	sortByPlace(rows, scan.Order)
	return rows[:min(len(rows), scan.Limit)], err
}

// sortByPlace puts rows into the order of a list; rows at one place stay as they are.
func sortByPlace(rows []keyRow, order domain.Order) {
	slices.SortStableFunc(rows, func(a, b keyRow) int {
		if order == domain.Ascending {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.Tie, a.Tie))
	})
}

// keys runs a statement of compile.Keys columns.
func (r *Reader) keys(ctx context.Context, name string, s compile.Statement) ([]keyRow, error) {
	return r.rows(ctx, name, s, false)
}

// rows runs a scan's statement, with the columns of the core or without.
func (r *Reader) rows(ctx context.Context, name string, s compile.Statement, core bool) ([]keyRow, error) {
	var out []keyRow
	err := r.query(ctx, name, s, func(rows driver.Rows) error {
		k, err := scanKey(rows, core)
		out = append(out, k)
		return err
	})
	return out, err
}

// latest keeps of each span the row of its latest version, in the order of the rows.
func latest(rows []keyRow) []keyRow {
	best := make(map[identity]uint64, len(rows))
	for _, k := range rows {
		best[k.identity] = max(best[k.identity], k.version)
	}
	out := rows[:0:0]
	for _, k := range rows {
		if version, there := best[k.identity]; there && version == k.version {
			out = append(out, k)
			delete(best, k.identity)
		}
	}
	return out
}
