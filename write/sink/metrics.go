package sink

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics holds the counters, histograms and gauges of the sink.
type metrics struct {
	records, spans, dropped, rejected *prometheus.CounterVec
	dead, bisections                  prometheus.Counter
	batches                           *prometheus.CounterVec
	batchBytes                        prometheus.Histogram
	buildSeconds, batchSeconds        prometheus.Histogram
	visible                           prometheus.Histogram
	lag                               *prometheus.GaugeVec
	open                              *prometheus.GaugeVec
	remembered                        *prometheus.GaugeVec
	finalized, stale                  prometheus.Counter
	finalizeSeconds                   prometheus.Histogram
	finalizeLag                       *prometheus.GaugeVec
	removed                           *prometheus.CounterVec
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
		records:         counters("records_total", "Records consumed, by operation.", "operation"),
		spans:           counters("spans_total", "Spans inserted, by outcome: written, replaced (a newer version of a stored span).", "outcome"),
		dropped:         counters("dropped_spans_total", "Spans not inserted because they are stored already or a later one of the batch supersedes them, by reason.", "reason"),
		rejected:        counters("rejected_spans_total", "Rows written to rejected_spans, by stage.", "stage"),
		dead:            counter("dead_letter_records_total", "Records sent to the dead-letter topic."),
		bisections:      counter("bisections_total", "Batches halved because ClickHouse refused them."),
		batches:         counters("batches_total", "Batches committed, by kind: new, replay.", "kind"),
		batchBytes:      f.NewHistogram(prometheus.HistogramOpts{Name: "colonnade_sink_batch_bytes", Help: "Bytes of the record values of a batch.", Buckets: prometheus.ExponentialBuckets(1<<10, 4, 8)}),
		buildSeconds:    f.NewHistogram(seconds("build", "Time to build the rows of a batch.")),
		batchSeconds:    f.NewHistogram(seconds("batch", "Time from the first row of a batch to its commit.")),
		visible:         f.NewHistogram(seconds("visibility", "Time from the receipt of a record to the visibility of its spans.")),
		lag:             gauges("lag_records", "Records not yet durable, by partition."),
		open:            gauges("pending_traces", "Traces written and not yet finalized, by partition."),
		remembered:      gauges("recent_spans", "Recent spans in memory that recognise client retries, by partition."),
		finalized:       counter("finalized_traces_total", "Traces finalized."),
		stale:           counter("superseded_traces_total", "Traces whose superseded rows were deleted."),
		finalizeSeconds: f.NewHistogram(seconds("finalize", "Time to finalize a group of traces.")),
		finalizeLag:     gauges("finalize_lag_seconds", "Age of the oldest trace that is due for finalization, by partition."),
		removed:         counters("removed_traces_total", "Traces deleted or replaced on request, by operation.", "operation"),
	}
}
