package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold is the folding of case-insensitive tests: A to Z become a to z, and every
// letter beyond ASCII the first of those that Unicode's simple case folding takes for
// it (Variants). No letter becomes one beyond ASCII or one within it: to ASCII text
// Fold is ClickHouse's lower(), which costs a search over stored text nothing. One
// letter stays one: ß is no SS.
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

// folded is Fold of a text that changes from a byte on.
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

// caseless tells quickly of most letters of the world that they have one case.
func caseless(r rune) bool {
	return 0x2E80 <= r && r < 0xA640 || 0xAC00 <= r && r < 0xFB00 || r >= 0x1EA00
}

// Variants are the letters beyond ASCII that are one to Fold, r among them, ascending;
// nil where r is of ASCII or the only one. K and ſ, which Unicode takes for k
// and s, are the only ones: what is asked for in ASCII is stored in ASCII.
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
