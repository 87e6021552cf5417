package searchtext

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"colonnade/domain/filter"
	"colonnade/domain/ngram"
)

// FoldedPhrases returns the lists for a folded text that occurs in the payloads of a row
// in any case. The sets hold n-grams of the stored text, folded as lower() does, so that
// letters that lower() does not fold cannot be looked up.
func FoldedPhrases(text string) [][]string {
	return Phrases(strings.FieldsFunc(text, func(r rune) bool { return filter.Variants(r) != nil })...)
}

// Bounds on what a statement looks up in the sets of n-grams. A phrase beyond them is
// not looked up, and the statement returns more offset blocks.
const (
	maxClauses      = 8
	maxAlternatives = 64
)

// Phrases returns the lists for texts that all occur in the payloads of a row: one for
// each text that has an n-gram.
func Phrases(texts ...string) (out [][]string) {
	for _, t := range texts {
		if len(t) >= ngram.Size {
			out = append(out, []string{t})
		}
	}
	return out
}

// AnyOf returns the list for rows for which one of several conditions holds; none
// where one of the conditions has no list, because its rows may be anywhere.
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

// Selective returns the lists in the order of how few payloads have them: lists of few texts first, then of long texts.
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
