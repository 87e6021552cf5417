package traces

import (
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/filtersql/traits"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// said finds rows by what was said in them: of an invocation, by an evaluator,
// of a revision. It reads the places of the next of them, in the order of the
// list, from the table that is ordered by that; the scan then looks at these
// places alone and decides as ever, so that both ways give the same rows.
type said struct {
	r       *Reader
	project domain.ProjectID
	of      *traits.Annotations
	order   domain.Order
	// keys are the evaluators'; found tells that they were looked for.
	keys  []string
	found bool
	// size is how many places are read next; it grows while few of them match.
	size int
}

// together gives the first spans of a list whose places are known, documents
// and all: most of them match, and what decides that in a row costs more than
// the documents, which the page needs anyhow. The scan goes on behind them. It
// gives nothing, and leaves all to the scan, where they do not fit into a page.
func (s *scanner) together(ctx context.Context, w *walk, limit int, fetch fetcher) ([]keyRow, map[identity]*trace.Span, error) {
	if s.said == nil || w.cond.ReadsCumulative || s.done() {
		return nil, nil, nil
	}
	window, places, err := s.said.next(ctx, s.rest, limit)
	if err != nil || len(places) == 0 {
		s.rest = none()
		return nil, nil, err
	}
	keys := make([]statements.Key, 0, len(places)*len(w.cond.Types))
	for _, t := range w.cond.Types {
		for _, p := range places {
			keys = append(keys, statements.Key{Type: t, Position: p})
		}
	}
	found, err := s.r.keys(ctx, "keys_said", statements.ByKeys(w.project, statements.Keys, keys))
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(latest(found), func(k keyRow) bool { return !w.rate.Keeps(k.trace) })
	if s.r.overPage(found) {
		return nil, nil, nil
	}
	fetched, err := fetch(ctx, w.project, found, s.r.cfg.MaxReadBytes)
	if err != nil {
		return nil, nil, err
	}
	spans := make(map[identity]*trace.Span, len(fetched))
	for i := range fetched {
		if span := &fetched[i]; filter.Match(w.where, span) {
			spans[identity{span.TraceID, span.SpanID}] = span
		}
	}
	rows := slices.DeleteFunc(found, func(k keyRow) bool { return spans[k.identity] == nil })
	sortByPlace(rows, s.scan.Order)
	s.skip(window)
	return rows, spans, nil
}

// overPage tells that the spans of rows do not fit into a page.
func (r *Reader) overPage(rows []keyRow) bool {
	return bytesOf(rows) > r.cfg.MaxPageBytes || len(rows) > r.cfg.MaxPageSpans
}

// none is a range in which nothing lies.
func none() order.Range { return order.Range{Low: order.Position{Start: 1}} }

// saidBy gives nil where no such table knows the places of a condition, or
// where the ids of traces lead there in fewer steps.
func (r *Reader) saidBy(scan statements.Scan) *said {
	c := scan.Condition
	if c.AnnotationLookup == nil || c.TraceIDs != nil {
		return nil
	}
	return &said{r: r, project: scan.Project, of: c.AnnotationLookup, order: scan.Order}
}

// maxPlaces bounds the places of one scan.
const maxPlaces = 2000

// next gives the places of the next rows of a window, at most some more than
// limit, and what is left of the window up to the last of them; none where the
// window has none.
func (s *said) next(ctx context.Context, window order.Range, limit int) (order.Range, []order.Position, error) {
	if err := s.evaluators(ctx); err != nil || len(s.keys) == 0 && s.of.LinkedTraces == nil {
		return window, nil, err
	}
	s.size = min(max(s.size*growth, limit), maxPlaces)
	statement := statements.AnnotationPositions{Project: s.project, Lookup: s.of, Keys: s.keys, Range: window, Order: s.order, Limit: s.size}.Statement()
	var places []order.Position
	rows := 0
	err := s.r.db.Query(ctx, "places", statement, func(row driver.Rows) error {
		var p order.Position
		err := row.Scan(&p.Start, &p.SortHash)
		if rows++; len(places) == 0 || places[len(places)-1] != p {
			places = append(places, p)
		}
		return err
	})
	if rows < s.size || len(places) == 0 {
		return window, places, err
	}
	if last := places[len(places)-1]; s.order == domain.Ascending {
		window.High = last
	} else {
		window.Low = last
	}
	return window, places, err
}

// evaluators finds the keys under which rows of the evaluators stand.
func (s *said) evaluators(ctx context.Context) error {
	if s.found {
		return nil
	}
	s.found = true
	if s.of.LinkedTraces != nil && len(s.of.Evaluators) > 0 {
		return nil // the annotations of some traces are few, whoever made them
	}
	s.keys = append(s.keys, s.of.Slugs...)
	if len(s.of.Evaluators) == 0 {
		return nil
	}
	return s.r.db.Query(ctx, "evaluator_keys", statements.EvaluatorKeys(s.project, s.of.Evaluators), func(row driver.Rows) error {
		var key string
		err := row.Scan(&key)
		s.keys = append(s.keys, key)
		return err
	})
}
