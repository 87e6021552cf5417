package trace

import (
	"math"
	"slices"
	"strconv"
)

// Cumulate writes the cumulative metrics of a trace into the attributes of its
// spans: for errors and for the prompt, completion and total of tokens and
// costs, a span's own incremental value plus those of all below it. The spans
// are all of one trace, in any order; orphans count for themselves and those
// below them, and no span counts twice, cycles or not (see BuildTree). A sum is
// written where it is not zero; elsewhere what a client sent stays. Whole
// numbers sum to whole numbers. Source: contract §1.6, §0 row 17.
func Cumulate(spans []*Span) { CumulateAmong(spans, nil) }

// Own is a span as far as the sums of its trace look at it. Metrics are its
// incremental ones in the order of SumUp, NaN where there is none; whole errors
// and tokens are whole numbers, costs are not.
type Own struct {
	Edge
	Metrics [MetricCount]float64
}

// CumulateAmong is Cumulate for some spans of a trace; others are the rest of it.
func CumulateAmong(spans []*Span, others []Own) {
	edges := make([]Edge, 0, len(spans)+len(others))
	sums := make([]sum, len(spans)+len(others))
	for i, s := range spans {
		edges = append(edges, edge(s))
		sums[i] = incremental(s.Attributes)
	}
	for i := range others {
		edges = append(edges, others[i].Edge)
		for k, n := range sums[len(spans)+i].all() {
			*n = metric(k, others[i].Metrics[k])
		}
	}
	order, parents := forest(edges)
	for _, i := range leavesFirst(order, parents) {
		if p := parents[i]; p >= 0 {
			sums[p].add(&sums[i])
		}
	}
	for i, s := range spans {
		sums[i].write(s)
	}
}

// MetricCount is the number of the metrics that Cumulate sums: errors, then
// prompt, completion and total of tokens, then of costs.
const MetricCount = 1 + 2*partCount

// SumUp is Cumulate over numbers alone: own are the incremental metrics of the
// spans of one trace, NaN where there is none, and what it gives are the same
// sums, 0 where there is nothing to sum, to the last bit as long as whole numbers
// stay below 2^53. oneTree tells that the spans are a single tree: one root,
// every parent among them, no cycle; what the root sums is then the trace's total.
func SumUp(edges []Edge, own [][MetricCount]float64) (sums [][MetricCount]float64, oneTree bool) {
	order, parents := forest(edges)
	sums = make([][MetricCount]float64, len(own))
	roots := 0
	for i := range own {
		for k, v := range own[i] {
			if !math.IsNaN(v) {
				sums[i][k] = v
			}
		}
		if parents[i] < 0 {
			roots++
			oneTree = edges[i].Parent.IsZero()
		}
	}
	for _, i := range leavesFirst(order, parents) {
		if p := parents[i]; p >= 0 {
			for k, v := range sums[i] {
				sums[p][k] += v
			}
		}
	}
	return sums, oneTree && roots == 1
}

// SetCumulative writes sums that SumUp made into a span, as Cumulate does of the
// span's whole trace; NaN counts as 0. A sum that is what the span itself has
// stays as the client sent it; of others errors and tokens are whole numbers
// where they can be, costs are not. Sums from 2^53 on are not exact.
func SetCumulative(s *Span, sums [MetricCount]float64) {
	out := incremental(s.Attributes)
	for k, n := range out.all() {
		if n.asFloat() != sums[k] {
			*n = metric(k, sums[k])
		}
	}
	out.write(s)
}

