package spanmetrics

import (
	"math"

	"colonnade/domain/trace"
)

// Cumulate writes the cumulative metrics into the attributes of the spans of a trace:
// errors, and prompt, completion and total of tokens and costs, of the span and all
// spans below it by the rule of cumulative. The spans may come in any order. Orphans
// are tops, and no span counts twice, even in a cycle (see trace.BuildTree). A sum is
// written if it is not zero; otherwise the value that a client sent stays. Whole numbers
// have whole sums.
func Cumulate(spans []*trace.Span) { CumulateAmong(spans, nil) }

// Incremental is the place of a span in its trace, its traits, and its incremental metrics
// in the order of Sum: NaN if there is none; whole errors and tokens are whole numbers,
// costs are not.
type Incremental struct {
	trace.Edge
	Traits
	Metrics [Count]float64
}

// CumulateAmong is Cumulate for some spans of a trace; others are the remaining ones.
func CumulateAmong(spans []*trace.Span, others []Incremental) {
	n := len(spans) + len(others)
	edges, traits, sums := make([]trace.Edge, 0, n), make([]Traits, 0, n), make([]metrics, 0, n)
	for _, s := range spans {
		edges, traits, sums = append(edges, trace.EdgeOf(s)), append(traits, TraitsOf(s)), append(sums, incremental(s.Attributes))
	}
	for i := range others {
		edges, traits, sums = append(edges, others[i].Edge), append(traits, others[i].Traits), append(sums, metricsOf(&others[i].Metrics))
	}
	rollUp(edges, traits, sums)
	for i, s := range spans {
		sums[i].write(s)
	}
}

// Count is the number of metrics that are summed: errors, then prompt, completion and
// total of tokens, then those of costs.
const Count = 1 + 2*partCount

// Sums are the cumulative metrics of the spans of a trace; 0 if there is nothing to sum.
type Sums struct {
	// Spans are in the order in which the spans were given.
	Spans [][Count]float64
	// Totals are those of the trace: of all its tops together.
	Totals [Count]float64
	// Tops are the positions of the spans at the top of their trees, ascending by start. The
	// sums of a single one are the totals.
	Tops []int32
}

// Sum is Cumulate for numbers alone. Its sums equal those of Cumulate exactly as long as
// whole numbers stay below 2^53.
func Sum(spans []Incremental) Sums {
	n := len(spans)
	edges, traits, sums := make([]trace.Edge, n), make([]Traits, n), make([]metrics, n)
	for i := range spans {
		edges[i], traits[i], sums[i] = spans[i].Edge, spans[i].Traits, metricsOf(&spans[i].Metrics)
	}
	totals, tops := rollUp(edges, traits, sums)
	out := Sums{Spans: make([][Count]float64, n), Totals: totals.floats(), Tops: tops}
	for i := range sums {
		out.Spans[i] = sums[i].floats()
	}
	return out
}

// metricsOf returns the metrics of numbers in the order of Sum.
func metricsOf(numbers *[Count]float64) (out metrics) {
	for k, n := range out.all() {
		*n = metric(k, numbers[k])
	}
	return out
}

// floats returns the metrics in the order of Sum.
func (s *metrics) floats() (out [Count]float64) {
	for k, n := range s.all() {
		out[k] = asFloat(*n)
	}
	return out
}

// SetCumulative writes the cumulative metrics of one span, which Sum returned, into its
// attributes, as Cumulate does for a whole trace; NaN counts as 0. A sum that
// equals the span's own value keeps the number type that the client sent; other
// errors and tokens are whole numbers if possible, costs are not. Sums from 2^53 on
// are not exact.
func SetCumulative(s *trace.Span, sums [Count]float64) {
	out := incremental(s.Attributes)
	for k, n := range out.all() {
		if asFloat(*n) != sums[k] {
			*n = metric(k, sums[k])
		}
	}
	out.write(s)
}

// HasAny reports which metrics a span of the trace has: a total of 0 for others means absence.
func HasAny(spans []Incremental) (has [Count]bool) {
	for i := range spans {
		for k, v := range spans[i].Metrics {
			has[k] = has[k] || !math.IsNaN(v)
		}
	}
	return has
}
