package traces

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/read/clickhouse"
	"colonnade/read/order"
)

// Spans gives a page of the spans for which the filter holds, in the window's
// order. See read/api/spans.Reader.
func (r *Reader) Spans(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[trace.Span], error) {
	w, err := r.walk(clickhouse.Admit(ctx, project, slot.Short), project, order.Spans, where, window)
	if err != nil || w.empty() {
		return domain.Page[trace.Span]{}, err
	}
	ctx = clickhouse.Admit(ctx, project, w.class())
	c, err := r.collect(ctx, w, true)
	if err != nil {
		return domain.Page[trace.Span]{}, err
	}
	rows, _ := c.page()
	crowded := c.crowded()
	if !c.lacksSums(rows) {
		return c.load(ctx, r.summed(crowded, !c.latest()))
	}
	page, err := c.load(ctx, c.fetcher())
	if err != nil {
		return page, err
	}
	known, err := r.sumsBeside(ctx, project, rows, crowded)
	if err != nil {
		return domain.Page[trace.Span]{}, err
	}
	known.cumulate(page.Items)
	return page, nil
}

// lacksSums tells that some of the rows were read to decide, without what they sum.
func (c *collection) lacksSums(rows []keyRow) bool {
	return c.spans != nil && slices.ContainsFunc(rows, func(k keyRow) bool { return !c.summed[k.identity] })
}

// Records is Spans for views that show no metrics: its spans come without the
// cumulative ones, for which the whole of each trace would be looked at.
func (r *Reader) Records(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[trace.Span], error) {
	w, err := r.walk(clickhouse.Admit(ctx, project, slot.Short), project, order.Spans, where, window)
	if err != nil || w.empty() {
		return domain.Page[trace.Span]{}, err
	}
	ctx = clickhouse.Admit(ctx, project, w.class())
	c, err := r.collect(ctx, w, false)
	if err != nil {
		return domain.Page[trace.Span]{}, err
	}
	return c.load(ctx, c.fetcher())
}

// fetcher is for the rows of the page.
func (c *collection) fetcher() fetcher {
	if c.latest() {
		return c.r.fetch
	}
	return c.r.fetchLatest
}

// latest tells that the rows are the latest versions: a scan of everything that
// gave no two versions of a span gave those.
func (c *collection) latest() bool { return c.w.scan().Plain() && !c.versioned }

// load makes the page; fetch reads those of its spans that did not have to be read to decide.
func (c *collection) load(ctx context.Context, fetch fetcher) (domain.Page[trace.Span], error) {
	rows, next := c.page()
	var missing []keyRow
	for _, k := range rows {
		if c.spans[k.identity] == nil {
			missing = append(missing, k)
		}
	}
	fetched, err := fetch(ctx, c.w.project, missing, c.maxRead)
	if err != nil {
		return domain.Page[trace.Span]{}, err
	}
	c.keep(c.w, missing, fetched)
	page := domain.Page[trace.Span]{Next: next, Moved: c.w.moved, Items: make([]trace.Span, 0, len(rows))}
	for _, k := range rows {
		if s := c.spans[k.identity]; s != nil {
			page.Items = append(page.Items, *s)
		}
	}
	return page, nil
}

// collection is the rows of a page to be, and the spans where they had to be read to decide.
type collection struct {
	r *Reader
	w *walk
	// maxBytes bounds the documents of the page, maxRead those of what is read for it.
	maxBytes, maxRead int64
	rows              []keyRow
	// versions tells which version of a span is among the rows.
	versions map[identity]uint64
	// spans are those that were read to decide; nil while rows alone do. summed are
	// those of them that have their cumulative metrics.
	spans  map[identity]*trace.Span
	summed map[identity]bool
	ended  bool
	// versioned tells that a scan gave several versions of a span, or rows that do
	// not match: it may have ended between two versions.
	versioned bool
}

// collect scans until there is one row more than the page needs; shows tells
// that the page shows cumulative metrics.
func (r *Reader) collect(ctx context.Context, w *walk, shows bool) (*collection, error) {
	c := &collection{r: r, w: w, maxBytes: r.cfg.MaxPageBytes, maxRead: r.cfg.MaxReadBytes, versions: map[identity]uint64{}}
	decide := r.decider(w)
	decide.shows, c.summed = shows, decide.summed
	scanner := r.scanner(w.scan(), w.rest)
	scanner.whole = scanner.whole || len(w.cond.TraceIDs) > 0
	fetch := fetcher(r.fetch)
	if shows {
		fetch = r.summed(true, false)
	}
	rows, spans, err := scanner.together(ctx, w, decide.batch(w.limit+1), fetch)
	if err != nil {
		return nil, err
	}
	for id := range spans {
		decide.summed[id] = shows
	}
	c.add(rows, spans)
	for len(c.rows) <= w.limit && !c.full() {
		rows, err := scanner.next(ctx, decide.batch(w.limit+1-len(c.rows)))
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			c.ended = true
			break
		}
		all := len(rows)
		rows, spans, err := decide.choose(ctx, rows)
		if err != nil {
			return nil, err
		}
		scanner.scan.SkipRecheck = scanner.scan.SkipRecheck && decide.most()
		c.versioned = c.versioned || len(rows) < all
		c.add(rows, spans)
	}
	return c, nil
}

// full tells that the documents so far fill a page.
func (c *collection) full() bool {
	return len(c.rows) > 1 && bytesOf(c.rows) > c.maxBytes
}

// add takes rows in order. Of two versions of a span that was moved in time
// the later one stays, wherever it stands.
func (c *collection) add(rows []keyRow, spans map[identity]*trace.Span) {
	for _, k := range rows {
		old, there := c.versions[k.identity]
		if there && old >= k.version {
			continue
		}
		if there {
			c.rows = slices.DeleteFunc(c.rows, func(o keyRow) bool { return o.identity == k.identity })
		}
		c.versions[k.identity] = k.version
		c.rows = append(c.rows, k)
	}
	if spans == nil {
		return
	}
	if c.spans == nil {
		c.spans = spans
		return
	}
	maps.Copy(c.spans, spans)
}

// page gives the page's rows and the cursor behind them. It ends early where
// its documents reach the bound.
func (c *collection) page() ([]keyRow, uuid.UUID) {
	var bytes int64
	n := 0
	for ; n < len(c.rows) && n < c.w.limit; n++ {
		if bytes += int64(c.rows[n].bytes); n > 0 && bytes > c.maxBytes {
			break
		}
	}
	if n == len(c.rows) && c.ended {
		return c.rows, uuid.Nil
	}
	last := c.rows[n-1].Position
	return c.rows[:n], order.Cursor{Focus: order.Spans, Order: c.w.order, Start: last.Start, SortHash: last.SortHash}.UUID()
}

// keep takes fetched spans. One that was replaced since its row was found may not match any more.
func (c *collection) keep(w *walk, rows []keyRow, fetched []trace.Span) {
	if c.spans == nil {
		c.spans = make(map[identity]*trace.Span, len(fetched))
	}
	versions := make(map[identity]uint64, len(rows))
	for _, k := range rows {
		versions[k.identity] = k.version
	}
	for i := range fetched {
		s := &fetched[i]
		id := identity{s.TraceID, s.SpanID}
		if s.Version == versions[id] || filter.Match(w.where, s) {
			c.spans[id] = s
		}
	}
}
