package traces

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// What the spans of a page sum over all below them (contract §1.6), where that is
// not known from beside their documents (beside.go). Of a trace that is settled
// the sink has added it up, and a short read by the keys of the page finds it. Of
// others all spans are read, which lie among everything else that ran while they
// did: a hundred thousand rows for a page of fifty where thousands of spans start
// in a second.

// quiet is how long ago traces were settled of which it is believed: what is read
// here of a replicated store may come from a replica that has what says so, and
// not yet the sums. Of spans received since, to ask would be in vain.
const quiet = time.Minute

// crowd is how many spans start in a second where those that ran beside the
// traces of a page are worth going round: three short reads in place of two.
const crowd = 1000

// crowded tells whether that many ran beside the rows of the page. It is known
// of a page of everything; of others it may be.
func (c *collection) crowded() bool {
	if !c.w.scan().Plain() {
		return true
	}
	rows, _ := c.page()
	if len(rows) < 2 {
		return false
	}
	apart := math.Abs(float64(rows[len(rows)-1].Start-rows[0].Start)) / float64(len(rows)-1)
	return apart*crowd < float64(time.Second.Microseconds())
}

// sums are what some spans sum.
type sums struct {
	// settled are the traces of which below tells all: a span without a row there
	// sums what is its own.
	settled map[trace.TraceID]bool
	written map[trace.TraceID]uint64 // the last version that was written of them
	below   map[identity]*sumRow
	// others are all spans of the other traces.
	others map[identity]*metricRow
}

// sumRow is a row of statements.Cumulative.
type sumRow struct {
	identity
	version uint64
	// values are those of spanmetrics.Sum; NaN is 0.
	values [spanmetrics.Count]float64
}

// exact tells that the row says to the last digit what whole numbers sum to.
func (s *sumRow) exact() bool {
	return !slices.ContainsFunc(s.values[:], func(v float64) bool { return math.Abs(v) >= 1<<53 })
}

// metricRow is a row of statements.Metrics.
type metricRow struct {
	version uint64
	spanmetrics.Incremental
}

