package sink

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the sink's numbers. Everything that moves has a counter,
// everything that waits a histogram, everything that holds a gauge.
type metrics struct {
	records, spans, dropped, rejected *prometheus.CounterVec
	dead, bisections                  prometheus.Counter
	batches                           *prometheus.CounterVec
	batchBytes                        prometheus.Histogram
	buildSeconds, batchSeconds        prometheus.Histogram
	insertSeconds, statementSeconds   *prometheus.HistogramVec
	insertBytes, insertRows, retries  *prometheus.CounterVec
	visible                           prometheus.Histogram
	lag                               *prometheus.GaugeVec
	open                              *prometheus.GaugeVec
	remembered                        *prometheus.GaugeVec
	settled, moved, stale             prometheus.Counter
	minutes                           prometheus.Counter
	settledFrom                       *prometheus.CounterVec
	settleSeconds                     prometheus.Histogram
	settleLag                         *prometheus.GaugeVec
	removed, cleanUps, erasures       *prometheus.CounterVec
	up                                prometheus.Gauge

	mu sync.Mutex
	// downSince is when the store began to fail, zero while it answers.
	downSince time.Time
	downError error
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "colonnade_sink_" + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_sink_" + name, Help: help}, []string{label})
	}
	gauges := func(name, help string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: "colonnade_sink_" + name, Help: help}, []string{"partition"})
	}
	seconds := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: "colonnade_sink_" + name + "_seconds", Help: help,
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60},
		}
	}
	return &metrics{
		records:          counters("records_total", "Records taken from the stream, by operation.", "operation"),
		spans:            counters("spans_total", "Spans by what became of them: written, replaced (a newer version of a stored span).", "outcome"),
		dropped:          counters("dropped_spans_total", "Spans not written because they are stored already or a later one of the batch replaces them.", "reason"),
		rejected:         counters("rejected_total", "Rows written to rejects, by stage.", "stage"),
		dead:             counter("dead_records_total", "Records sent to the dead topic."),
		bisections:       counter("bisections_total", "Halvings of batches that the store refused."),
		batches:          counters("batches_total", "Batches made durable, by kind: new, replay.", "kind"),
		batchBytes:       f.NewHistogram(prometheus.HistogramOpts{Name: "colonnade_sink_batch_bytes", Help: "Values of the records of a batch.", Buckets: prometheus.ExponentialBuckets(1<<10, 4, 8)}),
		buildSeconds:     f.NewHistogram(seconds("build", "Time to make rows of a batch.")),
		batchSeconds:     f.NewHistogram(seconds("batch", "Time from a batch's first row to its commit.")),
		insertSeconds:    f.NewHistogramVec(seconds("insert", "Time of an insert with its repetitions, by table."), []string{"table"}),
		statementSeconds: f.NewHistogramVec(seconds("statement", "Time of a statement other than an insert with its repetitions, by what it does."), []string{"statement"}),
		insertBytes:      counters("insert_bytes_total", "Bytes inserted, by table.", "table"),
		insertRows:       counters("insert_rows_total", "Rows inserted, by table.", "table"),
		retries:          counters("retries_total", "Statements tried again, by what they do.", "statement"),
		visible:          f.NewHistogram(seconds("visible", "Time from a record's receipt at the door to its visibility.")),
		lag:              gauges("lag_records", "Records not yet durable."),
		open:             gauges("open_traces", "Traces written but not settled."),
		remembered:       gauges("remembered_spans", "Spans remembered to drop retries."),
		settled:          counter("settled_traces_total", "Traces settled."),
		minutes:          counter("minutes_total", "Minutes of projects computed for statistics."),
		settledFrom:      counters("settled_from_total", "Traces settled, by where their spans came from: memory, store.", "source"),
		moved:            counter("moved_traces_total", "Traces whose spans were moved to another type."),
		stale:            counter("stale_traces_total", "Traces with replaced rows removed."),
		settleSeconds:    f.NewHistogram(seconds("settle", "Time to settle a group of traces.")),
		settleLag:        gauges("settle_lag_seconds", "Age of the oldest trace that should be settled and is not."),
		removed:          counters("removed_traces_total", "Traces removed or replaced on request.", "operation"),
		cleanUps:         counters("cleanups_total", "Tables cleaned of deleted rows, by outcome.", "outcome"),
		erasures:         counters("erasures_total", "Tables from which rows of deleted projects were removed, by outcome.", "outcome"),
		up:               f.NewGauge(prometheus.GaugeOpts{Name: "colonnade_sink_store_up", Help: "1 while the store answers."}),
	}
}

func (m *metrics) storeUp() {
	m.mu.Lock()
	m.downSince, m.downError = time.Time{}, nil
	m.mu.Unlock()
	m.up.Set(1)
}

func (m *metrics) storeDown(now time.Time, err error) {
	m.mu.Lock()
	if m.downSince.IsZero() {
		m.downSince = now
	}
	m.downError = err
	m.mu.Unlock()
	m.up.Set(0)
}

// down tells since when the store fails and with what; the zero time while it answers.
func (m *metrics) down() (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.downSince, m.downError
}
