package traces

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

// Traces gives a page of the traces of which some span matches, in the order
// of their places. See read/api.Reader.
//
// A trace's place is the first of its matching spans in the list's order: the
// latest when descending. So a trace comes once: where a walk meets another of
// its spans further on, the place was on an earlier page. For a span that
// arrives while a caller walks see places.
func (r *Reader) Traces(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[[]trace.Span], error) {
	w, err := r.walk(ctx, project, compile.Traces, where, window)
	if err != nil || w.empty() {
		return domain.Page[[]trace.Span]{}, err
	}
	l := &list{r: r, w: w, decide: r.decider(w), settled: map[trace.TraceID]bool{}, waiting: map[trace.TraceID]bool{}}
	if err := l.collect(ctx); err != nil {
		return domain.Page[[]trace.Span]{}, err
	}
	return l.page(ctx)
}

// list is a page of traces to be.
type list struct {
	r      *Reader
	w      *walk
	decide *decider
	// places are those found so far, in order.
	places []keyRow
	ended  bool
	// settled traces have their place, here or on an earlier page.
	settled map[trace.TraceID]bool
	// waiting traces were there when the walk began and have got newer spans,
	// which do not count.
	waiting map[trace.TraceID]bool
}

// The rows that a first scan for traces asks for: a trace has several. What is known
// of a list may ask for up to maxRowsPerTrace; they cost less than a second scan.
const (
	rowsPerTrace    = 16
	maxRowsPerTrace = 48
	maxRows         = 20_000
	// maxExcept bounds the list of traces that a scan leaves out.
	maxExcept = 2000
)

// collect scans until one trace more than the page needs has its place, and a
// cursor can tell it from the page's last.
func (l *list) collect(ctx context.Context) error {
	scanner := l.r.scanner(l.w.scan(), l.w.rest)
	scanner.whole = scanner.whole || len(l.w.cond.TraceIDs) > 0
	size := l.r.pace.rowsOf(scanner.list, l.w.limit+1)
	looked := 0
	for l.cut(l.w.limit) < 0 {
		batch := min(size, maxRows)
		if !l.decide.exact {
			batch = l.decide.batch(l.w.limit + 1 - len(l.places))
		}
		rows, err := scanner.next(ctx, batch)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			l.ended = true
			return nil
		}
		if err := l.add(ctx, rows); err != nil {
			return err
		}
		scanner.scan.Loose = scanner.scan.Loose && l.decide.most()
		looked += len(rows)
		l.r.pace.sawTraces(scanner.list, looked, len(l.places))
		size = min(size*growth, maxRows)
		if len(l.settled) <= maxExcept { // a trace of thousands of spans is met once, not row by row
			scanner.scan.Except = slices.Concat(l.w.except, keysOf(l.settled))
		}
	}
	return nil
}

func keysOf(set map[trace.TraceID]bool) []trace.TraceID {
	out := make([]trace.TraceID, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b trace.TraceID) int { return slices.Compare(a[:], b[:]) })
	return out
}

// cut gives how many traces, n or as few more or less as possible, a page can
// have so that its cursor tells the last from the next. It is -1 while more
// have to be found to know.
func (l *list) cut(n int) int {
	if n >= len(l.places) {
		if l.ended {
			return len(l.places)
		}
		return -1
	}
	for m := n; m > 0; m-- {
		if l.parted(m) {
			return m
		}
	}
	for m := n + 1; m < len(l.places); m++ {
		if l.parted(m) {
			return m
		}
	}
	if l.ended {
		return len(l.places)
	}
	return -1
}

// parted tells whether a cursor can stand before the place at m.
func (l *list) parted(m int) bool {
	a, b := l.places[m-1], l.places[m]
	return a.Start != b.Start || l.w.focus.RoundTie(a.Tie) != l.w.focus.RoundTie(b.Tie)
}

