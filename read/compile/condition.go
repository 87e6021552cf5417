package compile

import (
	"fmt"
	"math"
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Condition is a compiled filter: it chooses rows of spans.
type Condition struct {
	// Exact tells that the chosen rows are just the filter's spans. Otherwise
	// they contain them, and filter.Match has to decide.
	Exact bool
	// Documents tells that it searches the text of span_payloads_packed.
	Documents bool
	// Loosens tells that Scan.Loose makes a difference, and Unmapped that it does to
	// whether documents are searched.
	Loosens, Unmapped bool
	// Words tells that the full-text index can narrow that search.
	Words bool
	// Sums tells that it looks at what is summed over a whole trace when it is
	// read (spanmetrics.Cumulate), so that a span alone cannot decide.
	Sums bool
	// Types are the trace types that the filter leaves possible, in stored order; empty means that nothing matches.
	Types []trace.Type
	// TraceIDs are the only traces that can match; nil means any.
	TraceIDs []trace.TraceID
	// Said is what tells where the matches are; nil where nothing does.
	Said *Said
	// Shape is equal for filters that differ in values only. Rows are of the shape of no filter.
	Shape uint64
	// Min and Max bound the start of matching spans, inclusive, in Unix microseconds.
	Min, Max int64

	over, under node
	needles     []needle
	phrases     [][]string
	leaves      [][]string
}

// Phrases tells that every match has certain texts in its documents, so that sets
// of n-grams tell where it may be (Sections), and that to know it is worth a
// look: nothing else finds the rows.
func (c *Condition) Phrases() bool {
	return len(c.phrases) > 0 && (c.Documents || len(c.needles) == 0)
}

// Rows is the condition without what it asks of documents, where it asks nothing else
// of a row than a type: it holds for every row that the condition holds for, and
// Scan.Hold decides about those. nil for other conditions.
func (c *Condition) Rows() *Condition {
	if _, alone := c.over.(document); !alone || c.Exact || len(c.needles) > 0 || c.Said != nil || c.TraceIDs != nil {
		return nil
	}
	return &Condition{Types: c.Types, Min: c.Min, Max: c.Max, Shape: shape(nil), over: constant(true), under: constant(false)}
}

// Needle tells whether the inverted index finds the rows, and they are few by
// their nature: a scan in windows from the newest would be a detour.
func (c *Condition) Needle() bool { return len(c.needles) > 0 && c.needles[0].rank < rankHash }

// pair holds a condition from both sides: every span that matches is in over,
// and every row in under matches. A negation swaps the two.
type pair struct {
	over, under node
	exact       bool
	needles     []needle
	// phrases are lists of texts: the documents of every span that matches have one of
	// each. Rows in over that do not match may have none.
	phrases [][]string
	// leaves are lists too: every row in over has one of each among its schema.AttributeValues.
	leaves [][]string
}

// exactly is a condition that the core row decides.
func exactly(n node) pair { return pair{over: n, under: n, exact: true} }

// between is one that it does not.
func between(over, under node) pair { return pair{over: over, under: under} }

// with is the pair with leaves.
func (p pair) with(leaves [][]string) pair {
	p.leaves = leaves
	return p
}

// amongLeaves tells the index of leaves which granules may have rows of the condition.
func (c *Condition) amongLeaves() node {
	out := make([]node, 0, len(c.leaves))
	for _, l := range c.leaves {
		if len(l) == 1 {
			out = append(out, sql("has("+schema.AttributeValues+", ?)", l[0]))
		} else {
			out = append(out, sql("hasAny("+schema.AttributeValues+", ?)", l))
		}
	}
	if len(out) == 0 {
		return constant(true)
	}
	return pruning{both(out...)}
}

// given are the types that the sink gives: every trace has one of two (contract §0 row 7).
// A scan of the third would find nothing and cost as much as the others.
func given() []trace.Type { return []trace.Type{trace.Invocation, trace.Annotation} }

// Filter compiles a tree; nil holds for every span.
func Filter(e filter.Expr) (*Condition, error) {
	p, err := compile(e)
	if err != nil {
		return nil, err
	}
	c := &Condition{Exact: p.exact, Min: math.MinInt64, Max: math.MaxInt64, Shape: shape(e), under: p.under, needles: choose(p.needles)}
	c.over = without(p.over, c.needles)
	c.phrases = selective(p.phrases)
	if len(c.needles) == 0 { // which find the rows, few as they are
		c.leaves = selective(p.leaves)
	}
	c.Types = given()
	c.narrow(e)
	c.Said = said(e)
	if c.over == constant(false) || c.Min > c.Max {
		c.Types = nil
	}
	c.Documents = holds(c.over, isDocument)
	c.Loosens = holds(c.over, func(n node) bool { _, ok := n.(refined); return ok })
	c.Unmapped = holds(c.over, func(n node) bool {
		r, ok := n.(refined)
		return ok && holds(r.by, isDocument)
	})
	c.Words = holds(c.over, func(n node) bool { _, ok := n.(hinted); return ok })
	c.Sums = summed(e)
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
func summed(e filter.Expr) bool {
	switch e := e.(type) {
	case filter.And:
		return slices.ContainsFunc(e, summed)
	case filter.Or:
		return slices.ContainsFunc(e, summed)
	case filter.Not:
		return summed(e.Expr)
	case filter.Attribute:
		return e.Of == filter.Attributes && (computed(e.Path) || sums(e.Path))
	default:
		return false
	}
}

func isDocument(n node) bool {
	_, ok := n.(document)
	return ok
}

// holds tells whether a node or one within it is of a kind.
func holds(n node, kind func(node) bool) bool {
	if kind(n) {
		return true
	}
	within := func(n node) bool { return holds(n, kind) }
	switch n := n.(type) {
	case document:
		return within(n.of)
	case refined:
		return within(n.of) || within(n.by)
	case all:
		return slices.ContainsFunc(n, within)
	case some:
		return slices.ContainsFunc(n, within)
	case negated:
		return within(n.of)
	default:
		return false
	}
}

func compile(e filter.Expr) (pair, error) {
	switch e := e.(type) {
	case nil:
		return exactly(constant(true)), nil
	case filter.And:
		return compileAnd(e)
	case filter.Or:
		return compileOr(e)
	case filter.Not:
		p, err := compile(e.Expr)
		return pair{over: not(p.under), under: not(p.over), exact: p.exact}, err
	case filter.TraceID:
		return exactly(ids("trace_id", e.In)), nil
	case filter.SpanID:
		return exactly(ids("span_id", e.In)), nil
	case filter.ParentID:
		return exactly(ids("parent_id", e.In)), nil
	case filter.TraceType:
		return exactly(among("trace_type", words(e.In))), nil
	case filter.SpanType:
		return exactly(among("span_type", words(e.In))), nil
	case filter.SpanKind:
		return exactly(among("span_kind", words(e.In))), nil
	case filter.StatusCode:
		return exactly(among("status_code", words(e.In))), nil
	case filter.Text:
		return text(e)
	case filter.Time:
		return moment(e)
	case filter.TimeText:
		return momentText(e)
	case filter.User:
		return user(e)
	case filter.Attribute:
		return attribute(e)
	case filter.Link:
		return link(e), nil
	case filter.Reference:
		return reference(e), nil
	case filter.Event:
		return event(e), nil
	case filter.Hash:
		return hash(e), nil
	case filter.Content:
		return content(e), nil
	default:
		return pair{}, fmt.Errorf("compile: unknown node %T", e)
	}
}

func compileAnd(children filter.And) (pair, error) {
	out := exactly(constant(true))
	for _, e := range children {
		p, err := compile(e)
		if err != nil {
			return pair{}, err
		}
		out.over, out.under = both(out.over, p.over), both(out.under, p.under)
		out.exact = out.exact && p.exact
		out.needles = append(out.needles, p.needles...)
		out.phrases = append(out.phrases, p.phrases...)
		out.leaves = append(out.leaves, p.leaves...)
	}
	return out, nil
}

// compileOr keeps needles, phrases and leaves only if every branch has some: then a row has one of them.
func compileOr(children filter.Or) (pair, error) {
	children, loose := plain(children)
	var together sets
	var branches []pair
	for _, e := range together.take(children) {
		p, err := compile(e)
		if err != nil {
			return pair{}, err
		}
		branches = append(branches, p)
	}
	branches = append(branches, together.pairs()...)
	out := exactly(constant(false))
	var union needle
	texts, leaves := make([][][]string, len(branches)), make([][][]string, len(branches))
	over, under := make([]node, len(branches)), make([]node, len(branches))
	for i, p := range branches {
		over[i], under[i] = p.over, p.under
		out.exact = out.exact && p.exact
		if i == 0 || len(union.tokens) > 0 {
			union = union.or(p.needles)
		}
		texts[i], leaves[i] = p.phrases, p.leaves
	}
	out.over, out.under = either(over...), either(under...)
	out.phrases, out.leaves = anyOf(texts), anyOf(leaves)
	if loose {
		out.under, out.exact = constant(false), false
	}
	switch {
	case len(branches) == 1:
		out.needles = branches[0].needles
	case len(union.tokens) > 0:
		out.needles = []needle{union}
	}
	return out, nil
}

func words[T fmt.Stringer](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = v.String()
	}
	return out
}
