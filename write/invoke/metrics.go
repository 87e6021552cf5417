package invoke

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	invocations *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	publish     prometheus.Histogram
	lost        prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	slow := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	m := &metrics{
		invocations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_invoke_invocations_total", Help: "Invocations, by handler and outcome.",
		}, []string{"handler", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "colonnade_invoke_duration_seconds", Help: "Time of an invocation with the publication of its trace, by handler.", Buckets: slow,
		}, []string{"handler"}),
		publish: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_invoke_publish_seconds", Help: "Time until Kafka acknowledged the trace of an invocation.", Buckets: slow,
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_invoke_lost_traces_total", Help: "Traces of invocations that could not be published.",
		}),
	}
	all := []prometheus.Collector{m.invocations, m.seconds, m.publish, m.lost}
	errs := make([]error, len(all))
	for n, c := range all {
		errs[n] = reg.Register(c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("invoke: %w", err)
	}
	return m, nil
}
