package compile

import (
	"slices"

	"colonnade/migrations/schema"
)

// needle is a set of tokens of which every matching row has one, and how rare
// such tokens are by their nature: the lower the rank, the fewer rows.
type needle struct {
	rank   int
	tokens []string
	// instead is the condition that the tokens say as well as it does; where the
	// needle is sent, it need not be. Nil where a token says less.
	instead node
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
	maxNeedles = 2
	// maxTokens bounds the alternatives of one needle.
	maxTokens = 64
)

// or gives the needle of two branches; empty where the other has none.
func (n needle) or(other []needle) needle {
	if len(other) == 0 {
		return needle{}
	}
	best := choose(other)[0]
	out := needle{rank: max(n.rank, best.rank), tokens: slices.Concat(n.tokens, best.tokens)}
	if len(out.tokens) > maxTokens {
		return needle{}
	}
	return out
}

// choose keeps the rarest: an intersection with a common token costs more than
// it saves. Source: design §4.
func choose(needles []needle) []needle {
	needles = slices.Clone(needles)
	slices.SortStableFunc(needles, func(a, b needle) int { return a.rank - b.rank })
	if len(needles) > 1 && needles[1].rank >= rankHash {
		return needles[:1]
	}
	return needles[:min(len(needles), maxNeedles)]
}

// node asks the index.
func (n needle) node() node {
	alternatives := make([]node, len(n.tokens))
	for i, t := range n.tokens {
		alternatives[i] = sql("has(search_terms, ?)", t)
	}
	return either(alternatives...)
}

// hasToken decides by the tokens themselves, in a form that never goes to the
// index: it may stand below a NOT, and beside a rarer needle.
func hasToken(token string) node { return sql("indexOf(search_terms, ?) > 0", token) }

// hasTokenOf tells that some token begins so.
func hasTokenOf(prefix string) node {
	return sql("arrayExists(t -> startsWith(t, ?), search_terms)", prefix)
}

// indexed gives the needle of values of a column that has tokens; none if one
// of them is too long for a token or there are too many.
func indexed(rank int, prefix string, values []string) []needle {
	if len(values) == 0 || len(values) > maxTokens {
		return nil
	}
	tokens := make([]string, len(values))
	for i, v := range values {
		if len(v) > schema.MaxTermValueBytes || v == "" {
			return nil
		}
		tokens[i] = prefix + v
	}
	return []needle{{rank: rank, tokens: tokens}}
}

// without leaves out of a conjunction what the chosen needles say as well.
func without(over node, chosen []needle) node {
	var rest all
	switch over := over.(type) {
	case all:
		rest = slices.Clone(over)
	default:
		rest = all{over}
	}
	for _, n := range chosen {
		said, ok := n.instead.(raw)
		if !ok {
			continue
		}
		rest = slices.DeleteFunc(rest, func(of node) bool {
			r, ok := of.(raw)
			return ok && r.text == said.text && slices.Equal(r.args, said.args)
		})
	}
	return both(rest...)
}
