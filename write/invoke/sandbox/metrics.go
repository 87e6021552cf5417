package sandbox

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	under   prometheus.Gauge
	waited  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	buckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_sandbox_runs_total", Help: "Sandboxed executions of code and of templates with loops, by kind and outcome.",
		}, []string{"kind", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_sandbox_run_seconds", Help: "Time of an execution in its process, by kind.", Buckets: buckets,
		}, []string{"kind"}),
		under: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_sandbox_runs_in_progress", Help: "Executions in progress.",
		}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_sandbox_wait_seconds", Help: "Time that an execution waited for a free slot.", Buckets: buckets,
		}),
	}
	for _, c := range []prometheus.Collector{m.runs, m.seconds, m.under, m.waited} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	return m, nil
}
