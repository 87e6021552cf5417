package searchtext

import (
	"strings"
	"unicode/utf8"

	"colonnade/domain/filter"
)

// ClickHouse's lower() folds the letters of ASCII. A folded text with other letters that
// have cases (filter.Variants) is searched for by a regular expression with all variants
// of each letter, in the text as it is stored: ClickHouse's own folding of these letters
// differs from that of filter.Match. Texts without such letters, which are most, do not
// need the expression.

// HasFoldedLetters reports whether a folded text has letters that ClickHouse's lower() does not fold.
func HasFoldedLetters(text string) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && filter.Variants(r) != nil {
			return true
		}
	}
	return false
}

// Regexp returns a folded text as a regular expression (RE2), without anchors.
func Regexp(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		i += appendLetter(&b, text[i:])
	}
	return b.String()
}

// appendLetter appends the first letter of a folded text, and returns its length in bytes.
func appendLetter(b *strings.Builder, text string) int {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case 'a' <= r && r <= 'z':
		b.Write([]byte{'[', byte(r) - 'a' + 'A', byte(r), ']'})
	case r < utf8.RuneSelf:
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	default:
		if variants := filter.Variants(r); variants != nil {
			b.WriteString("[" + string(variants) + "]")
		} else {
			b.WriteString(text[:size])
		}
	}
	return size
}

// likeRegexp returns a folded LIKE pattern (see filter.Like) as a regular expression.
func likeRegexp(pattern string) string {
	var b strings.Builder
	b.WriteString("(?s)^")
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; {
		case c == '%':
			b.WriteString(".*")
			i++
		case c == '_':
			b.WriteString(".")
			i++
		case c == '\\' && i+1 < len(pattern):
			i += 1 + appendLetter(&b, pattern[i+1:])
		default:
			i += appendLetter(&b, pattern[i:])
		}
	}
	b.WriteString("$")
	return b.String()
}

// PatternRegexp returns a folded pattern as a regular expression.
func PatternRegexp(p filter.Pattern) string {
	switch p.Form {
	case filter.Prefix:
		return "^" + Regexp(p.Value)
	case filter.Suffix:
		return Regexp(p.Value) + "$"
	case filter.Substring:
		return Regexp(p.Value)
	case filter.Like:
		return likeRegexp(p.Value)
	default:
		return "^" + Regexp(p.Value) + "$"
	}
}
