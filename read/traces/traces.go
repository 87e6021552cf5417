package traces

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/read/clickhouse"
	"colonnade/read/memory"
	"colonnade/read/progress"
	"colonnade/read/statements"
)

// Reader answers questions about the stored spans of a project. It is safe for
// concurrent use.
type Reader struct {
	// The tracker answers what is visible.
	*progress.Tracker

	cfg     Config
	db      *clickhouse.Client
	now     func() time.Time
	metrics *metrics
	memory  *memory.Budget
	pace    *pace
	density *density
	// noGranules tells that this store does not tell where its granules are.
	noGranules atomic.Bool

	limitsBeside besideLimits
	limitsOften  oftenLimits
	nearGrowth   int // the constant, but for tests that have few sections
}

// New makes a reader on a connection, which it does not close.
func New(cfg Config, conn driver.Conn, now func() time.Time, registerer prometheus.Registerer) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	db, err := clickhouse.New(clickhouse.Config{
		Timeout: cfg.QueryTimeout, MemoryBytes: cfg.QueryMemoryBytes, Threads: cfg.QueryThreads, Slots: cfg.Slots,
	}, conn, now, registerer)
	if err != nil {
		return nil, err
	}
	tracker, err := progress.New(db, cfg.Topic, cfg.WaitTimeout, now, registerer)
	if err != nil {
		return nil, err
	}
	budget := memory.NewBudget(cfg.MemoryBytes)
	m, err := newMetrics(registerer, budget)
	if err != nil {
		return nil, fmt.Errorf("traces: registering metrics: %w", err)
	}
	return &Reader{Tracker: tracker, cfg: cfg, db: db, memory: budget, now: now, metrics: m, pace: newPace(), density: newDensity(), limitsBeside: defaultBesideLimits(), limitsOften: defaultOftenLimits(), nearGrowth: nearGrowth}, nil
}

// TracesByID gives those of the traces that exist, in the order of ids, each
// with all its spans ascending by start. An id that stands twice counts once.
func (r *Reader) TracesByID(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) ([][]trace.Span, error) {
	ctx = clickhouse.Admit(ctx, project, slot.Short)
	found, err := r.whole(ctx, project, ids, bound{bytes: r.cfg.MaxReadBytes})
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
	ctx = clickhouse.Admit(ctx, project, slot.Short)
	if len(spans) == 0 {
		found, err := r.TracesByID(ctx, project, traces)
		all := slices.Concat(found...)
		slices.SortStableFunc(all, byStart)
		return all, err
	}
	var out []trace.Span
	var err error
	if len(traces) > 0 {
		out, err = r.spansOf(ctx, project, traces, spans)
	} else {
		out, err = r.spansNamed(ctx, project, spans)
	}
	slices.SortStableFunc(out, byStart)
	return out, err
}

// spansOf gives spans of known traces by their ids. The traces are read whole,
// which mostly is less than to add up what the spans sum; else their rows lead there.
func (r *Reader) spansOf(ctx context.Context, project domain.ProjectID, traces []trace.TraceID, spans []trace.SpanID) ([]trace.Span, error) {
	found, err := r.whole(ctx, project, traces, bound{bytes: wholeBytes, spans: wholeSpans})
	if errors.Is(err, errOverPage) {
		bounds, err := r.bounds(ctx, project, traces)
		if err != nil || len(bounds) == 0 {
			return nil, err
		}
		rows, err := r.keys(ctx, "keys_of", statements.OfTraces(project, statements.Keys, bounds, spans))
		if err != nil {
			return nil, err
		}
		return r.summed(true, false)(ctx, project, latest(rows), r.cfg.MaxReadBytes)
	}
	var out []trace.Span
	for _, of := range found {
		for i := range of {
			if slices.Contains(spans, of[i].SpanID) {
				out = append(out, of[i])
			}
		}
	}
	return out, err
}

// What traces are read whole for some of their spans.
const (
	wholeBytes = 4 << 20
	wholeSpans = 1000
)

// spansNamed gives the spans of any trace that have these ids.
func (r *Reader) spansNamed(ctx context.Context, project domain.ProjectID, spans []trace.SpanID) ([]trace.Span, error) {
	if project.IsZero() {
		return nil, unauthenticated()
	}
	keys, err := r.keys(ctx, "span_keys", statements.SpansNamed(project, spans, maxNamed+1))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	if len(keys) > maxNamed {
		return nil, domain.E(domain.Rejected, "More than %d spans have these ids. Name their traces as well.", maxNamed)
	}
	return r.summed(true, false)(ctx, project, latest(keys), r.cfg.MaxReadBytes)
}

// maxNamed bounds the rows that span ids alone may find: the same id may be in many traces.
const maxNamed = 10_000
