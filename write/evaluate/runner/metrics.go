package runner

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	cells *prometheus.CounterVec
	runs  *prometheus.CounterVec
	under prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		cells: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_evaluate_results_total", Help: "Results of evaluation runs computed by this process, by status.",
		}, []string{"status"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_evaluate_runs_total", Help: "Evaluation runs executed by this process, by outcome.",
		}, []string{"outcome"}),
		under: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_evaluate_runs_in_progress", Help: "Evaluation runs that this process is executing.",
		}),
	}
	if err := errors.Join(reg.Register(m.cells), reg.Register(m.runs), reg.Register(m.under)); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	return m, nil
}
