package traces

import (
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/read/memory"
)

type metrics struct {
	examined prometheus.Counter
}

func newMetrics(r prometheus.Registerer, budget *memory.Budget) (*metrics, error) {
	m := &metrics{
		examined: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_read_examined_spans_total", Help: "Spans whose payloads were read to decide a filter.",
		}),
	}
	inUse := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colonnade_read_memory_bytes", Help: "Memory of the answers that are being read or written, of read.store.memory_bytes.",
	}, func() float64 { return float64(budget.InUse()) })
	for _, c := range []prometheus.Collector{inUse, m.examined} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
