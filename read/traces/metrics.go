package traces

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	examined prometheus.Counter
	pending  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		examined: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_read_examined_spans_total", Help: "Spans whose payloads were read to decide a filter.",
		}),
		pending: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_read_incomplete_waits_total", Help: "Reads answered before all writes of their token were visible.",
		}),
	}
	for _, c := range []prometheus.Collector{m.examined, m.pending} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
