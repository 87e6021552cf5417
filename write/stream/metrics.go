package stream

import "github.com/prometheus/client_golang/prometheus"

// producerMetrics are what moves and waits on the way into the log.
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

// consumerMetrics are what moves and waits on the way out of the log.
type consumerMetrics struct {
	records    prometheus.Counter
	bytes      prometheus.Counter
	errors     prometheus.Counter
	lost       prometheus.Counter
	losses     prometheus.Counter
	assigned   prometheus.Gauge
	buffered   prometheus.Gauge
	commits    *prometheus.CounterVec
	commitTime prometheus.Histogram
}

func newConsumerMetrics(reg prometheus.Registerer) consumerMetrics {
	m := consumerMetrics{
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_consumed_records_total", Help: "Records fetched from Kafka.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_consumed_bytes_total", Help: "Bytes of the values fetched from Kafka.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_fetch_errors_total", Help: "Fetches that Kafka answered with an error.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_lost_records_total", Help: "Offsets that Kafka had deleted before the sink read them.",
		}),
		losses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_data_loss_total", Help: "Times that records were missing from a topic that had held them.",
		}),
		assigned: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_stream_assigned_partitions", Help: "Partitions assigned to this process.",
		}),
		buffered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_stream_buffered_bytes", Help: "Approximate memory of records that wait for their worker.",
		}),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_stream_commits_total", Help: "Offset commits, by kind and result.",
		}, []string{"kind", "result"}),
		commitTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_stream_commit_seconds", Help: "Time of an offset commit with its retries.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}),
	}
	reg.MustRegister(m.records, m.bytes, m.errors, m.lost, m.losses, m.assigned, m.buffered, m.commits, m.commitTime)
	return m
}
