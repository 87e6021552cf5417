package spanmetrics

import (
	"math"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

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

// metrics are the metrics of one span that are summed.
type metrics struct {
	errors        jsonvalue.Number
	tokens, costs [partCount]jsonvalue.Number
}

// all returns the metrics in the order of Sum.
func (s *metrics) all() [Count]*jsonvalue.Number {
	out := [Count]*jsonvalue.Number{&s.errors}
	for i := range partCount {
		out[1+i], out[1+partCount+i] = &s.tokens[i], &s.costs[i]
	}
	return out
}

// partOf returns the index of a part, partCount for any other name.
func partOf(name string) int {
	i := 0
	for i < partCount && partName(i) != name {
		i++
	}
	return i
}

// stored returns ag.metrics if it is not parsed yet, else nil.
func stored(attributes map[string]any) *Stored {
	ag, _ := attributes[semconv.Root].(map[string]any)
	m, _ := ag[semconv.Metrics].(*Stored)
	return m
}

func incremental(attributes map[string]any) (s metrics) {
	if m := stored(attributes); m != nil {
		return m.incremental
	}
	object := objectAt(objectAt(attributes, semconv.Root), semconv.Metrics)
	s.errors = numberOf(jsonvalue.Member(objectAt(object, semconv.Errors), semconv.Incremental))
	s.tokens = partsOf(objectAt(objectAt(object, semconv.Tokens), semconv.Incremental))
	s.costs = partsOf(objectAt(objectAt(object, semconv.Costs), semconv.Incremental))
	return s
}

func objectAt(object map[string]any, key string) map[string]any {
	m, _ := jsonvalue.Member(object, key).(map[string]any)
	return m
}

func partsOf(object map[string]any) (parts [partCount]jsonvalue.Number) {
	for i := range parts {
		parts[i] = numberOf(jsonvalue.Member(object, partName(i)))
	}
	return parts
}

func numberOf(v any) (n jsonvalue.Number) {
	switch v := v.(type) {
	case int64:
		n.Int = v
	case float64:
		n.Float, n.IsFloat = v, true
	}
	return n
}

// metric returns the number of a metric by its index in the order of Sum; NaN is 0.
func metric(index int, v float64) jsonvalue.Number {
	switch {
	case math.IsNaN(v):
		return jsonvalue.Number{}
	case index <= partCount && v == math.Trunc(v) && math.Abs(v) < jsonvalue.MaxExactInteger:
		return jsonvalue.Number{Int: int64(v)}
	default:
		return jsonvalue.Number{Float: v, IsFloat: true}
	}
}

func asFloat(n jsonvalue.Number) float64 {
	if n.IsFloat {
		return n.Float
	}
	return float64(n.Int)
}

// add returns the sum of two numbers: whole if both are and it fits.
func add(a, b jsonvalue.Number) jsonvalue.Number {
	if sum := a.Int + b.Int; !a.IsFloat && !b.IsFloat && (sum > a.Int) == (b.Int > 0) {
		return jsonvalue.Number{Int: sum}
	}
	return jsonvalue.Number{Float: asFloat(a) + asFloat(b), IsFloat: true}
}

func isZero(n jsonvalue.Number) bool { return n.Int == 0 && n.Float == 0 }

func (s *metrics) add(o *metrics) {
	to := s.all()
	for k, n := range o.all() {
		*to[k] = add(*to[k], *n)
	}
}

// write writes the metrics that are not zero into the attributes of a span.
func (s *metrics) write(span *trace.Span) {
	if m := stored(span.Attributes); m != nil {
		m.setCumulative(s)
		return
	}
	put(span, s.errors, semconv.Errors, semconv.Cumulative)
	for i := range partCount {
		put(span, s.tokens[i], semconv.Tokens, semconv.Cumulative, partName(i))
		put(span, s.costs[i], semconv.Costs, semconv.Cumulative, partName(i))
	}
}

// put writes a metric and creates the objects above it; a value of another type in its
// way stays, and the metric is not written.
func put(span *trace.Span, n jsonvalue.Number, keys ...string) {
	if isZero(n) {
		return
	}
	if span.Attributes == nil {
		span.Attributes = map[string]any{}
	}
	at := objectIn(objectIn(span.Attributes, semconv.Root), semconv.Metrics)
	last := len(keys) - 1
	for _, k := range keys[:last] {
		at = objectIn(at, k)
	}
	if at != nil {
		at[keys[last]] = n.Value()
	}
}

// objectIn returns the object at a key and creates it if the key is absent; nil if there is
// a value of another type, or no object to create it in.
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
