package searchtext

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"colonnade/domain/filter"
	"colonnade/domain/ngram"
)

// foldedPhrases are the lists for a folded text that occurs in the documents of a row,
// whatever its case: sets have n-grams of what is stored, folded as lower() does, so
// nothing is known of letters that it does not know.
func FoldedPhrases(text string) [][]string {
	return Phrases(strings.FieldsFunc(text, func(r rune) bool { return filter.Variants(r) != nil })...)
}

// Bounds on what a statement asks of sets of n-grams; what is beyond them is not
// asked for, and the sections that are found are more.
const (
	maxClauses      = 8
	maxAlternatives = 64
)

// phrases are the lists for texts that all occur in the documents of a row: one for
// each that has an n-gram.
func Phrases(texts ...string) (out [][]string) {
	for _, t := range texts {
		if len(t) >= ngram.Size {
			out = append(out, []string{t})
		}
	}
	return out
}

// anyOf gives the list for rows of which one of several things holds; none
// where of one of them nothing is known: such a row may be anywhere.
func AnyOf(lists [][][]string) [][]string {
	var union []string
	for _, l := range lists {
		best := Selective(l)
		if len(best) == 0 {
			return nil
		}
		union = append(union, best[0]...)
	}
	slices.Sort(union)
	if union = slices.Compact(union); len(union) == 0 || len(union) > maxAlternatives {
		return nil
	}
	return [][]string{union}
}

// selective puts the lists first that the fewest documents have: of few texts, and long ones.
func Selective(of [][]string) [][]string {
	shortest := func(texts []string) (n int) {
		n = math.MaxInt
		for _, t := range texts {
			n = min(n, len(t))
		}
		return n
	}
	of = slices.Clone(of)
	slices.SortStableFunc(of, func(a, b []string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(shortest(b), shortest(a)))
	})
	return of[:min(len(of), maxClauses)]
}
