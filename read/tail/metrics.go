package tail

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	open          prometheus.Gauge
	held          prometheus.Gauge
	spans         prometheus.Counter
	dropped       prometheus.Counter
	refused       prometheus.Counter
	interruptions prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_tail_open_tails", Help: "Open live tails.",
		}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_tail_buffered_bytes", Help: "Records of followed projects that wait until the sink has stored them.",
		}),
		spans: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_spans_total", Help: "Spans sent to live tails; a span counts once for each tail.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_dropped_spans_total", Help: "Spans not sent to a live tail because its client read too slowly.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_rejected_tails_total", Help: "Requests for a live tail that were refused because too many were open.",
		}),
		interruptions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_interruptions_total", Help: "Times that reading from Kafka failed while tails were open, or could not start.",
		}),
	}
	reg.MustRegister(m.open, m.held, m.spans, m.dropped, m.refused, m.interruptions)
	return m
}
