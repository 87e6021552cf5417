// Package finalize computes what a trace and its spans sum once the trace received no
// span for a while (each span once, in its latest version), finds its roots, gives its
// spans one type, and finds the rows that newer versions left behind. It returns the changes as values
// of write/sink/plan; finalizing a trace twice changes nothing, and a late span makes
// the trace pending again.
//
// The spans come from the cache of recent spans if it has every span that was ever
// written of the trace, and from ClickHouse otherwise.
//
// The rows of a finalized trace have the version "all of the stream below this offset":
// it wins over what a former owner of the partition computed, whenever that arrives, and
// a trace is finalized while the version is above its last write.
//
// Not here: when traces are finalized, in groups of how many, and what happens if that
// fails. The worker of write/sink decides it and executes the changes.
package finalize

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// Metrics counts what was finalized.
type Metrics struct {
	moved  prometheus.Counter
	source *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		moved:  f.NewCounter(prometheus.CounterOpts{Name: "colonnade_sink_moved_traces_total", Help: "Traces whose spans were moved because their type changed."}),
		source: f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_sink_finalize_source_traces_total", Help: "Traces finalized, by the source of their spans: memory, clickhouse."}, []string{"source"}),
	}
}

// Source is where the spans of traces are read from.
type Source struct {
	DB        *clickhouse.DB
	Cache     *recent.Cache
	Partition int32
	Metrics   *Metrics
	// Now returns the worker's time, which never goes back.
	Now func() time.Time
}

// Traces are traces that are being finalized; see Stages.
type Traces struct {
	from  Source
	next  int64
	found []total
	index map[rows.TraceKey]clickhouse.IndexedTrace
}

// Read reads the spans of these traces; all of the stream below next is stored. Traces
// that are gone are left out.
func (s Source) Read(ctx context.Context, keys []rows.TraceKey, next int64) (*Traces, error) {
	found, rest, err := s.cached(ctx, keys)
	if err != nil {
		return nil, err
	}
	index := make(map[rows.TraceKey]clickhouse.IndexedTrace, len(keys))
	for i := range found { // of which trace_index has what the cache has
		k := s.Cache.Trace(found[i].key)
		index[k.Key] = clickhouse.IndexedTrace{Bounds: found[i].Bounds, Declared: k.Declared, Linked: k.Linked, HasEvaluator: k.HasEvaluator, CreatedAt: k.FirstCreated}
	}
	if len(rest) > 0 {
		indexed, err := s.DB.LookUpTraces(ctx, rest)
		if err != nil {
			return nil, err
		}
		present := slices.DeleteFunc(rest, func(k rows.TraceKey) bool { _, ok := indexed[k]; return !ok })
		stored, err := s.stored(ctx, present, indexed)
		if err != nil {
			return nil, err
		}
		found = append(found, stored...)
		for key := range indexed {
			index[key] = indexed[key]
		}
	}
	return &Traces{from: s, next: next, found: found, index: index}, nil
}

// Stages returns the stages in their order: one type for all rows, superseded rows, the
// flags of trace_index, superseded annotations, roots and their identifiers, totals. A stage
// reads what the one before left in ClickHouse, and notes in the cache what the one
// before changed: its steps must be executed before the next stage is called.
func (t *Traces) Stages() []func(context.Context) ([]plan.Step, error) {
	return []func(context.Context) ([]plan.Step, error){t.move, t.clean, t.mendIndex, t.cleanAnnotations, t.identify, t.totals}
}

// where returns the traces that meet a condition.
func (t *Traces) where(is func(*total) bool) (keys []rows.TraceKey) {
	for i := range t.found {
		if is(&t.found[i]) {
			keys = append(keys, t.found[i].key)
		}
	}
	return keys
}

// conditions returns the conditions of as few statements as possible on the rows of
// traces.
func (t *Traces) conditions(keys []rows.TraceKey) []string {
	return clickhouse.Conditions(keys, clickhouse.BoundsIn(t.index))
}

// totals returns the inserts of span_cumulative and trace_totals. From here on the
// traces are not finalized for the first time.
func (t *Traces) totals(context.Context) ([]plan.Step, error) {
	for i := range t.found {
		if k := t.from.Cache.Trace(t.found[i].key); k != nil {
			k.Whole, k.Metrics = false, nil
			if t.found[i].identified {
				k.Restored = false
			}
		}
	}
	version := finalizedVersion(t.next)
	return []plan.Step{
		plan.Insert{Table: schema.SpanCumulative, Block: cumulativeRows(t.found, version)},
		plan.Insert{Table: schema.TraceTotals, Block: totalsRows(t.found, version, t.from.Now())},
	}, nil
}

// finalizedVersion returns the version that is above all versions of offsets below next,
// and below all others.
func finalizedVersion(next int64) uint64 { return max(clickhouse.VersionOf(next), 1) - 1 }
