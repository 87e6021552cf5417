package analytics

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/read/analyticssql"
	"colonnade/read/statements"
	"colonnade/read/traces"
)

type (
	span     = trace.Span
	identity struct {
		trace trace.TraceID
		span  trace.SpanID
	}
)

// openRow is a row with something open; see analyticssql.Analysis.Values.
type openRow struct {
	identity
	at    cell
	sure  bool
	lacks []analyticssql.Decision
	sent  []float64
}

// openRow reads the row's text.
func (c *collection) openRow(at cell, raw string) (openRow, error) {
	o := openRow{at: at, lacks: make([]analyticssql.Decision, len(c.measures)), sent: make([]float64, len(c.measures))}
	n := len(o.trace) + len(o.span) + 1 + len(c.measures)
	for _, m := range c.measures {
		if m.Cumulative() {
			n += 8
		}
	}
	if len(raw) != n {
		return o, fmt.Errorf("analytics: an open row of %d bytes, want %d", len(raw), n)
	}
	raw = raw[copy(o.trace[:], raw):]
	raw = raw[copy(o.span[:], raw):]
	o.sure, raw = raw[0] == 1, raw[1:]
	for i := range c.measures {
		o.lacks[i], raw = analyticssql.Decision(raw[0]), raw[1:]
	}
	for i, m := range c.measures {
		if m.Cumulative() {
			o.sent[i], raw = math.Float64frombits(binary.LittleEndian.Uint64([]byte(raw[:8]))), raw[8:]
		}
	}
	return o, nil
}

// needs is the most that the row lacks.
func (o *openRow) needs() analyticssql.Decision {
	if !o.sure {
		return analyticssql.NeedsPayload
	}
	return slices.Max(o.lacks)
}

// The sizes of lookups.
const (
	documentsAtOnce = 500
	tracesAtOnce    = 2000
)

func tooOpen(limit int) error {
	return domain.E(domain.Rejected, "More than %d spans would have to be read one by one, to decide the filter or to sum their traces. Narrow the query: a shorter window, a windowing.rate below 1, focus trace, or incremental metrics in place of cumulative ones.", limit)
}

