package spanmetrics

import (
	"math"
	"slices"

	"colonnade/domain/trace"
)

// Cumulate writes the cumulative metrics into the attributes of the spans of a trace: for
// errors and for the prompt, completion and total of tokens and costs, the
// incremental value of the span plus those of all spans below it. The spans may come in any order.
// Orphans sum themselves and the spans below them, and no span counts twice, even
// in a cycle (see trace.BuildTree). A sum is written if it is not zero; otherwise the
// value that a client sent stays. Whole numbers have whole sums.
func Cumulate(spans []*trace.Span) { CumulateAmong(spans, nil) }

// Incremental is the place of a span in its trace, and its incremental metrics in the order of
// Sum: NaN if there is none; whole errors and tokens are whole numbers, costs are not.
type Incremental struct {
	trace.Edge
	Metrics [Count]float64
}

// CumulateAmong is Cumulate for some spans of a trace; others are the remaining ones.
func CumulateAmong(spans []*trace.Span, others []Incremental) {
	edges := make([]trace.Edge, 0, len(spans)+len(others))
	sums := make([]metrics, len(spans)+len(others))
	for i, s := range spans {
		edges = append(edges, trace.EdgeOf(s))
		sums[i] = incremental(s.Attributes)
	}
	for i := range others {
		edges = append(edges, others[i].Edge)
		for k, n := range sums[len(spans)+i].all() {
			*n = metric(k, others[i].Metrics[k])
		}
	}
	order, parents := trace.Forest(edges)
	for _, i := range childrenFirst(order, parents) {
		if p := parents[i]; p >= 0 {
			sums[p].add(&sums[i])
		}
	}
	for i, s := range spans {
		sums[i].write(s)
	}
}

// Count is the number of metrics that are summed: errors, then prompt, completion and
// total of tokens, then those of costs.
const Count = 1 + 2*partCount

// Sum is Cumulate for numbers alone. It takes the incremental metrics of the spans
// of one trace, NaN if there is none, and returns the cumulative ones, 0 if there is nothing to
// sum; they equal those of Cumulate exactly as long as whole numbers stay below 2^53.
// oneTree reports whether the spans form a single tree: one root, every parent among
// the spans, no cycle. The sums of the root are then the totals of the trace.
func Sum(edges []trace.Edge, incremental [][Count]float64) (sums [][Count]float64, oneTree bool) {
	order, parents := trace.Forest(edges)
	sums = make([][Count]float64, len(incremental))
	roots := 0
	for i := range incremental {
		for k, v := range incremental[i] {
			if !math.IsNaN(v) {
				sums[i][k] = v
			}
		}
		if parents[i] < 0 {
			roots++
			oneTree = edges[i].Parent.IsZero()
		}
	}
	for _, i := range childrenFirst(order, parents) {
		if p := parents[i]; p >= 0 {
			for k, v := range sums[i] {
				sums[p][k] += v
			}
		}
	}
	return sums, oneTree && roots == 1
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

// childrenFirst orders every child before its parent, whatever their start times are.
func childrenFirst(order, parents []int) []int {
	children := make([]int, len(parents))
	for _, p := range parents {
		if p >= 0 {
			children[p]++
		}
	}
	queue := make([]int, 0, len(order))
	// From the latest to the earliest, so that equal input adds in equal order:
	// sums of floats depend on it.
	for _, i := range slices.Backward(order) {
		if children[i] == 0 {
			queue = append(queue, i)
		}
	}
	for at := 0; at < len(queue); at++ {
		if p := parents[queue[at]]; p >= 0 {
			if children[p]--; children[p] == 0 {
				queue = append(queue, p)
			}
		}
	}
	return queue
}
