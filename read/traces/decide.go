package traces

import (
	"context"
	"errors"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
)

// decider chooses among the rows of a scan those for which the filter holds.
// Where the statement was exact all do; else their documents are read, up to a
// bound for the whole request.
type decider struct {
	r *Reader
	w *walk
	// exact tells that rows need no decision.
	exact bool
	// shows tells that the page shows what its spans sum; summed are the chosen ones
	// that have that already.
	shows  bool
	summed map[identity]bool
	// examined rows were read, and of them matched were chosen.
	examined, matched int
	// size is the next batch; it grows while few rows match.
	size int
}

// The sizes of batches whose documents are read.
const (
	firstBatch = 64
	maxBatch   = 2000
)

func (r *Reader) decider(w *walk) *decider {
	return &decider{r: r, w: w, exact: w.cond.Exact && !w.cond.ReadsCumulative, summed: map[identity]bool{}, size: firstBatch}
}

// batch is how many rows to scan for when n are missing: some more, because
// versions of one span are rows of their own.
func (d *decider) batch(n int) int {
	if d.exact {
		return n + n/8 + 8
	}
	return min(max(d.size, n+n/8), maxBatch)
}

// choose gives the matching rows in order and their spans; spans is nil where
// nothing had to be read. Spans carry cumulative metrics if the filter asks for them.
func (d *decider) choose(ctx context.Context, rows []keyRow) ([]keyRow, map[identity]*trace.Span, error) {
	rows = latest(rows)
	if d.exact {
		return rows, nil, nil
	}
	matched := make([]keyRow, 0, len(rows))
	spans := make(map[identity]*trace.Span, len(rows))
	for len(rows) > 0 {
		n, along := d.portion(rows), d.shows && d.most()
		if d.examined += n; d.examined > d.r.cfg.MaxExamined {
			return nil, nil, domain.E(domain.Rejected, "The documents of %d spans were read and too few of them match. Narrow the query: bound it by windowing.oldest and windowing.newest, or add a condition on a session, user, reference, link or attribute value.", d.r.cfg.MaxExamined)
		}
		d.r.metrics.examined.Add(float64(n))
		fetched, summed, err := d.fetch(ctx, rows[:n], along)
		if err != nil {
			return nil, nil, err
		}
		for i := range fetched {
			s := &fetched[i]
			if id := (identity{s.TraceID, s.SpanID}); filter.Match(d.w.where, s) {
				spans[id] = s
				d.summed[id] = summed
			}
		}
		for _, k := range rows[:n] {
			if spans[k.identity] != nil {
				matched = append(matched, k)
				d.matched++
			}
		}
		rows = rows[n:]
	}
	if !d.most() {
		d.size = min(d.size*growth, maxBatch)
	}
	return matched, spans, nil
}

// most tells that at least half of what was read matched.
func (d *decider) most() bool { return 2*d.matched >= d.examined }

// fetch gives the spans of rows, and tells whether they have their cumulative
// metrics: where the filter asks for them, and with along, if that is not too much.
// Where most of what is read is shown it is one look at documents in place of two.
func (d *decider) fetch(ctx context.Context, rows []keyRow, along bool) (spans []trace.Span, summed bool, err error) {
	if d.w.cond.ReadsCumulative {
		spans, err = d.r.summed(true, true)(ctx, d.w.project, rows, d.r.cfg.MaxReadBytes)
		return spans, true, err
	}
	if along {
		spans, err = d.r.summedBeside(ctx, d.w.project, rows, true, true, d.r.cfg.MaxReadBytes)
		if !errors.Is(err, errBeside) {
			return spans, true, err
		}
	}
	spans, err = d.r.fetchLatest(ctx, d.w.project, rows, d.r.cfg.MaxReadBytes)
	return spans, false, err
}

// portion is how many rows to read at once: what fits into a page's bytes.
func (d *decider) portion(rows []keyRow) int {
	var bytes int64
	for i, k := range rows {
		if bytes += int64(k.bytes); i > 0 && bytes > d.r.cfg.MaxPageBytes {
			return i
		}
	}
	return len(rows)
}
