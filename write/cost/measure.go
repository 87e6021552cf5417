// Package cost computes the metrics of a single span: duration, errors, tokens
// and costs. Those over a whole trace (cumulative tokens, costs and errors) are
// domain/trace's, since readers compute them from what is stored.
package cost

import (
	"math"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Incremental writes the metrics that a span has of itself into metrics, which
// is ag.metrics with its four members present, and where its cost comes from
// into ag.meta. Source: contract §1.6.
func Incremental(s *trace.Span, ag, metrics map[string]any, prices *Prices, sender Sender) {
	if ms := Milliseconds(s.Start, s.End); ms > 0 {
		set(metrics, semconv.Duration, semconv.Cumulative, ms)
	}
	if n, seen := failures(s, sender); seen {
		set(metrics, semconv.Errors, semconv.Incremental, n)
	}
	completeTokens(member(member(metrics, semconv.Tokens), semconv.Incremental), sender.DisjointUsage)
	prices.charge(s, ag, metrics, sender)
}

// Milliseconds returns the time between two moments in Unix nanoseconds, rounded to
// 3 decimals.
func Milliseconds(start, end int64) float64 {
	return math.Round(float64(end-start)/1e3) / 1e3
}

// failures counts the errors of a span: its exception events, or one where it
// failed without an event. seen is false for a span without events that did not
// fail. Source: contract §0 row 39.
func failures(s *trace.Span, sender Sender) (n int64, seen bool) {
	for _, e := range s.Events {
		if e.Name == semconv.ExceptionEvent {
			n++
		}
	}
	if n == 0 && (s.Status == trace.StatusError || sender.Failure != "") {
		n = 1
	}
	return n, n > 0 || len(s.Events) > 0
}

func set(metrics map[string]any, metric, member string, value any) {
	if object, ok := metrics[metric].(map[string]any); ok {
		object[member] = value
	}
}
