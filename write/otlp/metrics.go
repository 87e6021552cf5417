package otlp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
)

// metrics count the requests of one receiver. Package ingest counts spans and bytes.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, receiver string) metrics {
	labels := prometheus.Labels{"receiver": receiver}
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_otlp_requests_total", Help: "Export requests, by encoding and result.", ConstLabels: labels,
		}, []string{"encoding", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_otlp_request_seconds", Help: "Time of an export request with the reading of its body, by encoding.", ConstLabels: labels,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"encoding"}),
	}
	reg.MustRegister(m.requests, m.seconds)
	return m
}

func (m metrics) observe(encoding string, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = domain.KindOf(err).String()
	}
	m.requests.WithLabelValues(encoding, result).Inc()
	m.seconds.WithLabelValues(encoding).Observe(took.Seconds())
}
