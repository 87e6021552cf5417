package ingest

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	spans    *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
		spans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_ingest_spans_total", Help: "Spans taken in, by source and what became of them: accepted, refused, or failed because the stream did not answer.",
		}, []string{"source", "result"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_ingest_bytes_total", Help: "Decompressed bytes of the requests that were taken in.",
		}, []string{"source"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_ingest_seconds", Help: "Time from a body read to the broker's acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"source"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_ingest_in_flight_bytes", Help: "Memory of the requests under way.",
		}),
	}
	reg.MustRegister(m.spans, m.bytes, m.seconds, m.inFlight)
	return m
}
