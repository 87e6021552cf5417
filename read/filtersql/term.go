package filtersql

import (
	"slices"

	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
)

// Term is a set of index terms of which every matching row has one, and how rare such
// terms are by their nature: the lower the rank, the fewer rows.
type Term struct {
	rank   int
	tokens []string
	// equivalent is the condition that the terms decide as well; a statement with the
	// terms does not need it. Nil where the terms do not decide it.
	equivalent sqltext.Node
}

// The ranks. A term that nearly every span of a project has (its application, its
// agent) is not looked up: the index would read long posting lists for nothing.
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
	// maxTerms bounds the alternatives of one Term.
	maxTerms = 64
)

// or returns the Term of two branches; it is empty where the other has none.
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

// choose returns the rarest terms: an intersection with a common term costs more than
// it saves.
func choose(needles []Term) []Term {
	needles = slices.Clone(needles)
	slices.SortStableFunc(needles, func(a, b Term) int { return a.rank - b.rank })
	if len(needles) > 1 && needles[1].rank >= rankHash {
		return needles[:1]
	}
	return needles[:min(len(needles), maxTermSets)]
}

// Equivalent returns the condition that the terms decide as well; nil where there is none.
func (n Term) Equivalent() sqltext.Node { return n.equivalent }

// Node returns the condition that asks the index of search terms.
func (n Term) Node() sqltext.Node {
	alternatives := make([]sqltext.Node, len(n.tokens))
	for i, t := range n.tokens {
		alternatives[i] = sqltext.Expr("has(search_terms, ?)", t)
	}
	return sqltext.Or(alternatives...)
}

// hasTerm returns the condition on the column itself, in a form that never uses the
// index: it may stand below a NOT, and beside a rarer Term.
func hasTerm(token string) sqltext.Node { return sqltext.Expr("indexOf(search_terms, ?) > 0", token) }

// hasTermPrefix returns the condition that some term has this prefix.
func hasTermPrefix(prefix string) sqltext.Node {
	return sqltext.Expr("arrayExists(t -> startsWith(t, ?), search_terms)", prefix)
}

// exactTerms returns the Term for values of a column that has search terms; none if a
// value is too long for a term or there are too many.
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

// without removes from a conjunction the conditions that the chosen terms decide as well.
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
