package traces

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/clickhouse"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// Traces gives a page of the traces of which some span matches, in the order
// of their places. See read/api/spans.Reader.
//
// A trace's place is the first of its matching spans in the list's order: the
// latest when descending. So a trace comes once: where a walk meets another of
// its spans further on, the place was on an earlier page. For a span that
// arrives while a caller walks see places.
func (r *Reader) Traces(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[[]trace.Span], error) {
	w, err := r.walk(clickhouse.Admit(ctx, project, slot.Short), project, order.Traces, where, window)
	if err != nil || w.empty() {
		return domain.Page[[]trace.Span]{}, err
	}
	ctx = clickhouse.Admit(ctx, project, w.class())
	l := &list{r: r, w: w, decide: r.decider(w), settled: map[trace.TraceID]bool{}, later: map[trace.TraceID]keyRow{}}
	if w.moment == 0 {
		return l.begin(ctx)
	}
	if err := l.collect(ctx); err != nil {
		return domain.Page[[]trace.Span]{}, err
	}
	return l.page(ctx)
}

// maxTries is how often a first page is made anew without traces that stand further
// down; then it is shorter.
const maxTries = 8

// begin gives the page that a walk begins with. It is put together of all that is there,
// and then rid of the traces that stand on a later page: it has them for rows that came
// after the moment of the walk, so that the later page would have them again.
func (l *list) begin(ctx context.Context) (domain.Page[[]trace.Span], error) {
	var moment int64
	var seen statements.Snapshot
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		moment, seen, err = l.r.Snapshot(both, 0)
		return err
	})
	group.Go(func() error { return l.collect(both) })
	if err := group.Wait(); err != nil {
		return domain.Page[[]trace.Span]{}, err
	}
	l.w.moment = moment
	for try := 1; ; try++ {
		page, err := l.page(ctx)
		if err != nil || page.Next == uuid.Nil {
			return page, err
		}
		moved, err := l.postpone(ctx, seen)
		if err != nil || !moved {
			return page, err
		}
		if try == maxTries {
			return l.without(page), nil
		}
		if err := l.collect(ctx); err != nil {
			return domain.Page[[]trace.Span]{}, err
		}
	}
}

// without leaves of a page what was not postponed.
func (l *list) without(page domain.Page[[]trace.Span]) domain.Page[[]trace.Span] {
	page.Items = slices.DeleteFunc(page.Items, func(spans []trace.Span) bool {
		_, later := l.later[spans[0].TraceID]
		return later
	})
	return page
}

// postpone gives traces of the page the places that they have by what was seen at the
// moment of the walk, and tells whether there were any that stand behind its end.
func (l *list) postpone(ctx context.Context, seen statements.Snapshot) (moved bool, err error) {
	var late []keyRow
	for _, k := range l.shown {
		if !seen.Visible(k.partition, k.version) && !l.settledAsOf(k, seen) {
			late = append(late, k)
		}
	}
	if len(late) == 0 {
		return false, nil
	}
	firsts, err := l.firsts(ctx, late, seen)
	if err != nil {
		return false, err
	}
	last := l.shown[len(l.shown)-1].Position
	for _, k := range late {
		if at, ok := firsts[k.trace]; ok && l.behind(at, last) {
			k.Position = at
			l.later[k.trace], moved = k, true
		}
	}
	l.places = slices.DeleteFunc(l.places, func(k keyRow) bool { _, later := l.later[k.trace]; return later })
	return moved, nil
}

// settledAsOf tells, from a trace of the page alone, that it stands on it by what was
// seen as well: it came in one piece, or has a span there that counts.
func (l *list) settledAsOf(k keyRow, seen statements.Snapshot) bool {
	last := l.shown[len(l.shown)-1].Start
	first, known := uint64(math.MaxUint64), false
	var counts []*trace.Span
	spans := l.found[k.trace]
	for i := range spans {
		s := &spans[i]
		record, old := s.Version>>schema.VersionShift, seen.Visible(k.partition, s.Version)
		if known && !old || !old && record > first || !filter.Match(l.w.where, s) {
			continue
		}
		if old && !known || !old && record < first {
			counts = counts[:0]
		}
		known, first = known || old, min(first, record)
		counts = append(counts, s)
	}
	if !known && first == k.version>>schema.VersionShift {
		return true // the first row of all of it is the first of what came first
	}
	return slices.ContainsFunc(counts, func(s *trace.Span) bool {
		start := time.Unix(0, s.Start).UnixMicro()
		if !l.w.window.Contains(order.Position{Start: start}) {
			return false
		}
		if l.w.ascending() {
			return start < last
		}
		return start > last
	})
}

