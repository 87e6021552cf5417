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
			Name: "colonnade_stream_published_records_total", Help: "Records the broker acknowledged.",
		}, []string{"operation"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_published_bytes_total", Help: "Values the broker acknowledged, before compression.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_stream_publish_failures_total", Help: "Publish calls that failed.",
		}, []string{"kind"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_stream_publish_seconds", Help: "Time until the broker acknowledged all records of a call.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}),
		loss: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_producer_data_loss_total", Help: "Times the broker had lost acknowledged records of this producer.",
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
			Name: "colonnade_stream_consumed_records_total", Help: "Records fetched from the broker.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_consumed_bytes_total", Help: "Values fetched from the broker.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_fetch_errors_total", Help: "Errors the broker answered to fetches.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_lost_records_total", Help: "Offsets that were gone from the log before they were read.",
		}),
		losses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_stream_data_loss_total", Help: "Times the log did not hold what it held before.",
		}),
		assigned: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_stream_assigned_partitions", Help: "Partitions this process works on.",
		}),
		buffered: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "colonnade_stream_buffered_bytes", Help: "About the memory of records read ahead of the workers.",
		}),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_stream_commits_total", Help: "Commits, by what they say and how they ended.",
		}, []string{"kind", "result"}),
		commitTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_stream_commit_seconds", Help: "Time of a commit, with its retries.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}),
	}
	reg.MustRegister(m.records, m.bytes, m.errors, m.lost, m.losses, m.assigned, m.buffered, m.commits, m.commitTime)
	return m
}