// add takes rows in order and finds the places among them.
//
// A walk that goes on was begun at a moment. Spans received later do not move
// a trace that was there before, else it might come on no page or on two: its
// place is that of its older spans. A trace that is all new has its place by
// all its spans.
func (l *list) add(ctx context.Context, rows []keyRow) error {
	rows = slices.DeleteFunc(rows, func(k keyRow) bool { return l.settled[k.trace] })
	rows, _, err := l.decide.choose(ctx, rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	var shown, begun, shownNew map[trace.TraceID]bool
	if !l.w.first {
		if shown, err = l.having(ctx, l.w.seen(), rows, l.w.since); err != nil {
			return err
		}
		if begun, shownNew, err = l.arrived(ctx, rows); err != nil {
			return err
		}
	}
	for _, k := range rows {
		isNew := k.created > l.w.since
		switch {
		case l.settled[k.trace]:
		case shown[k.trace] || isNew && !begun[k.trace] && shownNew[k.trace]:
			l.settled[k.trace] = true
		case isNew && begun[k.trace]: // waits for a span that was there
		default:
			l.settled[k.trace] = true
			l.places = append(l.places, k)
		}
	}
	return nil
}

// arrived answers for rows received since the walk began: which of their
// traces were there before, and which, all new, stand on an earlier page.
func (l *list) arrived(ctx context.Context, rows []keyRow) (begun, shown map[trace.TraceID]bool, err error) {
	late := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { return k.created <= l.w.since })
	if len(late) == 0 {
		return nil, nil, nil
	}
	if begun, err = l.having(ctx, l.w.window, late, l.w.since); err != nil {
		return nil, nil, err
	}
	shown, err = l.having(ctx, l.w.seen(), late, math.MaxInt64)
	return begun, shown, err
}

// having gives those of the rows' traces that have a matching span in a range,
// received no later than since.
func (l *list) having(ctx context.Context, in compile.Range, rows []keyRow, since int64) (map[trace.TraceID]bool, error) {
	out := map[trace.TraceID]bool{}
	if in.Empty() {
		return out, nil
	}
	only := make(map[trace.TraceID]bool, len(rows))
	for _, k := range rows {
		only[k.trace] = true
	}
	bounds, err := l.r.bounds(ctx, l.w.project, keysOf(only))
	if err != nil {
		return nil, err
	}
	scan := l.w.scan()
	scan.Range = compile.Range{Low: compile.Position{Start: math.MaxInt64}}
	for _, b := range bounds {
		// Most traces of a page lie beside it, and have nothing on the side that was seen.
		if of := compile.Starts(b.Min, b.Max).Intersect(in); !of.Empty() {
			scan.Only = append(scan.Only, b.Trace)
			if of.Low.Less(scan.Range.Low) {
				scan.Range.Low = of.Low
			}
			if scan.Range.High.Less(of.High) {
				scan.Range.High = of.High
			}
		}
	}
	if len(scan.Only) == 0 {
		return out, nil
	}
	if !l.decide.exact {
		return out, l.havingExactly(ctx, scan, since, out)
	}
	return out, l.r.query(ctx, "having", scan.Having(since), func(rows driver.Rows) error {
		var id trace.TraceID
		err := rows.Scan(traceOf(&id))
		out[id] = true
		return err
	})
}

