package tail

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	open          prometheus.Gauge
	held          prometheus.Gauge
	spans         prometheus.Counter
	missed        prometheus.Counter
	refused       prometheus.Counter
	interruptions prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_tail_open", Help: "Live tails that are open.",
		}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_tail_held_bytes", Help: "Records of followed projects that wait until the sink has stored them.",
		}),
		spans: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_spans_total", Help: "Spans handed to tails, each once for each tail.",
		}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_missed_spans_total", Help: "Spans that a tail did not get because its reader was slow.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_refused_total", Help: "Tails that were not opened because too many were.",
		}),
		interruptions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_tail_interruptions_total", Help: "Times the stream broke off under open tails, or could not be opened.",
		}),
	}
	reg.MustRegister(m.open, m.held, m.spans, m.missed, m.refused, m.interruptions)
	return m
}
