package clickhouse

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics holds the metrics of statements, and whether ClickHouse answers.
type metrics struct {
	insertSeconds, statementSeconds  *prometheus.HistogramVec
	insertBytes, insertRows, retries *prometheus.CounterVec
	up                               prometheus.Gauge

	mu sync.Mutex
	// downSince is when ClickHouse began to fail, zero while it answers.
	downSince time.Time
	downError error
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counters := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_sink_" + name, Help: help}, []string{label})
	}
	seconds := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{
			Name: "colonnade_sink_" + name + "_seconds", Help: help,
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60},
		}
	}
	return &metrics{
		insertSeconds:    f.NewHistogramVec(seconds("insert", "Time of an insert with its retries, by table."), []string{"table"}),
		statementSeconds: f.NewHistogramVec(seconds("statement", "Time of a statement that is no insert, with its retries, by statement."), []string{"statement"}),
		insertBytes:      counters("insert_bytes_total", "Bytes inserted, by table.", "table"),
		insertRows:       counters("insert_rows_total", "Rows inserted, by table.", "table"),
		retries:          counters("retries_total", "Retried statements, by statement.", "statement"),
		up:               f.NewGauge(prometheus.GaugeOpts{Name: "colonnade_sink_clickhouse_up", Help: "1 while ClickHouse answers, else 0."}),
	}
}

// answered notes that ClickHouse answers.
func (m *metrics) answered() {
	m.mu.Lock()
	m.downSince, m.downError = time.Time{}, nil
	m.mu.Unlock()
	m.up.Set(1)
}

// failed notes that ClickHouse does not answer.
func (m *metrics) failed(now time.Time, err error) {
	m.mu.Lock()
	if m.downSince.IsZero() {
		m.downSince = now
	}
	m.downError = err
	m.mu.Unlock()
	m.up.Set(0)
}

// down returns since when ClickHouse fails and its error, or the zero time while it answers.
func (m *metrics) down() (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.downSince, m.downError
}

// Down returns since when ClickHouse fails and its error, or the zero time while it answers.
func (s *DB) Down() (time.Time, error) { return s.metrics.down() }

// CountRetry counts a retry of what is no statement, under its own label.
func (s *DB) CountRetry(what string) { s.metrics.retries.WithLabelValues(what).Inc() }
