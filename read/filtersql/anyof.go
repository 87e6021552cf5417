package filtersql

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// Long lists are what "in" is for (filterjson.MaxValues). As one test for each value they
// would be planned, one by one, for longer than they run: 500 texts took 6 seconds over
// 300 spans, 4 000 hashes more than a query may. So what can be looked up in a set is.

// The bounds of what is asked of the store for each value by itself; what is beyond
// them is left out where a superset of the matches is enough, and filter.Match decides.
const (
	maxAlone   = 32 // values, members or elements that no set holds
	maxSearch  = 32 // alternatives that are searched in documents
	maxMembers = 64 // texts that have to occur in one document
)

// hasAnyTerm decides by the tokens themselves, as hasToken does, whether a row has one of them.
func hasAnyTerm(tokens []string) sqltext.Node {
	if len(tokens) == 1 {
		return hasTerm(tokens[0])
	}
	return inside("t", tokens, "search_terms")
}

// inside holds where some element of an array is one of these.
func inside(element string, values []string, array string) sqltext.Node {
	n, _ := sqltext.Among(element, values).(sqltext.Expression)
	return sqltext.Expr("arrayExists("+element+" -> "+n.Text+", "+array+")", n.Args...)
}

// sets are branches of an Or that sets decide together.
type sets struct {
	tokens []string
	rank   int // of the tokens, as a needle's
	events []string

	linkTraces []trace.TraceID
	linkSpans  []trace.SpanID
	links      []filter.Link // of both ids
}

// take gives the branches that are of no set.
func (a *sets) take(children filter.Or) (rest []filter.Expr) {
	for _, e := range children {
		switch e := e.(type) {
		case filter.Reference:
			if tokens := referenceTerms(e); len(tokens) == 1 {
				a.tokens, a.rank = append(a.tokens, tokens[0]), max(a.rank, referenceRank(e))
				continue
			}
		case filter.Hash:
			if e.ID != uuid.Nil && e.Attributes == nil {
				a.tokens, a.rank = append(a.tokens, hashTerm(e)), max(a.rank, rankHash)
				continue
			}
		case filter.Event:
			if e.Name != "" && e.Time == nil && e.Attributes == nil {
				a.events = append(a.events, e.Name)
				continue
			}
		case filter.Link:
			if e.Attributes == nil && a.takeLink(e) {
				continue
			}
		default:
		}
		rest = append(rest, e)
	}
	return rest
}

// flat takes apart what an Or has of Ors: a reference's id and its slug are two branches.
func flat(children filter.Or) (out []filter.Expr) {
	for _, e := range children {
		if or, is := e.(filter.Or); is {
			out = append(out, flat(or)...)
		} else {
			out = append(out, e)
		}
	}
	return out
}

// withoutPayloadSearches leaves of parts that are searched in documents, where they are many, what rows
// tell; loose tells that it did, and that the rows may be more.
func withoutPayloadSearches(children filter.Or) (out filter.Or, loose bool) {
	out = flat(children)
	searched := 0
	for _, e := range out {
		if _, is := unsearched(e); is {
			searched++
		}
	}
	if searched <= maxSearch {
		return out, false
	}
	for i, e := range out {
		out[i], _ = unsearched(e)
	}
	return out, true
}

// unsearched is a part without what is searched for in documents, if there is any.
func unsearched(e filter.Expr) (filter.Expr, bool) {
	switch e := e.(type) {
	case filter.Link:
		searched := e.Attributes != nil
		e.Attributes = nil
		return e, searched
	case filter.Event:
		searched := e.Attributes != nil || e.Time != nil
		e.Attributes, e.Time = nil, nil
		return e, searched
	default:
		return e, false
	}
}

func (a *sets) takeLink(e filter.Link) bool {
	switch {
	case !e.TraceID.IsZero() && !e.SpanID.IsZero():
		a.links = append(a.links, e)
	case !e.TraceID.IsZero():
		a.linkTraces = append(a.linkTraces, e.TraceID)
	case !e.SpanID.IsZero():
		a.linkSpans = append(a.linkSpans, e.SpanID)
	default:
		return false
	}
	return true
}