// decide reads what rows left open.
func (c *collection) decide(ctx context.Context, open []openRow) error {
	var documents, sums []openRow
	for _, o := range open {
		if o.needs() == analyticssql.NeedsPayload {
			documents = append(documents, o)
		} else {
			sums = append(sums, o)
		}
	}
	if c.examined += len(documents); c.examined > c.reader.cfg.MaxExamined {
		return domain.E(domain.Rejected, "The documents of more than %d spans would have to be read to decide the filter or the specs. Narrow the query: a shorter window, a windowing.rate below 1, a condition on a session, user, reference, link or attribute value; compare attributes with is or in; and take numbers, booleans and short strings.", c.reader.cfg.MaxExamined)
	}
	for chunk := range slices.Chunk(documents, documentsAtOnce) {
		if err := c.readDocuments(ctx, chunk); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(sums, tracesAtOnce) {
		if err := c.readSums(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// readDocuments decides rows by the whole spans.
func (c *collection) readDocuments(ctx context.Context, rows []openRow) error {
	traceIDs, spanIDs := make([]trace.TraceID, len(rows)), make([]trace.SpanID, len(rows))
	for i, r := range rows {
		traceIDs[i], spanIDs[i] = r.trace, r.span
	}
	found, err := c.reader.traces.SpansByID(ctx, c.project, unique(traceIDs), unique(spanIDs))
	if err != nil {
		return err
	}
	spans := make(map[identity]*span, len(found))
	for i := range found {
		spans[identity{found[i].TraceID, found[i].SpanID}] = &found[i]
	}
	for _, r := range rows {
		s := spans[r.identity]
		// A span may have been replaced or removed since its row was read.
		if s == nil || !c.matches(s) {
			continue
		}
		b := c.bucket(r.at)
		if !r.sure {
			b.spans++
		}
		for i, m := range c.measures {
			if r.sure && r.lacks[i] == analyticssql.Decided {
				continue
			}
			b.measures[i].take(m, s)
			if err := c.distinct(&b.measures[i], m); err != nil {
				return err
			}
		}
	}
	return nil
}

// unique leaves each once.
func unique[T comparable](all []T) []T {
	seen := make(map[T]bool, len(all))
	return slices.DeleteFunc(all, func(v T) bool {
		was := seen[v]
		seen[v] = true
		return was
	})
}

// readSums decides rows by the metrics of their traces' spans.
func (c *collection) readSums(ctx context.Context, rows []openRow) error {
	ids := make([]trace.TraceID, len(rows))
	for i, r := range rows {
		ids[i] = r.trace
	}
	spans, err := c.metricsOf(ctx, unique(ids))
	if err != nil {
		return err
	}
	summed := cumulative(spans)
	for _, r := range rows {
		s := summed[r.identity]
		if s == nil {
			continue
		}
		b := c.bucket(r.at)
		for i, m := range c.measures {
			if r.lacks[i] != analyticssql.NeedsTotals {
				continue
			}
			before := b.measures[i].values()
			b.measures[i].take(m, s)
			// What sums to nothing leaves in place what a client sent.
			if sent := r.sent[i]; b.measures[i].values() == before && !math.IsNaN(sent) {
				b.measures[i].number(m, sent)
			}
		}
	}
	return nil
}

// metricRow is a span as its trace is summed from it.
type metricRow struct {
	version uint64
	spanmetrics.Incremental
}

// metricsOf reads all spans of traces as spanmetrics.Sum needs them.
func (c *collection) metricsOf(ctx context.Context, ids []trace.TraceID) (map[identity]metricRow, error) {
	out := map[identity]metricRow{}
	bounds, err := c.bounds(ctx, ids)
	if err != nil || len(bounds) == 0 {
		return out, err
	}
	err = c.reader.traces.Run(ctx, c.project, "analytics_sums", statements.OfTraces(c.project, statements.Metrics, bounds, nil), func(r driver.Rows) error {
		var m metricRow
		var id identity
		var start int64
		var nano uint16
		var typ int8
		v := &m.Metrics
		if err := r.Scan(traces.ScanTraceID(&id.trace), traces.ScanSpanID(&m.ID), traces.ScanSpanID(&m.Parent), &m.version, &start, &nano,
			&typ, &m.Response, (*uint64)(&m.Failure), &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6]); err != nil {
			return err
		}
		if c.summed++; c.summed > c.reader.cfg.MaxTraceSpans {
			return domain.E(domain.Rejected, "More than %d spans would have to be read to sum their traces. Narrow the query: a shorter window, a windowing.rate below 1, or incremental metrics in place of cumulative ones.", c.reader.cfg.MaxTraceSpans)
		}
		id.span, m.Start, m.Type = m.ID, start*1000+int64(nano), trace.SpanType(typ) //nolint:gosec // an enum's number
		if old, there := out[id]; !there || old.version < m.version {
			out[id] = m
		}
		return nil
	})
	return out, err
}

// cumulative returns spans of whole traces that have nothing but their cumulative metrics.
func cumulative(rows map[identity]metricRow) map[identity]*span {
	byTrace := map[trace.TraceID][]spanmetrics.Incremental{}
	for id := range rows {
		byTrace[id.trace] = append(byTrace[id.trace], rows[id].Incremental)
	}
	out := make(map[identity]*span, len(rows))
	for id, of := range byTrace {
		sums := spanmetrics.Sum(of)
		for i := range of {
			s := &span{}
			spanmetrics.SetCumulative(s, sums.Spans[i])
			out[identity{id, of[i].ID}] = s
		}
	}
	return out
}

// bounds looks up where traces lie, those that are still there.
func (c *collection) bounds(ctx context.Context, ids []trace.TraceID) (out []statements.Bounds, err error) {
	err = c.reader.traces.Run(ctx, c.project, "analytics_bounds", statements.TraceBounds(c.project, ids), func(r driver.Rows) error {
		var b statements.Bounds
		err := r.Scan(traces.ScanTraceID(&b.Trace), &b.Min, &b.Max, &b.Records)
		out = append(out, b)
		return err
	})
	return out, err
}
