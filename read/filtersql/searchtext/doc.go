// Package searchtext computes texts to search for: the texts that occur in the
// canonical JSON of every payload that matches a value or a pattern, regular
// expressions that ignore case beyond ASCII, and the lists of phrases whose
// n-grams are looked up. It contains no SQL; filtersql calls it.
package searchtext
