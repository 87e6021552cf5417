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
			Name: "colonnade_ingest_spans_total", Help: "Spans of requests, by source and result: accepted, refused (invalid), failed (Kafka did not acknowledge).",
		}, []string{"source", "result"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_ingest_bytes_total", Help: "Decompressed bytes of accepted requests, by source.",
		}, []string{"source"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_ingest_request_seconds", Help: "Time from the end of a request body to Kafka's acknowledgement, by source.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"source"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_ingest_in_flight_bytes", Help: "Memory reserved for requests in progress.",
		}),
	}
	reg.MustRegister(m.spans, m.bytes, m.seconds, m.inFlight)
	return m
}
