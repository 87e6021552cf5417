package filtersql

import (
	"fmt"

	"colonnade/domain/filter"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

func compile(e filter.Expr) (pair, error) {
	switch e := e.(type) {
	case nil:
		return exactly(sqltext.Constant(true)), nil
	case filter.And:
		return compileAnd(e)
	case filter.Or:
		return compileOr(e)
	case filter.Not:
		p, err := compile(e.Expr)
		return pair{superset: sqltext.Not(p.subset), subset: sqltext.Not(p.superset), exact: p.exact}, err
	case filter.TraceID:
		return exactly(sqltext.IDs("trace_id", e.In)), nil
	case filter.SpanID:
		return exactly(sqltext.IDs("span_id", e.In)), nil
	case filter.ParentID:
		return exactly(sqltext.IDs("parent_id", e.In)), nil
	case filter.Root:
		return exactly(sqltext.Expr("is_root")), nil
	case filter.TraceType:
		return exactly(sqltext.Among("trace_type", sqltext.Names(e.In))), nil
	case filter.SpanType:
		return exactly(sqltext.Among("span_type", sqltext.Names(e.In))), nil
	case filter.SpanKind:
		return exactly(sqltext.Among("span_kind", sqltext.Names(e.In))), nil
	case filter.StatusCode:
		return exactly(sqltext.Among("status_code", sqltext.Names(e.In))), nil
	case filter.Text:
		return text(e)
	case filter.Time:
		return timeField(e)
	case filter.TimeText:
		return timeTextField(e)
	case filter.User:
		return userField(e)
	case filter.Attribute:
		return attribute(e)
	case filter.Link:
		return link(e), nil
	case filter.Reference:
		return reference(e), nil
	case filter.Event:
		return event(e), nil
	case filter.Hash:
		return hash(e), nil
	case filter.Content:
		return content(e), nil
	default:
		return pair{}, fmt.Errorf("filtersql: unknown node %T", e)
	}
}

func compileAnd(children filter.And) (pair, error) {
	out := exactly(sqltext.Constant(true))
	for _, e := range children {
		p, err := compile(e)
		if err != nil {
			return pair{}, err
		}
		out.superset, out.subset = sqltext.And(out.superset, p.superset), sqltext.And(out.subset, p.subset)
		out.exact = out.exact && p.exact
		out.terms = append(out.terms, p.terms...)
		out.phrases = append(out.phrases, p.phrases...)
		out.values = append(out.values, p.values...)
	}
	return out, nil
}

// compileOr keeps terms, phrases and values only if every branch has some: then a row has one of them.
func compileOr(children filter.Or) (pair, error) {
	children, loose := withoutPayloadSearches(children)
	var together sets
	var branches []pair
	for _, e := range together.take(children) {
		p, err := compile(e)
		if err != nil {
			return pair{}, err
		}
		branches = append(branches, p)
	}
	branches = append(branches, together.pairs()...)
	out := exactly(sqltext.Constant(false))
	var union Term
	texts, leaves := make([][][]string, len(branches)), make([][][]string, len(branches))
	over, under := make([]sqltext.Node, len(branches)), make([]sqltext.Node, len(branches))
	for i, p := range branches {
		over[i], under[i] = p.superset, p.subset
		out.exact = out.exact && p.exact
		if i == 0 || len(union.tokens) > 0 {
			union = union.or(p.terms)
		}
		texts[i], leaves[i] = p.phrases, p.values
	}
	out.superset, out.subset = sqltext.Or(over...), sqltext.Or(under...)
	out.phrases, out.values = searchtext.AnyOf(texts), searchtext.AnyOf(leaves)
	if loose {
		out.subset, out.exact = sqltext.Constant(false), false
	}
	switch {
	case len(branches) == 1:
		out.terms = branches[0].terms
	case len(union.tokens) > 0:
		out.terms = []Term{union}
	}
	return out, nil
}
