// Package cost computes the metrics of a single span: duration, errors and
// costs. Those over a whole trace (cumulative tokens, costs and errors) are
// domain/trace's, since readers compute them from what is stored.
package cost

import (
	"math"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Incremental writes the metrics that a span has of itself into metrics, which
// is ag.metrics with its four members present. Source: contract §1.6.
func Incremental(s *trace.Span, ag, metrics map[string]any, prices *Prices) {
	if ms := Milliseconds(s.Start, s.End); ms > 0 {
		set(metrics, semconv.Duration, semconv.Cumulative, ms)
	}
	if len(s.Events) > 0 {
		set(metrics, semconv.Errors, semconv.Incremental, exceptions(s.Events))
	}
	prices.charge(s, ag, metrics)
}

// Milliseconds is the time between two moments in Unix nanoseconds, rounded to
// 3 decimals.
func Milliseconds(start, end int64) float64 {
	return math.Round(float64(end-start)/1e3) / 1e3
}

func exceptions(events []trace.Event) int64 {
	var n int64
	for _, e := range events {
		if e.Name == semconv.ExceptionEvent {
			n++
		}
	}
	return n
}

func set(metrics map[string]any, metric, member string, value any) {
	if object, ok := metrics[metric].(map[string]any); ok {
		object[member] = value
	}
}
