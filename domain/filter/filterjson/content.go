package filterjson

import (
	"strings"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
)

// content parses a search as people write it on the web: words and "quoted phrases" that must all
// occur, "or" between alternatives (it binds least), and a minus before a word or phrase that must
// not occur.
func (c *condition) content() (filter.Expr, error) {
	s, ok := c.value.(string)
	if !ok {
		return nil, c.bad(c.value, "it takes a string")
	}
	if err := c.short(s); err != nil {
		return nil, err
	}
	var alternatives []filter.Expr
	var terms []filter.Expr
	count := 0
	next := func() {
		if len(terms) > 0 {
			alternatives = append(alternatives, all(terms))
		}
		terms = nil
	}
	for s = strings.TrimLeft(s, " \t\r\n"); s != ""; s = strings.TrimLeft(s, " \t\r\n") {
		var t term
		t, s = cutTerm(s)
		switch {
		case t.text == "":
		case !t.quoted && !t.not && strings.EqualFold(t.text, "or"):
			next()
		default:
			if count++; count > MaxConditions {
				return nil, rejected("A search has at most %d words.", MaxConditions)
			}
			var e filter.Expr = filter.Content{Phrase: string(jsonvalue.AppendEscaped(nil, filter.Fold(t.text)))}
			if t.not {
				e = filter.Not{Expr: e}
			}
			terms = append(terms, e)
		}
	}
	next()
	if len(alternatives) == 0 {
		return nil, c.bad(c.value, "there is no word in it")
	}
	return anyOf(alternatives), nil
}

type term struct {
	text        string
	quoted, not bool
}

// cutTerm returns the first word or phrase of a search. A quote without an end extends to the end.
func cutTerm(s string) (t term, rest string) {
	if len(s) > 1 && s[0] == '-' {
		t.not = true
		s = s[1:]
	}
	if s[0] == '"' {
		t.quoted = true
		t.text, rest, _ = strings.Cut(s[1:], `"`)
		return t, rest
	}
	i := strings.IndexAny(s, " \t\r\n\"")
	if i < 0 {
		return term{s, false, t.not}, ""
	}
	t.text = s[:i]
	return t, s[i:]
}
