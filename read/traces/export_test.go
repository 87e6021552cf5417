package traces

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// RefuseNarrow lets the store refuse every stretch that is to be read at once.
func (r *Reader) RefuseNarrow() { r.LimitNarrow(1) }

// LimitNarrow lets it refuse those in which it would have to look at more rows.
func (r *Reader) LimitNarrow(rows int) { r.pace.maxRows, r.pace.maxNeedleRows = rows, rows }

// GrowNear has searches ask for so many times as many sets with each round.
func (r *Reader) GrowNear(times int) { r.nearGrowth = times }

// NextNear is how many sets a search asks for after so many.
func NextNear(last int, bare bool) int { return nextNear(last, nearGrowth, bare) }

// LimitOften has searches look at so many rows first, at so many at once, and go on while
// such a share of them matches; above 1 no search is among all rows. 0 leaves a bound as it is.
func (r *Reader) LimitOften(first, most int, share float64) {
	l := &r.limitsOften
	l.first, l.most, l.share = cmp.Or(first, l.first), cmp.Or(most, l.most), cmp.Or(share, l.share)
}

// KnowDay has a day known, as if it had been asked for at a moment.
func (r *Reader) KnowDay(project domain.ProjectID, date, asked time.Time, roots func(minute int) [3]uint32) {
	d := &day{asked: asked}
	for m := range d.roots {
		d.roots[m] = roots(m)
	}
	r.density.keep(dayOf{project, dayNumber(date.UnixMicro(), domain.Ascending)}, d)
}

// Stretch is how long it takes from a moment in an order until so many roots started.
func (r *Reader) Stretch(ctx context.Context, project domain.ProjectID, types []trace.Type, from time.Time, order domain.Order, roots float64) (time.Duration, bool, error) {
	to := int64(math.MinInt64)
	if order == domain.Ascending {
		to = math.MaxInt64
	}
	return r.stretch(ctx, project, types, from.UnixMicro(), to, order, roots)
}

// RootsIn is how many started between two moments.
func (r *Reader) RootsIn(project domain.ProjectID, types []trace.Type, a, b time.Time) (float64, bool) {
	return r.rootsIn(project, types, a.UnixMicro(), b.UnixMicro())
}

// Uneven tells whether statistics do not tell how spans lie between two moments.
func (r *Reader) Uneven(project domain.ProjectID, types []trace.Type, a, b time.Time) bool {
	return r.uneven(project, types, a.UnixMicro(), b.UnixMicro())
}

// Ceases tells whether spans cease to come in the minute of a moment, or just before it.
func (r *Reader) Ceases(project domain.ProjectID, types []trace.Type, from time.Time) bool {
	return r.ceases(project, types, from.UnixMicro())
}

// Doubt has the days between two moments misled.
func (r *Reader) Doubt(project domain.ProjectID, a, b time.Time) bool {
	return r.density.doubt(project, a.UnixMicro(), b.UnixMicro(), r.now())
}

// SeeRoots has a list have had so many rows while so many roots started, and gives how many
// roots a stretch of one row should have then.
func (r *Reader) SeeRoots(rows int, roots float64) float64 {
	r.pace.sawRoots(likeness{}, rows, roots)
	roots, _ = r.pace.roots(likeness{}, false, 1)
	return roots
}

// LimitBeside bounds what is read beside a page; 0 leaves a bound as it is.
func (r *Reader) LimitBeside(bytes int64, spans, records int) {
	l := &r.limitsBeside
	l.bytes, l.spans, l.records = cmp.Or(bytes, l.bytes), cmp.Or(spans, l.spans), cmp.Or(records, l.records)
}

// FirstRows is how many rows a page of traces would look at first.
func (r *Reader) FirstRows(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (int, error) {
	w, err := r.walk(ctx, project, order.Traces, where, window)
	if err != nil {
		return 0, err
	}
	return r.pace.rowsOf(r.scanner(w.scan(), w.rest).list, w.limit+1), nil
}

// FirstRoots is in how many roots' time a list would look first.
func (r *Reader) FirstRoots(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (float64, error) {
	w, err := r.walk(ctx, project, order.Spans, where, window)
	if err != nil {
		return 0, err
	}
	s := r.scanner(w.scan(), w.rest)
	roots, _ := r.pace.roots(s.list, s.scan.Plain(), w.limit)
	return roots, nil
}

// KeyRows are rows as a scan gives them.
type KeyRows []keyRow

// Rows gives the first version of each span that is stored.
func (r *Reader) Rows(ctx context.Context, t testing.TB, project domain.ProjectID) KeyRows {
	t.Helper()
	everything, err := filtersql.Filter(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.scanned(ctx, "test", statements.Scan{Project: project, Condition: everything, Range: order.Everything(), Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b keyRow) int { return cmp.Compare(a.version, b.version) })
	seen := map[identity]bool{}
	return slices.DeleteFunc(rows, func(k keyRow) bool {
		again := seen[k.identity]
		seen[k.identity] = true
		return again
	})
}

// Hold gives those of them that a search among all rows would have decided.
func (r *Reader) Hold(ctx context.Context, project domain.ProjectID, where filter.Expr, rows KeyRows) (KeyRows, error) {
	w, err := r.walk(ctx, project, order.Spans, where, domain.Window{})
	if err != nil {
		return nil, err
	}
	return r.scanner(w.scan(), w.rest).hold(ctx, rows)
}

// Fetch gives their spans.
func (r *Reader) Fetch(ctx context.Context, project domain.ProjectID, rows KeyRows) ([]trace.Span, error) {
	return r.fetch(ctx, project, rows, 1<<30)
}

// MemoryInUse returns the bytes that the answers being read or written hold.
func (r *Reader) MemoryInUse() int64 { return r.memory.InUse() }
