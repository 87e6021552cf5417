package normalize

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	spans           *prometheus.CounterVec
	fitted, refused prometheus.Counter
	parked          prometheus.Counter
	failures        *prometheus.CounterVec
}

func newMetrics() metrics {
	m := metrics{
		spans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_normalize_spans_total", Help: "Spans decoded from records, by result: normalized or refused.",
		}, []string{"result"}),
		parked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_normalize_parked_spans_total", Help: "Spans with attributes parked under ag.unsupported.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_normalize_convention_failures_total", Help: "Spans stored without the translation of a semantic convention because it failed, by convention.",
		}, []string{"convention"}),
	}
	m.fitted, m.refused = m.spans.WithLabelValues("normalized"), m.spans.WithLabelValues("refused")
	return m
}

func (m metrics) register(r prometheus.Registerer) error {
	return errors.Join(r.Register(m.spans), r.Register(m.parked), r.Register(m.failures))
}

func (m metrics) count(fitted, refused int) {
	m.fitted.Add(float64(fitted))
	m.refused.Add(float64(refused))
}

func (m metrics) fail(convention string) { m.failures.WithLabelValues(convention).Inc() }
