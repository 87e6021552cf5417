package schema

import "strings"

// Metric is a metric that is summed over a trace.
type Metric struct {
	// Column holds it: in spans the span's own value, in span_cumulative that of the span
	// and all below it, in trace_totals that of all spans, in trace_metrics_1m the
	// cumulative values of roots.
	Column string
	// Incremental is the path of the span's own value, Cumulative the path at which
	// readers see the sum.
	Incremental, Cumulative string
}

// metricCount is the number of metrics.
const metricCount = 7

// Metrics returns the metrics in the order of spanmetrics.Sum.
func Metrics() [metricCount]Metric {
	return [...]Metric{
		{"errors", "ag.metrics.errors.incremental", "ag.metrics.errors.cumulative"},
		{"tokens_prompt", "ag.metrics.tokens.incremental.prompt", "ag.metrics.tokens.cumulative.prompt"},
		{"tokens_completion", "ag.metrics.tokens.incremental.completion", "ag.metrics.tokens.cumulative.completion"},
		{"tokens_total", "ag.metrics.tokens.incremental.total", "ag.metrics.tokens.cumulative.total"},
		{"costs_prompt", "ag.metrics.costs.incremental.prompt", "ag.metrics.costs.cumulative.prompt"},
		{"costs_completion", "ag.metrics.costs.incremental.completion", "ag.metrics.costs.cumulative.completion"},
		{"costs_total", "ag.metrics.costs.incremental.total", "ag.metrics.costs.cumulative.total"},
	}
}

// MetricColumns returns the columns of Metrics, separated by commas.
func MetricColumns() string {
	var out strings.Builder
	for i, m := range Metrics() {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(m.Column)
	}
	return out.String()
}

// TraitColumns are the columns of spans from which the roll-up of metrics takes what it
// needs beside them (spanmetrics.Traits).
const TraitColumns = "span_type, response_hash, failure_hash"

// The duration of a span has a column as metrics have, and no sum.
const (
	DurationColumn = "duration_ms"
	DurationPath   = "ag.metrics.duration.cumulative"
)

// NumberCount is the number of NumberColumns.
const NumberCount = 1 + metricCount

// NumberColumns returns the Float64 columns of spans that hold the number at an attribute
// path: the duration, then those of Metrics. NaN in them means absent.
func NumberColumns() (out [NumberCount]string) {
	out[0] = DurationColumn
	for i, m := range Metrics() {
		out[i+1] = m.Column
	}
	return out
}

// NumberPaths returns the paths of NumberColumns.
func NumberPaths() (out [NumberCount]string) {
	out[0] = DurationPath
	for i, m := range Metrics() {
		out[i+1] = m.Incremental
	}
	return out
}

// NumberColumn returns the column of NumberColumns that holds the number at a path; such
// a path is never in the map attributes_number.
func NumberColumn(path string) (column string, ok bool) {
	if !strings.HasPrefix(path, "ag.metrics.") { // most paths: the sink asks for each
		return "", false
	}
	if path == DurationPath {
		return DurationColumn, true
	}
	for _, m := range Metrics() {
		if m.Incremental == path {
			return m.Column, true
		}
	}
	return "", false
}
