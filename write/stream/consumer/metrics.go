package consumer

import "github.com/prometheus/client_golang/prometheus"

// metrics count what is consumed and committed.
type metrics struct {
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

func newMetrics(reg prometheus.Registerer) metrics {
	m := metrics{
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
