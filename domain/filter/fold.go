package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold folds a text for case-insensitive tests: A to Z become a to z, and every letter beyond
// ASCII becomes the first of its variants in Unicode's simple case folding (Variants). No letter
// moves into ASCII or out of it, so for ASCII text Fold equals ClickHouse's lower(), which is the
// fastest function for a search over stored text. One letter stays one letter: ß does not become
// SS.
func Fold(s string) string {
	for i := 0; i < len(s); {
		r, size := decode(s[i:])
		if fold(r) != r {
			return folded(s, i)
		}
		i += size
	}
	return s
}

// folded is Fold for a text that changes from a byte on.
func folded(s string, from int) string {
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:from])
	for i := from; i < len(s); {
		r, size := decode(s[i:])
		if to := fold(r); to != r {
			b.WriteRune(to)
		} else {
			b.WriteString(s[i : i+size]) // which may be no rune
		}
		i += size
	}
	return b.String()
}

func decode(s string) (r rune, size int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

func fold(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf || caseless(r):
		return r
	}
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		if next >= utf8.RuneSelf {
			first = min(first, next)
		}
	}
	return first
}

// caseless reports for most letters of the world, without a table look-up, that they have one
// case.
func caseless(r rune) bool {
	return 0x2E80 <= r && r < 0xA640 || 0xAC00 <= r && r < 0xFB00 || r >= 0x1EA00
}

// Variants returns the letters beyond ASCII that Fold folds to the same letter as r, r among them,
// ascending; nil if r is ASCII or the only one. The Kelvin sign and the long s have no variants,
// although Unicode folds them to k and s: an ASCII search finds ASCII text.
func Variants(r rune) []rune {
	if r < utf8.RuneSelf || caseless(r) {
		return nil
	}
	first := fold(r)
	out := []rune{first}
	for next := unicode.SimpleFold(first); next != first; next = unicode.SimpleFold(next) {
		if next >= utf8.RuneSelf {
			out = append(out, next)
		}
	}
	if len(out) == 1 {
		return nil
	}
	return out
}