// behind tells whether a position comes on a later page than what ends with last.
func (l *list) behind(p, last order.Position) bool {
	p.SortHash, last.SortHash = l.w.focus.RoundSortHash(p.SortHash), l.w.focus.RoundSortHash(last.SortHash)
	if l.w.ascending() {
		return last.Less(p)
	}
	return p.Less(last)
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
	// later are places further down than they were found at. Those that the scan has
	// come to are among the places again.
	later map[trace.TraceID]keyRow
	// shown are the places of the page, and found its traces.
	shown []keyRow
	found map[trace.TraceID][]trace.Span

	// reached is the last row that the scan gave.
	reached order.Position
	scanner *scanner
	size    int
	looked  int
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
// cursor can tell it from the page's last. It goes on where it ended.
func (l *list) collect(ctx context.Context) error {
	if l.scanner == nil {
		l.scanner = l.r.scanner(l.w.scan(), l.w.rest)
		l.scanner.whole = l.scanner.whole || len(l.w.cond.TraceIDs) > 0
		l.size = l.r.pace.rowsOf(l.scanner.list, l.w.limit+1)
	}
	l.rejoin()
	for l.cut(l.w.limit) < 0 {
		batch := min(l.size, maxRows)
		if !l.decide.exact {
			batch = l.decide.batch(l.w.limit + 1 - len(l.places))
		}
		rows, err := l.scanner.next(ctx, batch)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			l.ended = true
			l.rejoin()
			return nil
		}
		l.reached = rows[len(rows)-1].Position
		if err := l.add(ctx, rows); err != nil {
			return err
		}
		l.rejoin()
		l.scanner.scan.SkipRecheck = l.scanner.scan.SkipRecheck && l.decide.most()
		l.looked += len(rows)
		l.r.pace.sawTraces(l.scanner.list, l.looked, len(l.places))
		l.size = min(l.size*growth, maxRows)
		if len(l.settled) <= maxExcept { // a trace of thousands of spans is met once, not row by row
			l.scanner.scan.Except = slices.Concat(l.w.except, keysOf(l.settled))
		}
	}
	return nil
}

// rejoin puts those of the later places among the others that the scan has passed.
func (l *list) rejoin() {
	before := func(p, q order.Position) bool {
		if l.w.ascending() {
			return p.Less(q)
		}
		return q.Less(p)
	}
	for id, k := range l.later {
		if l.ended || before(k.Position, l.reached) {
			at, _ := slices.BinarySearchFunc(l.places, k, func(a, b keyRow) int {
				if before(a.Position, b.Position) {
					return -1
				}
				return 1
			})
			l.places = slices.Insert(l.places, at, k)
			delete(l.later, id)
		}
	}
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
	return a.Start != b.Start || l.w.focus.RoundSortHash(a.SortHash) != l.w.focus.RoundSortHash(b.SortHash)
}

// add takes rows in order and finds the places among them.
//
// A walk that goes on is of a moment. Spans that readers see only since do not move
// a trace that was there, else it might come on no page or on two: its place is that
// of its older spans. The place of a trace that is all new is that of what came of it
// first, for more of it may come.
func (l *list) add(ctx context.Context, rows []keyRow) error {
	rows = slices.DeleteFunc(rows, func(k keyRow) bool { return l.settled[k.trace] })
	rows, _, err := l.decide.choose(ctx, rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	var passed map[trace.TraceID]bool
	var firsts map[trace.TraceID]order.Position
	if !l.w.first {
		if passed, err = l.having(ctx, l.w.passed(), rows, l.w.seen); err != nil {
			return err
		}
		late := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { return l.w.seen.Visible(k.partition, k.version) })
		if firsts, err = l.firsts(ctx, late, l.w.seen); err != nil {
			return err
		}
	}
	for _, k := range rows {
		first, isNew := firsts[k.trace]
		isNew = isNew && !l.w.seen.Visible(k.partition, k.version)
		switch {
		case l.settled[k.trace]:
		case passed[k.trace] || isNew && l.w.passed().Contains(first):
			l.settled[k.trace] = true
		case isNew && first != k.Position: // waits for the row that counts
		default:
			l.settled[k.trace] = true
			l.places = append(l.places, k)
		}
	}
	return nil
}

// firsts gives where the traces of rows stand by what was seen; see statements.Scan.Firsts.
func (l *list) firsts(ctx context.Context, rows []keyRow, seen statements.Snapshot) (map[trace.TraceID]order.Position, error) {
	out := map[trace.TraceID]order.Position{}
	scan, ok, err := l.scanOf(ctx, l.w.window, rows)
	if err != nil || !ok {
		return out, err
	}
	if l.decide.exact {
		return out, l.r.db.Query(ctx, "firsts", scan.Firsts(seen), func(rows driver.Rows) error {
			var id trace.TraceID
			var start int64
			var tie uint64
			err := rows.Scan(traceOf(&id), &start, &tie)
			out[id] = scan.FirstAt(start, tie)
			return err
		})
	}
	best := map[trace.TraceID]keyRow{}
	err = l.matching(ctx, scan, nil, func(k keyRow) {
		b, there := best[k.trace]
		old, oldBest := seen.Visible(k.partition, k.version), seen.Visible(b.partition, b.version)
		sooner := k.version>>schema.VersionShift < b.version>>schema.VersionShift
		if !there || old && !oldBest || !old && !oldBest && sooner { // rows come in order: of equals the first stays
			best[k.trace], out[k.trace] = k, k.Position
		}
	})
	return out, err
}

