package evaluate

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
			Name: "colonnade_evaluate_cells_total", Help: "Results of evaluation runs that were computed here, by their status.",
		}, []string{"status"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_evaluate_runs_total", Help: "Evaluation runs that this process took, by how it left them.",
		}, []string{"outcome"}),
		under: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_evaluate_runs_under_way", Help: "Evaluation runs that this process works on.",
		}),
	}
	if err := errors.Join(reg.Register(m.cells), reg.Register(m.runs), reg.Register(m.under)); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	return m, nil
}
