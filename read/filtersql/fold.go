package filtersql

import (
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// matching holds where a column, or an expression, has what a regular expression says.
func matching(column, expression string) sqltext.Node {
	return sqltext.Expr("match("+column+", ?)", expression)
}

// before holds where a folded text begins among the documents before those of a name;
// where the text reaches into these the node may hold or not.
func foundBefore(name, text string) sqltext.Node {
	if searchtext.HasFoldedLetters(text) {
		return matching("substring(text, 1, "+schema.BytesBefore(name)+")", searchtext.Regexp(text))
	}
	return sqltext.Expr("position(lower(text), ?) <= "+schema.BytesBefore(name), text)
}
