package listener

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	open, limit *prometheus.GaugeVec
	refused     *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "colonnade_listener_connections",
			Help: "Open connections, by listener.",
		}, []string{"listener"}),
		limit: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "colonnade_listener_connections_limit",
			Help: "Connections that a listener may hold.",
		}, []string{"listener"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_listener_refused_total",
			Help: "Connections closed when they were accepted, by listener and by the limit they exceeded: listener or address.",
		}, []string{"listener", "reason"}),
	}
	for _, c := range []prometheus.Collector{m.open, m.limit, m.refused} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("listener: registering metrics: %w", err)
		}
	}
	return m, nil
}
