package server

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are labelled by route template, never by path: the set of templates
// is closed, the set of paths is not.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	panics   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_server_requests_total",
			Help: "HTTP requests, by method, route template and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "colonnade_server_request_duration_seconds",
			Help:    "Time of an HTTP request until its reply ends, by method and route template.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_server_requests_in_flight",
			Help: "HTTP requests in progress.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_server_panics_total",
			Help: "Panics of HTTP handlers, each answered with 500.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, m.panics} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("server: registering metrics: %w", err)
		}
	}
	return m, nil
}
