package traces

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	examined prometheus.Counter
	pending  prometheus.Counter
}

func newMetrics(r prometheus.Registerer, budget *memory) (*metrics, error) {
	m := &metrics{
		examined: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_read_examined_spans_total", Help: "Spans whose payloads were read to decide a filter.",
		}),
		pending: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_read_incomplete_waits_total", Help: "Reads answered before all writes of their token were visible.",
		}),
	}
	inUse := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colonnade_read_memory_bytes", Help: "Memory of the answers that are being read or written, of read.store.memory_bytes.",
	}, func() float64 { return float64(budget.inUse()) })
	for _, c := range []prometheus.Collector{inUse, m.examined, m.pending} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
