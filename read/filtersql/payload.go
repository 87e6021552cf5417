package filtersql

import (
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// What the core row does not hold is found as text in the documents of
// span_payloads_packed. They are canonical JSON (jsonvalue.Append): no white space,
// one form for each value. So a value's own JSON text occurs in a document that
// holds the value, and a search for it gives a superset.

// content finds a phrase. Attributes hold ag.exception among much else, so
// there a hit is none for sure.
func content(e filter.Content) pair {
	sure := make([]sqltext.Node, 0, 5)
	for _, name := range []string{"inputs", "outputs", "parameters", "internals", "events"} {
		sure = append(sure, folded(schema.PayloadExpression(name), e.Phrase))
	}
	under := sqltext.Or(sure...)
	over := folded("text", e.Phrase) // all of them one after the other: where two meet, too, there may be a hit that is none
	if word := searchtext.LongestWord(e.Phrase); len(word) >= minFullTextWord {
		over = sqltext.FullText{Word: word, Whole: word == e.Phrase, Of: over}
	}
	// Names of agents and keys are in the attributes of all spans: where the first hit
	// is among them, there is none in what is searched but in an exception.
	first := sqltext.Or(foundBefore("attributes", e.Phrase), sqltext.Expr(`position(text, '"`+semconv.Exception+`":') > 0`))
	p := between(sqltext.InPayload(sqltext.Recheck(over, first)), sqltext.InPayload(under))
	p.phrases = searchtext.FoldedPhrases(e.Phrase)
	return p
}

// minHint is the shortest word that the full-text index is asked for: shorter
// ones are in so many tokens that it reads the documents instead.
// Source: ClickHouse's setting text_index_like_min_pattern_length.
const minFullTextWord = 4

// folded holds where a folded text occurs in a column, or in an expression, whatever its case.
func folded(column, text string) sqltext.Node {
	if searchtext.HasFoldedLetters(text) {
		return matching(column, searchtext.Regexp(text))
	}
	return sqltext.Expr("position(lower("+column+"), ?) > 0", text)
}

// inDocument holds where each of these texts occurs in one of the documents' texts of these names.
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

// refinedBy is refined, or the rows themselves where their documents tell nothing.
func recheckedBy(rows, documents sqltext.Node) sqltext.Node {
	if documents == sqltext.Constant(true) {
		return rows
	}
	return sqltext.Recheck(rows, documents)
}

// textsOf names the texts of span_payloads_packed in which the value at a path of the
// attributes stands.
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

// patternDocument is a superset of where a pattern holds for a string that is in documents only.
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
