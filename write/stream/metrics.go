package stream

import "github.com/prometheus/client_golang/prometheus"

// producerMetrics count what is published.
type producerMetrics struct {
	records  *prometheus.CounterVec
	bytes    prometheus.Counter
	failures *prometheus.CounterVec
	seconds  prometheus.Histogram
	loss     prometheus.Counter
}

func newProducerMetrics(reg prometheus.Registerer) producerMetrics {
	m := producerMetrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_stream_published_records_total", Help: "Records acknowledged by Kafka, by operation.",
		}, []string{"operation"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_published_bytes_total", Help: "Bytes of the values acknowledged by Kafka, before compression.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_stream_publish_failures_total", Help: "Publications that failed, by kind of error.",
		}, []string{"kind"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_stream_publish_seconds", Help: "Time until Kafka acknowledged all records of a publication.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}),
		loss: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_producer_data_loss_total", Help: "Times that Kafka had lost records that it had acknowledged to this producer.",
		}),
	}
	reg.MustRegister(m.records, m.bytes, m.failures, m.seconds, m.loss)
	return m
}
