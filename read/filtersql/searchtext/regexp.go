package searchtext

import (
	"strings"
	"unicode/utf8"

	"colonnade/domain/filter"
)

// The store's lower() knows the letters of ASCII. A folded text with other letters that
// have cases (filter.Variants) is searched for by a regular expression that says of each
// letter what it may be, in the text as it is stored: what the store took for letters
// of one case would not be what filter.Match does. Texts without such letters, which are
// most, cost what they do in any case.

// cased tells whether a folded text has letters that the store's lower() does not know.
func HasFoldedLetters(text string) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && filter.Variants(r) != nil {
			return true
		}
	}
	return false
}

// expression is a folded text as a regular expression (RE2), without anchors.
func Regexp(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		i += appendLetter(&b, text[i:])
	}
	return b.String()
}

// literally appends the first letter of a folded text, and gives its length there.
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

// likeExpression is a folded LIKE pattern (see filter.Like) as a regular expression.
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

// patternExpression is a folded pattern as a regular expression.
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
