package analytics

import (
	"slices"

	"colonnade/domain/semconv"
	"colonnade/read/analyticssql"
)

// Type says what sort of values a spec takes and what it makes of them.
type Type string

// The types. Source: contract §3.6. None takes nothing; Any takes the sort of
// value that most spans of the bucket have.
const (
	Continuous Type = "numeric/continuous"
	Discrete   Type = "numeric/discrete"
	Binary     Type = "binary"
	Single     Type = "categorical/single"
	Multiple   Type = "categorical/multiple"
	String     Type = "string"
	JSON       Type = "json"
	None       Type = "none"
	Any        Type = "*"
)

// Types are all of them.
func Types() []Type {
	return []Type{Continuous, Discrete, Binary, Single, Multiple, String, JSON, None, Any}
}

// MaxBins bounds a histogram, MaxSpecs the specs of a question, each of which
// makes the statement longer.
const (
	MaxBins  = 10_000
	MaxSpecs = 100
)

// Spec asks for a metric of the values at a path.
type Spec struct {
	Type Type
	// Path names the metric in the answer; Keys lead to the value in a span's attributes.
	Path string
	Keys []string
	// Bins is the number of bins of a histogram, 1 to MaxBins; zero means the
	// square root of the number of values, rounded up.
	Bins int
	// Min and Max are the ends of a histogram; nil means those of the values.
	// Values beyond them are in no bin.
	Min, Max *float64
	// Centered lays the first and the last bin's center on the ends.
	Centered bool
}

// DefaultSpecs are those of a question without any. Source: contract §3.6.
func DefaultSpecs() []Spec {
	metric := func(t Type, keys ...string) Spec {
		s := Spec{Type: t, Path: "attributes", Keys: append([]string{semconv.Root}, keys...)}
		for _, k := range s.Keys {
			s.Path += "." + k
		}
		return s
	}
	return []Spec{
		metric(Continuous, semconv.Metrics, semconv.Duration, semconv.Cumulative),
		metric(Continuous, semconv.Metrics, semconv.Errors, semconv.Cumulative),
		metric(Continuous, semconv.Metrics, semconv.Costs, semconv.Cumulative, semconv.Total),
		metric(Continuous, semconv.Metrics, semconv.Tokens, semconv.Cumulative, semconv.Total),
		metric(Single, semconv.Type, semconv.TypeTrace),
		metric(Single, semconv.Type, semconv.TypeSpan),
	}
}

// measures are what to gather for the spec.
func (s Spec) measures() []analyticssql.Measure {
	of := func(all ...analyticssql.Kind) []analyticssql.Measure {
		out := make([]analyticssql.Measure, len(all))
		for i, g := range all {
			out[i] = analyticssql.Measure{Kind: g, Keys: s.Keys}
		}
		return out
	}
	switch s.Type {
	case Continuous, Discrete:
		return of(analyticssql.Numbers)
	case Binary:
		return of(analyticssql.Booleans)
	case Single:
		return of(analyticssql.Strings)
	case Multiple:
		return of(analyticssql.Elements)
	case String:
		return of(analyticssql.StringCount)
	case JSON:
		return of(analyticssql.Objects)
	case Any:
		return of(analyticssql.Numbers, analyticssql.Booleans, analyticssql.Strings, analyticssql.Elements, analyticssql.Objects)
	default:
		return nil
	}
}

// metric makes the metric of what was gathered; there is none of nothing. Numbers
// that are not finite, which what a trace sums may come to, are left out.
func (s Spec) metric(g []gathered) (Metric, bool) {
	if s.Type == None {
		return Metric{}, false
	}
	for i := range g {
		g[i].numbers = slices.DeleteFunc(g[i].numbers, func(v float64) bool { return Finite(v) == nil })
	}
	if s.Type == Any {
		best := s
		most := uint64(0)
		for i, t := range []Type{Continuous, Binary, Single, Multiple, JSON} {
			if n := g[i].values(); n > most {
				most, best.Type = n, t
				g[0], g[i] = g[i], g[0]
			}
		}
		if most == 0 {
			return Metric{}, false
		}
		return best.metric(g[:1])
	}
	if g[0].values() == 0 {
		return Metric{}, false
	}
	m := Metric{Type: s.Type, Count: g[0].values()}
	switch s.Type {
	case Continuous, Discrete:
		s.numeric(&m, g[0].numbers)
	case Binary:
		m.Freq = frequencies(m.Count, []Frequency{{Value: true, Count: g[0].trues}, {Value: false, Count: g[0].falses}})
	case Single, Multiple:
		m.Freq = frequencies(m.Count, byCount(g[0].strings))
	default: // string and json are counted only
	}
	for _, f := range m.Freq {
		m.Uniq = append(m.Uniq, f.Value)
	}
	return m, true
}
