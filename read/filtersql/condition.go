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
	// Exact is set where the chosen rows are exactly the filter's spans. Otherwise the
	// rows are a superset, and filter.Match has to decide.
	Exact bool
	// SearchesPayloads is set where it searches the text of span_payloads_packed.
	SearchesPayloads bool
	// Rechecks is set where Scan.SkipRecheck makes a difference, and RechecksPayloads
	// where it decides whether payloads are searched.
	Rechecks, RechecksPayloads bool
	// FullText is set where the full-text index can narrow that search.
	FullText bool
	// ReadsCumulative is set where it tests a value that is summed over a whole trace
	// when it is read (spanmetrics.Cumulate), so that a span alone cannot decide.
	ReadsCumulative bool
	// Types are the trace types that the filter leaves possible, in stored order; empty means that nothing matches.
	Types []trace.Type
	// TraceIDs are the only traces that can match; nil means any.
	TraceIDs []trace.TraceID
	// AnnotationLookup finds the matches in an index of annotations; nil where it cannot.
	AnnotationLookup *traits.Annotations
	// Fingerprint is equal for filters that differ in values only. A Condition of
	// WithoutPayloads has the fingerprint of no filter.
	Fingerprint uint64
	// Min and Max bound the start of matching spans, inclusive, in Unix microseconds.
	Min, Max int64

	superset, subset sqltext.Node
	terms            []Term
	phrases          [][]string
	values           [][]string
}

// HasPhrases reports whether every match has certain texts in its payloads, so that
// the sets of n-grams find their offset blocks (statements.OffsetBlocks), and whether
// that lookup is worth its cost, because nothing else finds the rows.
func (c *Condition) HasPhrases() bool {
	return len(c.phrases) > 0 && (c.SearchesPayloads || len(c.terms) == 0)
}

// WithoutPayloads returns the condition without its tests of payloads, if its only other
// test is that of the type: it holds for every row that the condition holds for, and
// Scan.Verify decides about these rows. It returns nil for other conditions.
func (c *Condition) WithoutPayloads() *Condition {
	if _, alone := c.superset.(sqltext.PayloadCondition); !alone || c.Exact || len(c.terms) > 0 || c.AnnotationLookup != nil || c.TraceIDs != nil {
		return nil
	}
	return &Condition{Types: c.Types, Min: c.Min, Max: c.Max, Fingerprint: traits.Fingerprint(nil), superset: sqltext.Constant(true), subset: sqltext.Constant(false)}
}

// Superset returns the node that holds for every match, and perhaps for more rows.
func (c *Condition) Superset() sqltext.Node { return c.superset }

// Subset returns the node whose rows all match; some matches may not be among them.
func (c *Condition) Subset() sqltext.Node { return c.subset }

// Terms returns the sets of index terms to look up.
func (c *Condition) Terms() []Term { return c.terms }

// Phrases returns the lists of texts of which the payloads of every match have one each.
func (c *Condition) Phrases() [][]string { return c.phrases }

// Selective reports whether the index of search terms finds the rows, and the rows are
// few by their nature, so that a scan in windows from the newest would be a detour.
func (c *Condition) Selective() bool { return len(c.terms) > 0 && c.terms[0].rank < rankHash }

// pair bounds a condition from both sides: every span that matches is in superset,
// and every row in subset matches. A negation swaps the two.
type pair struct {
	superset, subset sqltext.Node
	exact            bool
	terms            []Term
	// phrases are lists of texts: the payloads of every span that matches have one of
	// each. Rows in superset that do not match may have none.
	phrases [][]string
	// values are lists too: every row in superset has one of each among its schema.AttributeValues.
	values [][]string
}

// exactly returns the pair of a condition that the row of spans decides.
func exactly(n sqltext.Node) pair { return pair{superset: n, subset: n, exact: true} }

// between returns the pair of a condition that the row of spans does not decide.
func between(over, under sqltext.Node) pair { return pair{superset: over, subset: under} }

// with returns the pair with these lists of values.
func (p pair) with(leaves [][]string) pair {
	p.values = leaves
	return p
}

// ValueHint returns the node that asks the index of attribute values which granules may have rows of the condition.
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

// StoredTypes returns the types that the sink assigns: every trace has one of two. A scan
// of the third would find nothing and cost as much as the others.
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

// narrow takes the types, ids and times that bound every match from the tree.
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
	default: // an Or, a Not and the other conditions bound nothing by themselves
	}
}

// equals returns the values of which an attribute has to equal one.
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

// readsCumulative reports whether a condition tests a cumulative value, or an object that contains one.
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

// holds reports whether a node or one within it is of a kind.
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
