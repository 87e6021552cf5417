package filtersql

import (
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// matching returns the condition that a column or an expression matches a regular expression.
func matching(column, expression string) sqltext.Node {
	return sqltext.Expr("match("+column+", ?)", expression)
}

// foundBefore returns the condition that a folded text begins in the payloads before
// that of a name. Where the text reaches into the named payload the condition may hold or not.
func foundBefore(name, text string) sqltext.Node {
	if searchtext.HasFoldedLetters(text) {
		return matching("substring(text, 1, "+schema.BytesBefore(name)+")", searchtext.Regexp(text))
	}
	return sqltext.Expr("position(lower(text), ?) <= "+schema.BytesBefore(name), text)
}