// sumsOf reads what the spans of these rows sum; crowded tells whether to ask
// for what is settled.
func (r *Reader) sumsOf(ctx context.Context, project domain.ProjectID, rows []keyRow, crowded bool) (*sums, error) {
	s := &sums{}
	if crowded {
		var err error
		if s.settled, s.written, err = r.settledOf(ctx, project, rows); err != nil {
			return nil, err
		}
	}
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return r.addBelow(both, project, rows, s) })
	group.Go(func() (err error) {
		s.others, err = r.metricsOf(both, project, tracesOf(rows), s.settled)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	inexact := map[trace.TraceID]bool{}
	for _, row := range s.below {
		if !row.exact() {
			inexact[row.trace] = true
		}
	}
	if len(inexact) == 0 {
		return s, nil
	}
	more, err := r.metricsOf(ctx, project, keysOf(inexact), nil)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(s.settled, func(id trace.TraceID, _ bool) bool { return inexact[id] })
	maps.Copy(s.others, more)
	return s, nil
}

// settledOf gives those of the rows' traces that are settled and were not
// written to since. The sink writes sums before it says so: who reads them after
// it said so finds them. written is the last version that was written of each.
func (r *Reader) settledOf(ctx context.Context, project domain.ProjectID, rows []keyRow) (out map[trace.TraceID]bool, written map[trace.TraceID]uint64, err error) {
	out = map[trace.TraceID]bool{}
	before, newer := r.now().Add(-quiet), map[trace.TraceID]bool{}
	for _, k := range rows {
		if k.created > before.UnixMilli() {
			newer[k.trace] = true
		}
	}
	old := slices.DeleteFunc(tracesOf(rows), func(id trace.TraceID) bool { return newer[id] })
	if len(old) == 0 {
		return out, nil, nil
	}
	var settled map[trace.TraceID]uint64
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		written, err = r.versions(ctx, "written", statements.WrittenVersions(project, old))
		return err
	})
	group.Go(func() (err error) {
		settled, err = r.versions(ctx, "settled", statements.FinalizedVersions(project, old, before.UnixMicro()))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for id, version := range written {
		if at, there := settled[id]; there && at >= version {
			out[id] = true
		}
	}
	return out, written, nil
}

// unsure gives those of the rows that may not be the latest version of their
// span: their trace was written to in a later record, or they are not among its spans.
func (s *sums) unsure(rows []keyRow) (out []keyRow) {
	for _, k := range rows {
		m := s.others[k.identity]
		switch {
		case m != nil && m.version == k.version:
		case s.settled[k.trace] && s.written[k.trace]>>schema.VersionShift == k.version>>schema.VersionShift:
		default:
			out = append(out, k)
		}
	}
	return out
}

// versions reads the highest version of each trace.
func (r *Reader) versions(ctx context.Context, name string, s sqltext.Statement) (map[trace.TraceID]uint64, error) {
	out := map[trace.TraceID]uint64{}
	err := r.db.Query(ctx, name, s, func(rows driver.Rows) error {
		var id trace.TraceID
		var version uint64
		err := rows.Scan(traceOf(&id), &version)
		out[id] = max(out[id], version)
		return err
	})
	return out, err
}

// addBelow reads the sums of those rows whose traces are settled.
func (r *Reader) addBelow(ctx context.Context, project domain.ProjectID, rows []keyRow, s *sums) error {
	s.below = map[identity]*sumRow{}
	of := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { return !s.settled[k.trace] })
	for chunk := range slices.Chunk(of, fetchChunk) {
		err := r.db.Query(ctx, "sums", statements.ByKeys(project, statements.Cumulative, keysOfRows(chunk)), func(rows driver.Rows) error {
			var m sumRow
			v := &m.values
			err := rows.Scan(traceOf(&m.trace), spanOf(&m.span), &m.version, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6])
			if old := s.below[m.identity]; old == nil || old.version < m.version {
				s.below[m.identity] = &m
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// metricsOf reads the metrics of all spans of some traces but the settled.
func (r *Reader) metricsOf(ctx context.Context, project domain.ProjectID, traces []trace.TraceID, settled map[trace.TraceID]bool) (map[identity]*metricRow, error) {
	traces = slices.DeleteFunc(traces, func(id trace.TraceID) bool { return settled[id] })
	bounds, err := r.bounds(ctx, project, traces)
	if err != nil || len(bounds) == 0 {
		return map[identity]*metricRow{}, err
	}
	return r.metricsWithin(ctx, project, bounds)
}

// metricsWithin reads the metrics of all spans of the traces that lie there.
func (r *Reader) metricsWithin(ctx context.Context, project domain.ProjectID, bounds []statements.Bounds) (map[identity]*metricRow, error) {
	out := map[identity]*metricRow{}
	err := r.db.Query(ctx, "metrics", statements.OfTraces(project, statements.Metrics, bounds, nil), func(rows driver.Rows) error {
		var m metricRow
		var id identity
		var start int64
		var nano uint16
		var typ int8
		v := &m.Metrics
		err := rows.Scan(traceOf(&id.trace), spanOf(&m.ID), spanOf(&m.Parent), &m.version, &start, &nano, &typ, &m.Response, (*uint64)(&m.Failure), &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6])
		m.Start, id.span, m.Type = start*1000+int64(nano), m.ID, trace.SpanType(typ) //nolint:gosec // an enum's number
		if old := out[id]; old == nil || old.version < m.version {
			out[id] = &m
		}
		return err
	})
	return out, err
}

// tracesOf gives the traces of rows, each once, in their order.
func tracesOf(rows []keyRow) []trace.TraceID {
	seen := make(map[trace.TraceID]bool, len(rows))
	var out []trace.TraceID
	for _, k := range rows {
		if !seen[k.trace] {
			seen[k.trace] = true
			out = append(out, k.trace)
		}
	}
	return out
}

// cumulate writes their cumulative metrics into some spans.
func (s *sums) cumulate(spans []trace.Span) {
	rest := make([]*trace.Span, 0, len(spans))
	for i := range spans {
		span := &spans[i]
		if !s.settled[span.TraceID] {
			rest = append(rest, span)
			continue
		}
		if row := s.below[identity{span.TraceID, span.SpanID}]; row != nil {
			spanmetrics.SetCumulative(span, row.values)
		} else {
			spanmetrics.Cumulate([]*trace.Span{span})
		}
	}
	cumulate(rest, s.others)
}

// cumulate writes the cumulative metrics of whole traces into some of their
// spans; others are the rows of all spans of these traces.
func cumulate(spans []*trace.Span, others map[identity]*metricRow) {
	type tree struct {
		spans  []*trace.Span
		others []spanmetrics.Incremental
	}
	given := make(map[identity]bool, len(spans))
	byTrace := map[trace.TraceID]*tree{}
	for _, s := range spans {
		given[identity{s.TraceID, s.SpanID}] = true
		of := byTrace[s.TraceID]
		if of == nil {
			of = &tree{}
			byTrace[s.TraceID] = of
		}
		of.spans = append(of.spans, s)
	}
	for id, m := range others {
		if of := byTrace[id.trace]; of != nil && !given[id] {
			of.others = append(of.others, m.Incremental)
		}
	}
	for _, of := range byTrace {
		spanmetrics.CumulateAmong(of.spans, of.others)
	}
}
