package otlp

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
)

// metrics are those of one door; spans and bytes are counted by write/ingest.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, door string) metrics {
	labels := prometheus.Labels{"door": door}
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_otlp_requests_total", Help: "Export requests by encoding and result.", ConstLabels: labels,
		}, []string{"encoding", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_otlp_request_seconds", Help: "Time of an export request, with reading its body.", ConstLabels: labels,
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