// pairs are the conditions, one for each set.
func (a *sets) pairs() []pair {
	var out []pair
	if len(a.tokens) > 0 {
		p := exactly(hasAnyTerm(a.tokens))
		if len(a.tokens) <= maxTerms {
			p.terms = []Term{{rank: a.rank, tokens: a.tokens, equivalent: p.superset}}
		}
		out = append(out, p)
	}
	if len(a.events) > 0 {
		p := exactly(sqltext.Expr("has(event_names, ?)", a.events[0]))
		if len(a.events) > 1 {
			p = exactly(inside("e", a.events, "event_names"))
		}
		out = append(out, p.with(searchtext.AnyOf([][][]string{{a.events}})))
	}
	return append(out, a.linkPairs()...)
}

func (a *sets) linkPairs() []pair {
	var out []pair
	add := func(n sqltext.Node, links ...filter.Link) {
		p := exactly(n)
		if len(links) <= maxTerms {
			p.terms = []Term{{rank: rankLink}}
			for _, l := range links {
				p.terms[0].tokens = append(p.terms[0].tokens, linkTerm(l))
			}
		}
		out = append(out, p)
	}
	if len(a.links) == 1 {
		add(sqltext.Expr(linkBoth(a.links[0])), a.links...)
	} else if len(a.links) > 1 {
		var b strings.Builder
		for i, l := range a.links {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteByte('(')
			sqltext.AppendID(&b, l.TraceID)
			b.WriteString(", ")
			sqltext.AppendID(&b, l.SpanID)
			b.WriteByte(')')
		}
		add(sqltext.Expr("arrayExists((t, s) -> (t, s) IN ("+b.String()+"), link_trace_ids, link_span_ids)"), a.links...)
	}
	if len(a.linkTraces) > 0 {
		links := make([]filter.Link, len(a.linkTraces))
		for i, id := range a.linkTraces {
			links[i].TraceID = id
		}
		add(anyLink("link_trace_ids", a.linkTraces), links...)
	}
	if len(a.linkSpans) > 0 {
		links := make([]filter.Link, len(a.linkSpans))
		for i, id := range a.linkSpans {
			links[i].SpanID = id
		}
		add(anyLink("link_span_ids", a.linkSpans), links...)
	}
	return out
}

// anyLink holds where an array of ids has one of these.
func anyLink[T interface{ ~[8]byte | ~[16]byte }](column string, in []T) sqltext.Node {
	if len(in) == 1 {
		return sqltext.Expr("has(" + column + ", " + sqltext.FixedID(in[0]) + ")")
	}
	n, _ := sqltext.IDs("i", in).(sqltext.Expression)
	return sqltext.Expr("arrayExists(i -> " + n.Text + ", " + column + ")")
}

// values are those of a list, each once, by the set that holds them.
type values struct {
	texts   []string // no longer than what the row holds
	numbers []float64
	rest    []any // none of these
	// whole tells that one of the numbers was given as a whole one: arrays hold them as such.
	whole bool
}

func groupValues(of []any) (out values) {
	seen := make(map[any]bool, len(of))
	for _, v := range of {
		switch s := v.(type) {
		case string:
			if len(s) <= jsonvalue.MaxIndexedBytes {
				if !seen[v] {
					seen[v] = true
					out.texts = append(out.texts, s)
				}
				continue
			}
		case int64:
			if s >= -maxExact && s <= maxExact {
				out.whole = true
				v = float64(s)
			}
		default:
		}
		if f, is := v.(float64); is {
			if !seen[f] {
				seen[f] = true
				out.numbers = append(out.numbers, f)
			}
			continue
		}
		out.rest = append(out.rest, v)
	}
	return out
}

// anyText is equalString for one of several, none of which is too long for a row.
func (a AttributePath) anyText(texts []string) pair {
	if len(texts) == 1 {
		return a.equalString(texts[0])
	}
	n := sqltext.Among(a.stringValue(), texts)
	if r, ok := n.(sqltext.Expression); ok {
		n = sqltext.Expr(r.Text, append([]any{a.Path}, r.Args...)...)
	}
	if slices.Contains(texts, "") {
		n = sqltext.And(sqltext.Expr(a.hasString(), a.Path), n)
	}
	return a.scalar(n, nil)
}

