package logevents

import "github.com/prometheus/client_golang/prometheus"

// metrics count the events of log records.
type metrics struct {
	events  *prometheus.CounterVec
	pending prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_logevents_events_total", Help: "Events of log records: joined to their span, rejected as late_event or event (rejected_spans names the reason), or unreadable.",
		}, []string{"result"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_logevents_pending", Help: "Events of log records that wait for their span.",
		}),
	}
	reg.MustRegister(m.events, m.pending)
	return m
}
