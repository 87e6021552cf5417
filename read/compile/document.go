package compile

import (
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
)

// What the core row does not hold is found as text in the documents of
// span_payloads_packed. They are canonical JSON (jsonvalue.Append): no white space,
// one form for each value. So a value's own JSON text occurs in a document that
// holds the value, and a search for it gives a superset.

// content finds a phrase. Attributes hold ag.exception among much else, so
// there a hit is none for sure.
func content(e filter.Content) pair {
	sure := make([]node, 0, 5)
	for _, name := range []string{"inputs", "outputs", "parameters", "internals", "events"} {
		sure = append(sure, folded(schema.PayloadExpression(name), e.Phrase))
	}
	under := either(sure...)
	over := folded("text", e.Phrase) // all of them one after the other: where two meet, too, there may be a hit that is none
	if word := longestWord(e.Phrase); len(word) >= minHint {
		over = hinted{word: word, whole: word == e.Phrase, of: over}
	}
	// Names of agents and keys are in the attributes of all spans: where the first hit
	// is among them, there is none in what is searched but in an exception.
	first := either(before("attributes", e.Phrase), sql(`position(text, '"`+semconv.Exception+`":') > 0`))
	p := between(document{refined{over, first}}, document{under})
	p.phrases = foldedPhrases(e.Phrase)
	return p
}

// minHint is the shortest word that the full-text index is asked for: shorter
// ones are in so many tokens that it reads the documents instead.
// Source: ClickHouse's setting text_index_like_min_pattern_length.
const minHint = 4

// longestWord is the longest run of ASCII letters and digits, which are what
// the index's tokens are made of; they need no escape in a LIKE pattern.
func longestWord(text string) string {
	best, start := "", 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
			continue
		}
		if i-start > len(best) {
			best = text[start:i]
		}
		start = i + 1
	}
	return best
}

// folded holds where a folded text occurs in a column, or in an expression, whatever its case.
func folded(column, text string) node {
	if cased(text) {
		return matching(column, expression(text))
	}
	return sql("position(lower("+column+"), ?) > 0", text)
}

// inDocument holds where each of these texts occurs in one of the documents' texts of these names.
func inDocument(names, texts []string) node {
	texts = texts[:min(len(texts), maxMembers)]
	out := make([]node, 0, len(texts))
	for _, t := range texts {
		found := make([]node, 0, len(names))
		for _, n := range names {
			found = append(found, sql("position("+schema.PayloadExpression(n)+", ?) > 0", t))
		}
		out = append(out, either(found...))
	}
	if len(out) == 0 {
		return constant(true)
	}
	return document{both(out...)}
}

// refinedBy is refined, or the rows themselves where their documents tell nothing.
func refinedBy(rows, documents node) node {
	if documents == constant(true) {
		return rows
	}
	return refined{rows, documents}
}

// memberTexts gives texts that occur in every object that contains this one.
// Numbers have two forms (1 and 1.0) and stay out.
func memberTexts(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		name := string(append(jsonvalue.AppendString(nil, k), ':'))
		switch v := object[k].(type) {
		case map[string]any:
			out = append(out, memberTexts(v)...)
			if len(v) == 0 {
				out = append(out, name)
			}
		case []any:
			out = append(out, name)
			out = append(out, elementTexts(v)...)
		case int64, float64:
			out = append(out, name)
		default:
			out = append(out, name+string(jsonvalue.Append(nil, v)))
		}
	}
	return out
}

func elementTexts(array []any) []string {
	out := make([]string, 0, len(array))
	for _, e := range array {
		out = append(out, valueTexts(e)...)
	}
	return out
}

// valueTexts gives texts that occur in the JSON of every value that contains this one.
func valueTexts(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		return memberTexts(v)
	case []any:
		return elementTexts(v)
	case string:
		return []string{string(jsonvalue.AppendString(nil, v))}
	default:
		return nil
	}
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

// patternText gives the text that a string holds wherever a pattern holds for
// it, as it stands in the document; fold tells that both are to be folded. ""
// where the pattern says nothing.
func patternText(p filter.Pattern) string {
	escaped := func(s string) string { return string(jsonvalue.AppendEscaped(nil, s)) }
	switch p.Form {
	case filter.Prefix:
		return `"` + escaped(p.Value)
	case filter.Suffix:
		return escaped(p.Value) + `"`
	case filter.Substring:
		return escaped(p.Value)
	case filter.Like:
		return escaped(longestLiteral(p.Value))
	default:
		return `"` + escaped(p.Value) + `"`
	}
}

// longestLiteral is the longest run of a LIKE pattern without wildcards, unescaped.
func longestLiteral(pattern string) string {
	var best, run []byte
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '%' || c == '_':
			run = run[:0:0]
			continue
		case c == '\\' && i+1 < len(pattern):
			i++
			run = append(run, pattern[i])
		default:
			run = append(run, c)
		}
		if len(run) > len(best) {
			best = run
		}
	}
	return string(best)
}

// patternDocument is a superset of where a pattern holds for a string that is in documents only.
func patternDocument(names []string, p filter.Pattern) node {
	t := patternText(p)
	if t == "" || t == `"` {
		return constant(true)
	}
	if !p.Fold {
		return inDocument(names, []string{t})
	}
	var found []node
	for _, n := range names {
		found = append(found, folded(schema.PayloadExpression(n), t))
	}
	return document{either(found...)}
}
