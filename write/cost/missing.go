package cost

import "github.com/prometheus/client_golang/prometheus"

// Collector returns the metric of the spans whose model has no price. It has no labels:
// clients name models freely. The read side lists the names for each project.
func (p *Prices) Collector() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "colonnade_normalize_spans_without_price_total", Help: "Calls of models that the price table does not have.",
	}, func() float64 { return float64(p.missing.Load()) })
}