// having gives those of the rows' traces that have a matching span in a range that
// was seen.
func (l *list) having(ctx context.Context, in order.Range, rows []keyRow, seen statements.Snapshot) (map[trace.TraceID]bool, error) {
	out := map[trace.TraceID]bool{}
	scan, ok, err := l.scanOf(ctx, in, rows)
	if err != nil || !ok {
		return out, err
	}
	if !l.decide.exact {
		return out, l.matching(ctx, scan, out, func(k keyRow) {
			if seen.Visible(k.partition, k.version) {
				out[k.trace] = true
			}
		})
	}
	return out, l.r.db.Query(ctx, "having", scan.Having(seen), func(rows driver.Rows) error {
		var id trace.TraceID
		err := rows.Scan(traceOf(&id))
		out[id] = true
		return err
	})
}

// scanOf is the scan of a range for the traces of rows alone; not ok where none of them
// has anything there.
func (l *list) scanOf(ctx context.Context, in order.Range, rows []keyRow) (scan statements.Scan, ok bool, err error) {
	if len(rows) == 0 || in.Empty() {
		return scan, false, nil
	}
	only := make(map[trace.TraceID]bool, len(rows))
	for _, k := range rows {
		only[k.trace] = true
	}
	bounds, err := l.r.bounds(ctx, l.w.project, keysOf(only))
	if err != nil {
		return scan, false, err
	}
	scan = l.w.scan()
	scan.Range = order.Range{Low: order.Position{Start: math.MaxInt64}}
	for _, b := range bounds {
		// Most traces of a page lie beside it, and have nothing on the side that was seen.
		if of := order.Starts(b.Min, b.Max).Intersect(in); !of.Empty() {
			scan.Only = append(scan.Only, b.Trace)
			if of.Low.Less(scan.Range.Low) {
				scan.Range.Low = of.Low
			}
			if scan.Range.High.Less(of.High) {
				scan.Range.High = of.High
			}
		}
	}
	return scan, len(scan.Only) > 0, nil
}

// matching gives the rows of a scan that match a filter that documents decide, in order;
// those of traces that are enough are left out.
func (l *list) matching(ctx context.Context, scan statements.Scan, enough map[trace.TraceID]bool, each func(keyRow)) error {
	scanner := l.r.scanner(scan, scan.Range)
	scanner.whole = true
	for {
		rows, err := scanner.next(ctx, maxBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		rows = slices.DeleteFunc(rows, func(k keyRow) bool { return enough[k.trace] })
		if rows, _, err = l.decide.choose(ctx, rows); err != nil {
			return err
		}
		for _, k := range rows {
			each(k)
		}
		scanner.scan.SkipRecheck = scanner.scan.SkipRecheck && l.decide.most()
		scanner.scan.Except = slices.Concat(l.w.except, keysOf(enough))
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
	l.shown, l.found = shown, found
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
	var own, all []statements.Bounds
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
	if err := whole.read(ctx, statements.Unread(own, all)); err != nil {
		return nil, err
	}
	return whole.traces(ctx, all)
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
	bounds = slices.DeleteFunc(bounds, func(b statements.Bounds) bool {
		return !slices.ContainsFunc(l.places[:n], func(k keyRow) bool { return k.trace == b.Trace })
	})
	found, err := l.r.load(ctx, l.w.project, bounds, bound{bytes: l.r.cfg.MaxReadBytes})
	return n, found, err
}

// fit gives how many of n traces a page holds.
func (l *list) fit(ctx context.Context, bounds []statements.Bounds, n int) (int, error) {
	if len(bounds) == 0 {
		return n, nil
	}
	type size struct{ spans, bytes uint64 }
	sizes := map[trace.TraceID]size{}
	err := l.r.db.Query(ctx, "sizes", statements.OfTraces(l.w.project, statements.Sizes, bounds, nil), func(rows driver.Rows) error {
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

// cursor stands behind the last of the shown.
func (l *list) cursor(shown []keyRow) uuid.UUID {
	last := shown[len(shown)-1]
	return order.Cursor{Focus: order.Traces, Order: l.w.order, Start: last.Start, SortHash: last.SortHash, Snapshot: l.w.moment}.UUID()
}