// anyNumber is equalNumber for one of several.
func (a AttributePath) anyNumber(numbers []float64) pair {
	if len(numbers) == 1 {
		return a.scalar(a.equalNumber(numbers[0]), nil)
	}
	n := sqltext.Among("attributes_number[?]", numbers)
	if r, ok := n.(sqltext.Expression); ok {
		n = sqltext.Expr(r.Text, append([]any{a.Path}, r.Args...)...)
	}
	if slices.Contains(numbers, 0) {
		n = sqltext.And(sqltext.Expr("mapContains(attributes_number, ?)", a.Path), n)
	}
	return a.scalar(n, nil)
}

// elements is element for one of several values that one map holds.
func elements[T any](a AttributePath, name string, values []T) sqltext.Node {
	n, _ := sqltext.Among("v", values).(sqltext.Expression)
	return sqltext.Expr("arrayExists((k, v) -> "+n.Text+" AND startsWith(k, ?), mapKeys("+name+"), mapValues("+name+"))", append(slices.Clone(n.Args), a.Prefix())...)
}

// anyMember is one of several values, or an array that has one.
func (a AttributePath) anyMember(of []any) pair {
	v := groupValues(of)
	var pairs []pair
	known := func(p pair, texts []string) {
		phrases := make([][][]string, len(texts))
		leaves := make([][][]string, len(texts))
		for i, t := range texts {
			phrases[i], leaves[i] = phrasesOf(t), a.enumValues(t)
		}
		p.phrases, p.values = searchtext.AnyOf(phrases), searchtext.AnyOf(leaves)
		pairs = append(pairs, p)
	}
	if len(v.texts) > 0 {
		p := a.anyText(v.texts)
		p.superset = sqltext.Or(p.superset, elements(a, a.StringColumn(), v.texts), a.Unindexed())
		known(p, v.texts)
	}
	if len(v.numbers) > 0 {
		p := a.anyNumber(v.numbers)
		p.superset = sqltext.Or(p.superset, elements(a, "attributes_number", v.numbers), a.Unindexed())
		if v.whole {
			p.superset = sqltext.Or(p.superset, sqltext.Expr("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.Prefix()))
		}
		known(p, nil)
	}
	if len(v.rest) > maxAlone {
		pairs = append(pairs, between(sqltext.Or(a.exists().superset, a.Unindexed()), sqltext.Constant(false)))
		v.rest = nil
	}
	for _, value := range v.rest {
		pairs = append(pairs, a.oneMember(value))
	}
	out := between(sqltext.Constant(false), sqltext.Constant(false))
	phrases, leaves := make([][][]string, len(pairs)), make([][][]string, len(pairs))
	for i, p := range pairs {
		out.superset, out.subset = sqltext.Or(out.superset, p.superset), sqltext.Or(out.subset, p.subset)
		phrases[i], leaves[i] = p.phrases, p.values
	}
	out.phrases, out.values = searchtext.AnyOf(phrases), searchtext.AnyOf(leaves)
	return out
}

// phrasesOf are the phrases of a text's own JSON.
func phrasesOf(text string) [][]string { return searchtext.Phrases(searchtext.InValue(text)...) }

// allMembers is an array that has each of several values, or one that is all of them.
func (a AttributePath) allMembers(of []any) pair {
	out := exactly(sqltext.Constant(true))
	for _, v := range of[:min(len(of), maxAlone)] {
		p := a.oneMember(v)
		out.superset, out.subset = sqltext.And(out.superset, p.superset), sqltext.And(out.subset, p.subset)
		out.phrases, out.values = append(out.phrases, p.phrases...), append(out.values, p.values...)
	}
	if len(of) > maxAlone {
		out.subset = sqltext.Constant(false)
	}
	return pair{superset: out.superset, subset: out.subset, phrases: out.phrases, values: out.values}
}

// oneMember is a value here, or an array that has it.
func (a AttributePath) oneMember(v any) pair {
	var p pair
	switch v.(type) {
	case map[string]any, []any:
		p = a.contains(v)
	default:
		p = a.equal(v)
	}
	return pair{superset: sqltext.Or(p.superset, a.element(v)), subset: p.subset, phrases: p.phrases, values: a.enumValues(v)}
}