// havingExactly is having for a filter that documents decide.
func (l *list) havingExactly(ctx context.Context, scan compile.Scan, since int64, out map[trace.TraceID]bool) error {
	scanner := l.r.scanner(scan, scan.Range)
	scanner.whole = true
	for {
		rows, err := scanner.next(ctx, maxBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		rows = slices.DeleteFunc(rows, func(k keyRow) bool { return k.created > since || out[k.trace] })
		if rows, _, err = l.decide.choose(ctx, rows); err != nil {
			return err
		}
		for _, k := range rows {
			out[k.trace] = true
		}
		scanner.scan.Loose = scanner.scan.Loose && l.decide.most()
		scanner.scan.Except = slices.Concat(l.w.except, keysOf(out))
	}
}

// page loads the traces of the page; it ends early where their documents or
// spans reach the bounds.
func (l *list) page(ctx context.Context) (domain.Page[[]trace.Span], error) {
	page := domain.Page[[]trace.Span]{Moved: l.w.moved}
	n := l.cut(l.w.limit)
	if n <= 0 {
		return page, nil
	}
	found, err := l.load(ctx, n)
	if errors.Is(err, errOverPage) {
		n, found, err = l.loadFitting(ctx, n)
	}
	if err != nil {
		return page, err
	}
	shown := l.places[:n]
	for _, k := range shown {
		// A trace may have been replaced since its place was found, or removed.
		if spans := found[k.trace]; slices.ContainsFunc(spans, func(s trace.Span) bool { return filter.Match(l.w.where, &s) }) {
			page.Items = append(page.Items, spans)
		}
	}
	if n < len(l.places) || !l.ended {
		page.Next = l.cursor(shown)
	}
	return page, nil
}

// load gives the traces of the first n places, whole; errOverPage where that is more
// than a page holds. The documents of a trace are mostly where that of its place is:
// they are read while it is asked where there are more.
func (l *list) load(ctx context.Context, n int) (map[trace.TraceID][]trace.Span, error) {
	var own, all []compile.Bounds
	if n <= recordsAtOnce {
		own = recordsOf(l.places[:n])
	}
	whole := l.r.wholes(l.w.project, bound{bytes: l.r.cfg.MaxPageBytes, spans: l.r.cfg.MaxPageSpans})
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return whole.read(both, own) })
	group.Go(func() (err error) {
		all, err = l.r.bounds(both, l.w.project, tracesOf(l.places[:n]))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := whole.read(ctx, unread(own, all)); err != nil {
		return nil, err
	}
	return whole.traces(all), nil
}

// loadFitting is load for as many of the first n places as fit into a page.
func (l *list) loadFitting(ctx context.Context, n int) (int, map[trace.TraceID][]trace.Span, error) {
	bounds, err := l.r.bounds(ctx, l.w.project, tracesOf(l.places[:n]))
	if err != nil {
		return 0, nil, err
	}
	if n, err = l.fit(ctx, bounds, n); err != nil {
		return 0, nil, err
	}
	bounds = slices.DeleteFunc(bounds, func(b compile.Bounds) bool {
		return !slices.ContainsFunc(l.places[:n], func(k keyRow) bool { return k.trace == b.Trace })
	})
	found, err := l.r.load(ctx, l.w.project, bounds, bound{bytes: l.r.cfg.MaxReadBytes})
	return n, found, err
}

// fit gives how many of n traces a page holds.
func (l *list) fit(ctx context.Context, bounds []compile.Bounds, n int) (int, error) {
	if len(bounds) == 0 {
		return n, nil
	}
	type size struct{ spans, bytes uint64 }
	sizes := map[trace.TraceID]size{}
	err := l.r.query(ctx, "sizes", compile.OfTraces(l.w.project, compile.Sizes, bounds, nil), func(rows driver.Rows) error {
		var id trace.TraceID
		var s size
		err := rows.Scan(traceOf(&id), &s.spans, &s.bytes)
		sizes[id] = s
		return err
	})
	if err != nil {
		return 0, err
	}
	var sum size
	for i, k := range l.places[:n] {
		s := sizes[k.trace]
		sum.spans, sum.bytes = sum.spans+s.spans, sum.bytes+s.bytes
		if i > 0 && (sum.spans > uint64(l.r.cfg.MaxPageSpans) || sum.bytes > uint64(l.r.cfg.MaxPageBytes)) { //nolint:gosec // both are positive
			return l.cut(i), nil
		}
	}
	return n, nil
}

// cursor stands behind the last of the shown. Spans that the page was made of
// were there, even if their clock is ahead of ours.
func (l *list) cursor(shown []keyRow) uuid.UUID {
	since := l.w.since
	if l.w.first || since == math.MaxInt64 {
		since = l.r.now().UnixMilli()
		for _, k := range shown {
			since = max(since, k.created)
		}
	}
	last := shown[len(shown)-1]
	return compile.Cursor{Focus: compile.Traces, Order: l.w.order, Start: last.Start, Tie: last.Tie, Walk: since}.UUID()
}
