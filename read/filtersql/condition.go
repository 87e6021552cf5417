package filtersql

import (
	"math"
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/filtersql/traits"
	"colonnade/read/sqltext"
)

// Condition is a compiled filter: it chooses rows of spans.
type Condition struct {
	// Exact tells that the chosen rows are just the filter's spans. Otherwise
	// they contain them, and filter.Match has to decide.
	Exact bool
	// Documents tells that it searches the text of span_payloads_packed.
	SearchesPayloads bool
	// Loosens tells that Scan.Loose makes a difference, and Unmapped that it does to
	// whether documents are searched.
	Rechecks, RechecksPayloads bool
	// Words tells that the full-text index can narrow that search.
	FullText bool
	// Sums tells that it looks at what is summed over a whole trace when it is
	// read (spanmetrics.Cumulate), so that a span alone cannot decide.
	ReadsCumulative bool
	// Types are the trace types that the filter leaves possible, in stored order; empty means that nothing matches.
	Types []trace.Type
	// TraceIDs are the only traces that can match; nil means any.
	TraceIDs []trace.TraceID
	// Said is what tells where the matches are; nil where nothing does.
	AnnotationLookup *traits.Annotations
	// Shape is equal for filters that differ in values only. Rows are of the shape of no filter.
	Fingerprint uint64
	// Min and Max bound the start of matching spans, inclusive, in Unix microseconds.
	Min, Max int64

	superset, subset sqltext.Node
	terms            []Term
	phrases          [][]string
	values           [][]string
}

// Phrases tells that every match has certain texts in its documents, so that sets
// of n-grams tell where it may be (Sections), and that to know it is worth a
// look: nothing else finds the rows.
func (c *Condition) HasPhrases() bool {
	return len(c.phrases) > 0 && (c.SearchesPayloads || len(c.terms) == 0)
}

// Rows is the condition without what it asks of documents, where it asks nothing else
// of a row than a type: it holds for every row that the condition holds for, and
// Scan.Hold decides about those. nil for other conditions.
func (c *Condition) WithoutPayloads() *Condition {
	if _, alone := c.superset.(sqltext.PayloadCondition); !alone || c.Exact || len(c.terms) > 0 || c.AnnotationLookup != nil || c.TraceIDs != nil {
		return nil
	}
	return &Condition{Types: c.Types, Min: c.Min, Max: c.Max, Fingerprint: traits.Fingerprint(nil), superset: sqltext.Constant(true), subset: sqltext.Constant(false)}
}

// Over is what contains every match.
func (c *Condition) Superset() sqltext.Node { return c.superset }

// Under is what every row matches.
func (c *Condition) Subset() sqltext.Node { return c.subset }

// Needles are for the index.
func (c *Condition) Terms() []Term { return c.terms }

// Texts are the lists of texts.
func (c *Condition) Phrases() [][]string { return c.phrases }

// Needle tells whether the inverted index finds the rows, and they are few by
// their nature: a scan in windows from the newest would be a detour.
func (c *Condition) Selective() bool { return len(c.terms) > 0 && c.terms[0].rank < rankHash }

// pair holds a condition from both sides: every span that matches is in over,
// and every row in under matches. A negation swaps the two.
type pair struct {
	superset, subset sqltext.Node
	exact            bool
	terms            []Term
	// phrases are lists of texts: the documents of every span that matches have one of
	// each. Rows in over that do not match may have none.
	phrases [][]string
	// leaves are lists too: every row in over has one of each among its schema.AttributeValues.
	values [][]string
}

// exactly is a condition that the core row decides.
func exactly(n sqltext.Node) pair { return pair{superset: n, subset: n, exact: true} }

// between is one that it does not.
func between(over, under sqltext.Node) pair { return pair{superset: over, subset: under} }

// with is the pair with leaves.
func (p pair) with(leaves [][]string) pair {
	p.values = leaves
	return p
}

// amongLeaves tells the index of leaves which granules may have rows of the condition.
func (c *Condition) ValueHint() sqltext.Node {
	out := make([]sqltext.Node, 0, len(c.values))
	for _, l := range c.values {
		if len(l) == 1 {
			out = append(out, sqltext.Expr("has("+schema.AttributeValues+", ?)", l[0]))
		} else {
			out = append(out, sqltext.Expr("hasAny("+schema.AttributeValues+", ?)", l))
		}
	}
	if len(out) == 0 {
		return sqltext.Constant(true)
	}
	return sqltext.IndexHint(sqltext.And(out...))
}