// leavesFirst orders every child before its parent, whatever their start times say.
func leavesFirst(order, parents []int) []int {
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

// number is a sum that is whole as long as all it added was.
type number struct {
	whole   int64
	float   float64
	isFloat bool
}

func numberOf(v any) (n number) {
	switch v := v.(type) {
	case int64:
		n.whole = v
	case float64:
		n.float, n.isFloat = v, true
	}
	return n
}

func (n number) asFloat() float64 {
	if n.isFloat {
		return n.float
	}
	return float64(n.whole)
}

func (n *number) add(o number) {
	if sum := n.whole + o.whole; !n.isFloat && !o.isFloat && (sum > n.whole) == (o.whole > 0) {
		n.whole = sum
		return
	}
	*n = number{float: n.asFloat() + o.asFloat(), isFloat: true}
}

func (n number) isZero() bool { return n.whole == 0 && n.float == 0 }

func (n number) value() any {
	if n.isFloat {
		return n.float
	}
	return n.whole
}

// append writes the number as AppendJSON does.
func (n number) append(dst []byte) []byte {
	if n.isFloat {
		return appendFloat(dst, n.float)
	}
	return strconv.AppendInt(dst, n.whole, 10)
}

const (
	prompt = iota
	completion
	total
	partCount
)

func partName(i int) string {
	switch i {
	case prompt:
		return "prompt"
	case completion:
		return "completion"
	default:
		return "total"
	}
}

type sum struct {
	errors        number
	tokens, costs [partCount]number
}

// all are the metrics in the order of SumUp.
func (s *sum) all() [MetricCount]*number {
	out := [MetricCount]*number{&s.errors}
	for i := range partCount {
		out[1+i], out[1+partCount+i] = &s.tokens[i], &s.costs[i]
	}
	return out
}

// partOf is the part of a name, partCount for another.
func partOf(name string) int {
	i := 0
	for i < partCount && partName(i) != name {
		i++
	}
	return i
}

// unopened is ag.metrics where nobody has looked into it, else nil.
func unopened(attributes map[string]any) *Metrics {
	ag, _ := attributes["ag"].(map[string]any)
	m, _ := ag["metrics"].(*Metrics)
	return m
}

func incremental(attributes map[string]any) (s sum) {
	if m := unopened(attributes); m != nil {
		return m.own
	}
	metrics := objectAt(objectAt(attributes, "ag"), "metrics")
	s.errors = numberAt(objectAt(metrics, "errors"), "incremental")
	s.tokens = partsAt(objectAt(metrics, "tokens"), "incremental")
	s.costs = partsAt(objectAt(metrics, "costs"), "incremental")
	return s
}

func objectAt(object map[string]any, key string) map[string]any {
	v, _ := lookup(object, []string{key}, true)
	m, _ := v.(map[string]any)
	return m
}

func numberAt(object map[string]any, key string) number {
	v, _ := lookup(object, []string{key}, true)
	return numberOf(v)
}

func partsAt(object map[string]any, key string) (out [partCount]number) {
	parts := objectAt(object, key)
	for i := range out {
		out[i] = numberAt(parts, partName(i))
	}
	return out
}

// metric is a value at its place in the order of SumUp; NaN is 0.
func metric(at int, v float64) number {
	switch {
	case math.IsNaN(v):
		return number{}
	case at <= partCount && v == math.Trunc(v) && math.Abs(v) < 1<<53:
		return number{whole: int64(v)}
	default:
		return number{float: v, isFloat: true}
	}
}

func (s *sum) add(o *sum) {
	s.errors.add(o.errors)
	for i := range partCount {
		s.tokens[i].add(o.tokens[i])
		s.costs[i].add(o.costs[i])
	}
}

func (s *sum) write(span *Span) {
	if m := unopened(span.Attributes); m != nil {
		m.put(s)
		return
	}
	put(span, s.errors, "errors", "cumulative")
	for i := range partCount {
		put(span, s.tokens[i], "tokens", "cumulative", partName(i))
		put(span, s.costs[i], "costs", "cumulative", partName(i))
	}
}

// put writes a metric, making the objects on its way; where something else
// stands in the way, it is left as it is.
func put(span *Span, n number, keys ...string) {
	if n.isZero() {
		return
	}
	if span.Attributes == nil {
		span.Attributes = map[string]any{}
	}
	at := objectIn(objectIn(span.Attributes, "ag"), "metrics")
	last := len(keys) - 1
	for _, k := range keys[:last] {
		at = objectIn(at, k)
	}
	if at != nil {
		at[keys[last]] = n.value()
	}
}

// objectIn gives the object at a key, made where there is none; nil where
// something else is, or no object to make it in.
func objectIn(at map[string]any, key string) map[string]any {
	if at == nil {
		return nil
	}
	v := at[key]
	if v == nil {
		m := map[string]any{}
		at[key] = m
		return m
	}
	m, _ := v.(map[string]any)
	return m
}
