package clickhouse

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
)

type metrics struct {
	seconds *prometheus.HistogramVec
	refused *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_read_query_seconds", Help: "Time of one ClickHouse statement until its last row, by statement.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"statement"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_read_query_errors_total", Help: "ClickHouse statements that failed, by statement and kind of error.",
		}, []string{"statement", "kind"}),
	}
	for _, c := range []prometheus.Collector{m.seconds, m.refused} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(statement string, took time.Duration, err error) {
	m.seconds.WithLabelValues(statement).Observe(took.Seconds())
	if err != nil {
		m.refused.WithLabelValues(statement, domain.KindOf(err).String()).Inc()
	}
}
