package filtersql

import (
	"slices"

	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
)

// needle is a set of tokens of which every matching row has one, and how rare
// such tokens are by their nature: the lower the rank, the fewer rows.
type Term struct {
	rank   int
	tokens []string
	// instead is the condition that the tokens say as well as it does; where the
	// needle is sent, it need not be. Nil where a token says less.
	equivalent sqltext.Node
}

// The ranks. What nearly every span of a project shares (its application, its
// agent) is no needle: the index would read long posting lists for nothing.
const (
	rankLink = iota
	rankSession
	rankAttribute
	rankUser
	rankHash
	rankReference
)

const (
	maxTermSets = 2
	// maxTokens bounds the alternatives of one needle.
	maxTerms = 64
)

// or gives the needle of two branches; empty where the other has none.
func (n Term) or(other []Term) Term {
	if len(other) == 0 {
		return Term{}
	}
	best := choose(other)[0]
	out := Term{rank: max(n.rank, best.rank), tokens: slices.Concat(n.tokens, best.tokens)}
	if len(out.tokens) > maxTerms {
		return Term{}
	}
	return out
}

// choose keeps the rarest: an intersection with a common token costs more than
// it saves. Source: design §4.
func choose(needles []Term) []Term {
	needles = slices.Clone(needles)
	slices.SortStableFunc(needles, func(a, b Term) int { return a.rank - b.rank })
	if len(needles) > 1 && needles[1].rank >= rankHash {
		return needles[:1]
	}
	return needles[:min(len(needles), maxTermSets)]
}

// Instead is the condition.
func (n Term) Equivalent() sqltext.Node { return n.equivalent }

// node asks the index.
func (n Term) Node() sqltext.Node {
	alternatives := make([]sqltext.Node, len(n.tokens))
	for i, t := range n.tokens {
		alternatives[i] = sqltext.Expr("has(search_terms, ?)", t)
	}
	return sqltext.Or(alternatives...)
}

// hasToken decides by the tokens themselves, in a form that never goes to the
// index: it may stand below a NOT, and beside a rarer needle.
func hasTerm(token string) sqltext.Node { return sqltext.Expr("indexOf(search_terms, ?) > 0", token) }

// hasTokenOf tells that some token begins so.
func hasTermPrefix(prefix string) sqltext.Node {
	return sqltext.Expr("arrayExists(t -> startsWith(t, ?), search_terms)", prefix)
}

// indexed gives the needle of values of a column that has tokens; none if one
// of them is too long for a token or there are too many.
func exactTerms(rank int, prefix string, values []string) []Term {
	if len(values) == 0 || len(values) > maxTerms {
		return nil
	}
	tokens := make([]string, len(values))
	for i, v := range values {
		if len(v) > schema.MaxTermValueBytes || v == "" {
			return nil
		}
		tokens[i] = prefix + v
	}
	return []Term{{rank: rank, tokens: tokens}}
}

// without leaves out of a conjunction what the chosen needles say as well.
func without(over sqltext.Node, chosen []Term) sqltext.Node {
	var rest sqltext.Conjunction
	switch over := over.(type) {
	case sqltext.Conjunction:
		rest = slices.Clone(over)
	default:
		rest = sqltext.Conjunction{over}
	}
	for _, n := range chosen {
		said, ok := n.equivalent.(sqltext.Expression)
		if !ok {
			continue
		}
		rest = slices.DeleteFunc(rest, func(of sqltext.Node) bool {
			r, ok := of.(sqltext.Expression)
			return ok && r.Text == said.Text && slices.Equal(r.Args, said.Args)
		})
	}
	return sqltext.And(rest...)
}
