package filtersql

import (
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// Values that the row of spans does not have are searched for as text in
// span_payloads_packed. Payloads are canonical JSON (jsonvalue.Append): no white space,
// one form for each value. So the JSON text of a value occurs in every payload that
// contains the value, and a search for the text finds a superset.

// content compiles the search for a phrase. Attributes contain more than the searched
// ag.exception, so a hit there does not decide.
func content(e filter.Content) pair {
	sure := make([]sqltext.Node, 0, 5)
	for _, name := range []string{"inputs", "outputs", "parameters", "internals", "events"} {
		sure = append(sure, folded(schema.PayloadExpression(name), e.Phrase))
	}
	under := sqltext.Or(sure...)
	over := folded("text", e.Phrase) // all payloads one after the other: a hit across two of them is not a match
	if word := searchtext.LongestWord(e.Phrase); len(word) >= minFullTextWord {
		over = sqltext.FullText{Word: word, Whole: word == e.Phrase, Of: over}
	}
	// Names of agents and keys are in the attributes of all spans: where the first hit
	// is in the attributes, the searched payloads have no hit except in an exception.
	first := sqltext.Or(foundBefore("attributes", e.Phrase), sqltext.Expr(`position(text, '"`+semconv.Exception+`":') > 0`))
	p := between(sqltext.InPayload(sqltext.Recheck(over, first)), sqltext.InPayload(under))
	p.phrases = searchtext.FoldedPhrases(e.Phrase)
	return p
}

// minFullTextWord is the shortest word that the full-text index is asked for: shorter
// ones are in so many tokens that it reads the documents instead.
// Source: ClickHouse's setting text_index_like_min_pattern_length.
const minFullTextWord = 4

// folded returns the condition that a folded text occurs in a column or an expression, in any case.
func folded(column, text string) sqltext.Node {
	if searchtext.HasFoldedLetters(text) {
		return matching(column, searchtext.Regexp(text))
	}
	return sqltext.Expr("position(lower("+column+"), ?) > 0", text)
}

// inPayloads returns the condition that each of these texts occurs in one of the payloads of these names.
func inPayloads(names, texts []string) sqltext.Node {
	texts = texts[:min(len(texts), maxMembers)]
	out := make([]sqltext.Node, 0, len(texts))
	for _, t := range texts {
		found := make([]sqltext.Node, 0, len(names))
		for _, n := range names {
			found = append(found, sqltext.Expr("position("+schema.PayloadExpression(n)+", ?) > 0", t))
		}
		out = append(out, sqltext.Or(found...))
	}
	if len(out) == 0 {
		return sqltext.Constant(true)
	}
	return sqltext.InPayload(sqltext.And(out...))
}

// recheckedBy returns rows rechecked by their payloads, or rows where the payloads decide nothing.
func recheckedBy(rows, documents sqltext.Node) sqltext.Node {
	if documents == sqltext.Constant(true) {
		return rows
	}
	return sqltext.Recheck(rows, documents)
}

// textsOf returns the names of the payloads in which the value at a path of the
// attributes is stored.
func textsOf(keys []string) []string {
	data := []string{semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals}
	switch {
	case keys[0] != semconv.Root:
		return []string{"attributes"}
	case len(keys) == 1 || keys[1] == semconv.Data && len(keys) == 2:
		return append(data, "attributes")
	case keys[1] == semconv.Data && slices.Contains(data, keys[2]):
		return []string{keys[2]}
	default:
		return []string{"attributes"}
	}
}

// patternPayload returns a superset of the rows for which a pattern holds, for a string that is in payloads only.
func patternPayload(names []string, p filter.Pattern) sqltext.Node {
	t := searchtext.InPattern(p)
	if t == "" || t == `"` {
		return sqltext.Constant(true)
	}
	if !p.Fold {
		return inPayloads(names, []string{t})
	}
	var found []sqltext.Node
	for _, n := range names {
		found = append(found, folded(schema.PayloadExpression(n), t))
	}
	return sqltext.InPayload(sqltext.Or(found...))
}
