package traces

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// walk is a list and how far its caller has come.
type walk struct {
	project domain.ProjectID
	where   filter.Expr
	cond    *filtersql.Condition
	focus   order.Focus
	order   domain.Order
	rate    sqltext.Rate
	limit   int
	// window is all of the list, rest what the caller has not seen.
	window, rest order.Range
	// first tells that this is the first page.
	first bool
	// moved tells that the bound with which the list begins was the caller's position.
	moved bool
	// seen is what the list is of, and moment when that was, in Unix milliseconds; see
	// order.Cursor. Before a walk has begun, everything was there, and moment is 0.
	seen   statements.Snapshot
	moment int64
	// except is the trace that a caller's own cursor names: it was the last one seen.
	except []trace.TraceID
	// indexed tells that a full-text index finds the filter's words.
	indexed bool
}

// empty tells that nothing can match.
func (w *walk) empty() bool { return len(w.cond.Types) == 0 || w.rest.Empty() }

// maxShortLimit is the largest page that counts as a short read. It is the default
// page of a dashboard.
const maxShortLimit = 50

// class returns the class of the list's statements. A list that searches payloads
// may read all of a project and is not short.
func (w *walk) class() slot.Class {
	if w.limit > maxShortLimit || w.cond.SearchesPayloads {
		return slot.Long
	}
	return slot.Short
}

func (w *walk) ascending() bool { return w.order == domain.Ascending }

func (w *walk) scan() statements.Scan {
	return statements.Scan{Project: w.project, Condition: w.cond, Rate: w.rate, Order: w.order, Except: w.except, FullTextIndex: w.indexed}
}

// passed is the part of the window before the rest.
func (w *walk) passed() order.Range {
	s := w.window
	if w.ascending() {
		s.High = w.rest.Low.Before()
	} else {
		s.Low = w.rest.High.After()
	}
	return s
}