// given are the types that the sink gives: every trace has one of two (contract §0 row 7).
// A scan of the third would find nothing and cost as much as the others.
func StoredTypes() []trace.Type { return []trace.Type{trace.Invocation, trace.Annotation} }

// Filter compiles a tree; nil holds for every span.
func Filter(e filter.Expr) (*Condition, error) {
	p, err := compile(e)
	if err != nil {
		return nil, err
	}
	c := &Condition{Exact: p.exact, Min: math.MinInt64, Max: math.MaxInt64, Fingerprint: traits.Fingerprint(e), subset: p.subset, terms: choose(p.terms)}
	c.superset = without(p.superset, c.terms)
	c.phrases = searchtext.Selective(p.phrases)
	if len(c.terms) == 0 { // which find the rows, few as they are
		c.values = searchtext.Selective(p.values)
	}
	c.Types = StoredTypes()
	c.narrow(e)
	c.AnnotationLookup = traits.FindAnnotations(e)
	if c.superset == sqltext.Constant(false) || c.Min > c.Max {
		c.Types = nil
	}
	c.SearchesPayloads = holds(c.superset, isPayloadCondition)
	c.Rechecks = holds(c.superset, func(n sqltext.Node) bool { _, ok := n.(sqltext.Rechecked); return ok })
	c.RechecksPayloads = holds(c.superset, func(n sqltext.Node) bool {
		r, ok := n.(sqltext.Rechecked)
		return ok && holds(r.By, isPayloadCondition)
	})
	c.FullText = holds(c.superset, func(n sqltext.Node) bool { _, ok := n.(sqltext.FullText); return ok })
	c.ReadsCumulative = readsCumulative(e)
	return c, nil
}

// narrow takes from the tree what bounds every match: types, ids, times.
func (c *Condition) narrow(e filter.Expr) {
	switch e := e.(type) {
	case filter.And:
		for _, child := range e {
			c.narrow(child)
		}
	case filter.TraceType:
		c.Types = slices.DeleteFunc(c.Types, func(t trace.Type) bool { return !slices.Contains(e.In, t) })
	case filter.Attribute:
		if words, ok := equals(e); ok && e.Of == filter.Attributes && e.Path == traceTypePath {
			c.Types = slices.DeleteFunc(c.Types, func(t trace.Type) bool { return !slices.Contains(words, any(t.String())) })
		}
	case filter.TraceID:
		if c.TraceIDs == nil {
			c.TraceIDs = e.In
			return
		}
		both := make([]trace.TraceID, 0, len(c.TraceIDs))
		for _, id := range c.TraceIDs {
			if slices.Contains(e.In, id) {
				both = append(both, id)
			}
		}
		if c.TraceIDs = both; len(both) == 0 {
			c.Types = nil
		}
	case filter.Time:
		if e.Field == filter.StartTime {
			c.Min, c.Max = max(c.Min, e.Min), min(c.Max, e.Max)
		}
	default: // an Or, a Not and the other leaves bound nothing by themselves
	}
}

// equals gives the values of which an attribute has to equal one.
func equals(a filter.Attribute) ([]any, bool) {
	switch t := a.Test.(type) {
	case filter.Equal:
		return []any{t.Value}, true
	case filter.Member:
		return t.Values, !t.All
	default:
		return nil, false
	}
}

// summed tells whether a leaf looks at a computed value, or at an object that holds one.
func readsCumulative(e filter.Expr) bool {
	switch e := e.(type) {
	case filter.And:
		return slices.ContainsFunc(e, readsCumulative)
	case filter.Or:
		return slices.ContainsFunc(e, readsCumulative)
	case filter.Not:
		return readsCumulative(e.Expr)
	case filter.Attribute:
		return e.Of == filter.Attributes && (Cumulative(e.Path) || ContainsCumulative(e.Path))
	default:
		return false
	}
}

func isPayloadCondition(n sqltext.Node) bool {
	_, ok := n.(sqltext.PayloadCondition)
	return ok
}

// holds tells whether a node or one within it is of a kind.
func holds(n sqltext.Node, kind func(sqltext.Node) bool) bool {
	if kind(n) {
		return true
	}
	within := func(n sqltext.Node) bool { return holds(n, kind) }
	switch n := n.(type) {
	case sqltext.PayloadCondition:
		return within(n.Of)
	case sqltext.Rechecked:
		return within(n.Of) || within(n.By)
	case sqltext.Conjunction:
		return slices.ContainsFunc(n, within)
	case sqltext.Disjunction:
		return slices.ContainsFunc(n, within)
	case sqltext.Negation:
		return within(n.Of)
	default:
		return false
	}
}
