package traces

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

// Reader answers questions about the stored spans of a project. It is safe for
// concurrent use.
type Reader struct {
	cfg      Config
	conn     driver.Conn
	now      func() time.Time
	metrics  *metrics
	settings clickhouse.Settings
	limits   string
}

// New makes a reader on a connection, which it does not close.
func New(cfg Config, conn driver.Conn, now func() time.Time, registerer prometheus.Registerer) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(registerer)
	if err != nil {
		return nil, fmt.Errorf("traces: registering metrics: %w", err)
	}
	return &Reader{cfg: cfg, conn: conn, now: now, metrics: m, settings: settings(cfg), limits: limits(cfg)}, nil
}

// TracesByID gives those of the traces that exist, in the order of ids, each
// with all its spans ascending by start. An id that stands twice counts once.
func (r *Reader) TracesByID(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) ([][]trace.Span, error) {
	bounds, err := r.bounds(ctx, project, ids)
	if err != nil || len(bounds) == 0 {
		return nil, err
	}
	found, err := r.load(ctx, project, bounds, r.cfg.MaxReadBytes)
	if err != nil {
		return nil, err
	}
	var out [][]trace.Span
	for _, id := range ids {
		if spans, ok := found[id]; ok {
			out = append(out, spans)
			delete(found, id)
		}
	}
	return out, nil
}

// SpansByID gives the spans of these traces that have these ids, ascending by
// start. An empty list restricts nothing; not both are empty.
func (r *Reader) SpansByID(ctx context.Context, project domain.ProjectID, traces []trace.TraceID, spans []trace.SpanID) ([]trace.Span, error) {
	if len(spans) == 0 {
		found, err := r.TracesByID(ctx, project, traces)
		all := slices.Concat(found...)
		slices.SortStableFunc(all, byStart)
		return all, err
	}
	if project.IsZero() {
		return nil, unauthenticated()
	}
	var s compile.Statement
	if len(traces) == 0 {
		s = compile.SpansNamed(project, spans, maxNamed+1)
	} else {
		bounds, err := r.bounds(ctx, project, traces)
		if err != nil || len(bounds) == 0 {
			return nil, err
		}
		s = compile.OfTraces(project, compile.Keys, bounds, spans)
	}
	keys, err := r.keys(ctx, "span_keys", s)
	if err != nil {
		return nil, err
	}
	if len(traces) == 0 && len(keys) > maxNamed {
		return nil, domain.E(domain.Rejected, "More than %d spans have these ids. Name their traces as well.", maxNamed)
	}
	out, err := r.fetchWhole(ctx, project, latest(keys), r.cfg.MaxReadBytes)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, byStart)
	return out, nil
}

// maxNamed bounds the rows that span ids alone may find: the same id may be in many traces.
const maxNamed = 10_000
