package compile

import (
	"strings"
	"unicode/utf8"

	"colonnade/domain/filter"
	"colonnade/migrations/schema"
)

// The store's lower() knows the letters of ASCII. A folded text with other letters that
// have cases (filter.Variants) is searched for by a regular expression that says of each
// letter what it may be, in the text as it is stored: what the store took for letters
// of one case would not be what filter.Match does. Texts without such letters, which are
// most, cost what they do in any case.

// cased tells whether a folded text has letters that the store's lower() does not know.
func cased(text string) bool {
	for _, r := range text {
		if r >= utf8.RuneSelf && filter.Variants(r) != nil {
			return true
		}
	}
	return false
}

// expression is a folded text as a regular expression (RE2), without anchors.
func expression(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		i += literally(&b, text[i:])
	}
	return b.String()
}

// literally appends the first letter of a folded text, and gives its length there.
func literally(b *strings.Builder, text string) int {
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
func likeExpression(pattern string) string {
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
			i += 1 + literally(&b, pattern[i+1:])
		default:
			i += literally(&b, pattern[i:])
		}
	}
	b.WriteString("$")
	return b.String()
}

// patternExpression is a folded pattern as a regular expression.
func patternExpression(p filter.Pattern) string {
	switch p.Form {
	case filter.Prefix:
		return "^" + expression(p.Value)
	case filter.Suffix:
		return expression(p.Value) + "$"
	case filter.Substring:
		return expression(p.Value)
	case filter.Like:
		return likeExpression(p.Value)
	default:
		return "^" + expression(p.Value) + "$"
	}
}

// matching holds where a column, or an expression, has what a regular expression says.
func matching(column, expression string) node { return sql("match("+column+", ?)", expression) }

// before holds where a folded text begins among the documents before those of a name;
// where it reaches into these it may be told of or not.
func before(name, text string) node {
	if cased(text) {
		return matching("substring(text, 1, "+schema.BytesBefore(name)+")", expression(text))
	}
	return sql("position(lower(text), ?) <= "+schema.BytesBefore(name), text)
}

// foldedPhrases are the lists for a folded text that occurs in the documents of a row,
// whatever its case: sets have n-grams of what is stored, folded as lower() does, so
// nothing is known of letters that it does not know.
func foldedPhrases(text string) [][]string {
	return phrases(strings.FieldsFunc(text, func(r rune) bool { return filter.Variants(r) != nil })...)
}