// walk reads a request. The end that a list begins with is exclusive, the
// other inclusive, both by the microsecond. Source: contract §3.3.
func (r *Reader) walk(ctx context.Context, project domain.ProjectID, focus order.Focus, where filter.Expr, window domain.Window) (*walk, error) {
	if project.IsZero() {
		return nil, unauthenticated()
	}
	cond, err := filtersql.Filter(where)
	if err != nil {
		return nil, err
	}
	w := &walk{
		project: project, where: where, cond: cond, focus: focus, order: window.Order, rate: sqltext.NewRate(window.Rate),
		limit: max(window.Limit, 1), first: true,
	}
	if w.order == "" {
		w.order = domain.Descending
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if !window.Oldest.IsZero() {
		if lo = window.Oldest.UnixMicro(); w.ascending() {
			lo++
		}
	}
	if !window.Newest.IsZero() {
		if hi = window.Newest.UnixMicro(); !w.ascending() {
			hi--
		}
	}
	of := order.Starts(cond.Min, cond.Max)
	w.window = order.Starts(lo, hi).Intersect(of)
	w.rest = w.window
	if window.Next != uuid.Nil {
		if err := r.resume(ctx, w, window); err != nil {
			return nil, err
		}
		w.rest = w.rest.Intersect(of)
	}
	if cond.FullText {
		w.indexed = r.db.HasFullTextIndex(ctx)
	}
	return w, r.narrow(ctx, w)
}

// maxNarrow is how many traces a filter may name for their bounds to be looked up first.
const maxNarrow = 1024

// narrow bounds a walk by where the traces lie that its filter names.
func (r *Reader) narrow(ctx context.Context, w *walk) error {
	if w.cond.TraceIDs == nil || len(w.cond.TraceIDs) > maxNarrow || w.empty() {
		return nil
	}
	bounds, err := r.bounds(ctx, w.project, w.cond.TraceIDs)
	if err != nil {
		return err
	}
	if len(bounds) == 0 {
		w.cond.Types = nil
		return nil
	}
	lo, hi := bounds[0].Min, bounds[0].Max
	for _, b := range bounds {
		lo, hi = min(lo, b.Min), max(hi, b.Max)
	}
	w.rest = w.rest.Intersect(order.Starts(lo, hi))
	return nil
}

// resume moves a walk to its cursor: ours, or one that the caller made of the
// last item's id and start. Source: contract §0 row 22, §3.3.
func (r *Reader) resume(ctx context.Context, w *walk, window domain.Window) error {
	w.first = false
	start := window.Newest
	if w.ascending() {
		start = window.Oldest
	}
	c, ours := order.ParseCursor(window.Next, r.now())
	own, err := r.madeByCaller(ctx, w, window.Next, !start.IsZero(), ours)
	if err != nil {
		return err
	}
	switch {
	case own:
		return r.resumeBehind(ctx, w, window.Next, start.UnixMicro())
	case !ours:
		return domain.E(domain.Rejected, "windowing.next is not a cursor of this service. Copy it from the previous page, or send the last item's id together with its start_time in windowing.%s.", startBound(w.order))
	case c.Focus != w.focus && c.Focus == order.Traces:
		return domain.E(domain.Rejected, "windowing.next is a cursor of a list of traces, and this is a list of spans.")
	case c.Focus != w.focus:
		return domain.E(domain.Rejected, "windowing.next is a cursor of a list of spans, and this is a list of traces.")
	case c.Order != w.order:
		return domain.E(domain.Rejected, "windowing.next is a cursor of a list in %s order, and this one is %s.", c.Order, w.order)
	}
	if w.focus == order.Traces {
		if w.moment, w.seen, err = r.Snapshot(ctx, c.Snapshot); err != nil {
			return err
		}
	}
	// Our cursors lie within their window: here the caller took the last item's start along.
	if !start.IsZero() && w.outside(c.Start, start.UnixMicro()) {
		w.unbound()
	}
	w.behind(order.Position{Start: c.Start, SortHash: c.SortHash})
	return nil
}

func startBound(o domain.Order) string {
	if o == domain.Ascending {
		return "oldest"
	}
	return "newest"
}

// behind leaves of the rest what comes after a position, and after all that a
// cursor cannot tell from it.
func (w *walk) behind(p order.Position) {
	r := order.Everything()
	p.SortHash = w.focus.RoundSortHash(p.SortHash)
	if w.ascending() {
		p.SortHash |= ^w.focus.RoundSortHash(math.MaxUint64)
		r.Low = p.After()
	} else {
		r.High = p.Before()
	}
	w.rest = w.rest.Intersect(r)
}

// outside tells that a start lies before a list that begins at a bound.
func (w *walk) outside(start, bound int64) bool {
	if w.ascending() {
		return start <= bound
	}
	return start >= bound
}

// unbound takes away the bound with which the list begins: it was the caller's
// position. Were it kept, what had been seen before it would count as not seen.
func (w *walk) unbound() {
	w.moved = true
	all := order.Everything()
	if w.ascending() {
		w.window.Low, w.rest.Low = all.Low, all.Low
	} else {
		w.window.High, w.rest.High = all.High, all.High
	}
}

// madeByCaller tells whether a cursor is an id that the caller took from the
// last item. A span id in a UUID has a form that no cursor has; a trace id may
// look like one of ours (one in 4096 does), and then the trace it names decides.
func (r *Reader) madeByCaller(ctx context.Context, w *walk, next uuid.UUID, bounded, ours bool) (bool, error) {
	if !bounded {
		return false, nil
	}
	if _, err := trace.ParseSpanID(next.String()); w.focus == order.Spans || !ours {
		return w.focus == order.Traces || err == nil, nil
	}
	bounds, err := r.bounds(ctx, w.project, []trace.TraceID{trace.TraceID(next)})
	return len(bounds) > 0, err
}

// milli is what a start may have lost on its way through a caller whose clock counts milliseconds.
const milli = 999

// resumeBehind continues after the item that a caller names by id and start.
// The start was the end of the window so far, and says nothing but where the
// walk stands. If the item is gone, everything at that start comes (again).
func (r *Reader) resumeBehind(ctx context.Context, w *walk, next uuid.UUID, start int64) error {
	w.unbound()
	if w.ascending() {
		w.rest.Low = order.Position{Start: start}
	} else {
		w.rest.High = order.Position{Start: start, SortHash: math.MaxUint64}
	}
	var rows []keyRow
	var err error
	if w.focus == order.Traces {
		rows, err = r.placesOf(ctx, w, trace.TraceID(next), start)
	} else {
		rows, err = r.spansAt(ctx, w, next, start)
	}
	if err != nil || len(rows) == 0 {
		return err
	}
	// Of several that may be meant, the first in the list's order skips nothing.
	if w.ascending() {
		w.rest.Low = rows[0].After()
	} else {
		w.rest.High = rows[0].Before()
	}
	return nil
}

// spansAt are the spans of an id that start where a caller says.
func (r *Reader) spansAt(ctx context.Context, w *walk, next uuid.UUID, start int64) ([]keyRow, error) {
	id, err := trace.ParseSpanID(next.String())
	if err != nil {
		return nil, err
	}
	cond, err := filtersql.Filter(filter.SpanID{In: []trace.SpanID{id}})
	if err != nil {
		return nil, err
	}
	return r.scanned(ctx, "cursor", statements.Scan{Project: w.project, Condition: cond, Range: order.Starts(start, start+milli), Order: w.order, Limit: maxNamed})
}

// placesOf are the rows of a trace that its place may have been, and leaves the trace out
// of what follows. A caller may not know the place: what a trace shows first is the start
// of its root, where a list that runs down has passed all that lies between.
func (r *Reader) placesOf(ctx context.Context, w *walk, id trace.TraceID, start int64) ([]keyRow, error) {
	w.except = []trace.TraceID{id}
	named := filter.And{filter.TraceID{In: w.except}}
	if w.where != nil {
		named = append(named, w.where)
	}
	cond, err := filtersql.Filter(named)
	if err != nil {
		return nil, err
	}
	bounds, err := r.bounds(ctx, w.project, w.except)
	if err != nil || len(bounds) == 0 {
		return nil, err
	}
	rows, err := r.scanned(ctx, "cursor", statements.Scan{Project: w.project, Condition: cond, Range: order.Starts(bounds[0].Min, bounds[0].Max), Order: w.order, Limit: maxNamed})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	at := slices.IndexFunc(rows, func(k keyRow) bool { return start <= k.Start && k.Start <= start+milli })
	if at < 0 || at == len(rows)-1 {
		at = 0
	}
	return rows[at:], nil
}
