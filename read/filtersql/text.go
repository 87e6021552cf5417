package filtersql

import (
	"fmt"
	"slices"

	"colonnade/domain/filter"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// text compiles a test of a text column, in which empty means absent.
func text(e filter.Text) (pair, error) {
	switch e.Field {
	case filter.SpanName, filter.StatusMessage, filter.SessionID, filter.UserID, filter.AgentID:
	default:
		return pair{}, fmt.Errorf("filtersql: %q is no text", e.Field)
	}
	column := string(e.Field)
	n, err := textTest(column, column+" != ''", e.Test)
	if err != nil {
		return pair{}, err
	}
	p := exactly(n)
	if one, ok := e.Test.(filter.OneOf); ok {
		switch e.Field {
		case filter.SessionID:
			p.terms = exactTerms(rankSession, schema.SessionTerm, one.In)
		case filter.UserID:
			p.terms = exactTerms(rankUser, schema.UserTerm, one.In)
		case filter.SpanName, filter.AgentID: // agents are few, and names have no tokens
			p.values = searchtext.AnyOf([][][]string{{one.In}})
		default:
		}
		if len(p.terms) > 0 {
			p.terms[0].equivalent = n
		}
	}
	return p, nil
}

// textTest tests a text expression. present is text that says whether there is
// one: an absent text reads as the empty one, which must not match.
func textTest(expression, present string, t filter.StringTest) (sqltext.Node, error) {
	switch t := t.(type) {
	case filter.Exists:
		return there(present), nil
	case filter.OneOf:
		n := sqltext.Among(expression, t.In)
		if slices.Contains(t.In, "") {
			return sqltext.And(there(present), n), nil
		}
		return n, nil
	case filter.Lexical:
		n := sqltext.Expr(expression+" "+sign(t.Order)+" ?", t.Value)
		if t.Value == "" || t.Order == filter.Less || t.Order == filter.LessEqual {
			return sqltext.And(there(present), n), nil
		}
		return n, nil
	case filter.Pattern:
		return pattern(expression, present, t), nil
	default:
		return nil, fmt.Errorf("filtersql: unknown test %T", t)
	}
}

// there is the presence of a value as a node; "1" is one that is always there.
func there(present string) sqltext.Node {
	if present == "1" {
		return sqltext.Constant(true)
	}
	return sqltext.Expr(present)
}

func pattern(expression, present string, p filter.Pattern) sqltext.Node {
	if p.Fold && searchtext.HasFoldedLetters(p.Value) {
		return matching(expression, searchtext.PatternRegexp(p)) // never of the empty text
	}
	if p.Fold {
		expression = "lower(" + expression + ")"
	}
	var n sqltext.Node
	switch p.Form {
	case filter.Prefix:
		n = sqltext.Expr("startsWith("+expression+", ?)", p.Value)
	case filter.Suffix:
		n = sqltext.Expr("endsWith("+expression+", ?)", p.Value)
	case filter.Substring:
		n = sqltext.Expr("position("+expression+", ?) > 0", p.Value)
	case filter.Like:
		return sqltext.And(there(present), sqltext.Expr(expression+" LIKE ?", p.Value))
	default:
		n = sqltext.Expr(expression+" = ?", p.Value)
	}
	if p.Value == "" {
		return sqltext.And(there(present), n)
	}
	return n
}

func sign(o filter.Order) string {
	switch o {
	case filter.Less:
		return "<"
	case filter.LessEqual:
		return "<="
	case filter.Greater:
		return ">"
	default:
		return ">="
	}
}
