package filtersql

import (
	"fmt"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// timeColumn gives a time's column and whether it may be absent; absent is 1970.
func timeColumn(f filter.Field) (column string, optional bool, err error) {
	switch f {
	case filter.StartTime, filter.EndTime, filter.CreatedAt:
		return string(f), false, nil
	case filter.UpdatedAt:
		return string(f), true, nil
	default:
		return "", false, fmt.Errorf("filtersql: %q is no time", f)
	}
}

const present = " != toDateTime64(0, 6, 'UTC')"

func timeField(e filter.Time) (pair, error) {
	column, optional, err := timeColumn(e.Field)
	if err != nil {
		return pair{}, err
	}
	n := sqltext.TimeRange(column, e.Min, e.Max)
	if optional {
		n = sqltext.And(sqltext.Expr(column+present), n)
	}
	return exactly(n), nil
}

// timeTextField tests a time's text in the form of filter.TimeLayout.
func timeTextField(e filter.TimeText) (pair, error) {
	column, optional, err := timeColumn(e.Field)
	if err != nil {
		return pair{}, err
	}
	n, err := textTest("formatDateTime("+column+", '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC')", "1", e.Test)
	if err != nil {
		return pair{}, err
	}
	if optional {
		n = sqltext.And(sqltext.Expr(column+present), n)
	}
	return exactly(n), nil
}

func userField(e filter.User) (pair, error) {
	switch e.Field {
	case filter.CreatedByID, filter.UpdatedByID:
	default:
		return pair{}, fmt.Errorf("filtersql: %q is no user", e.Field)
	}
	return exactly(sqltext.Among(string(e.Field), uuids(e.In))), nil
}

// uuids are sent as text; the engine reads them as UUID beside such a column.
func uuids(in []uuid.UUID) []string {
	return sqltext.Names(in)
}

func link(e filter.Link) pair {
	var p pair
	switch {
	case !e.TraceID.IsZero() && !e.SpanID.IsZero():
		p = exactly(sqltext.Expr(linkBoth(e)))
	case !e.TraceID.IsZero():
		p = exactly(sqltext.Expr("has(link_trace_ids, " + sqltext.FixedID(e.TraceID) + ")"))
	case !e.SpanID.IsZero():
		p = exactly(sqltext.Expr("has(link_span_ids, " + sqltext.FixedID(e.SpanID) + ")"))
	default:
		p = exactly(sqltext.Expr("notEmpty(link_trace_ids)"))
	}
	if !e.SpanID.IsZero() || !e.TraceID.IsZero() {
		p.terms = []Term{{rank: rankLink, tokens: []string{linkTerm(e)}}}
	}
	if e.Attributes != nil {
		p.superset = sqltext.And(p.superset, inPayloads([]string{"links"}, searchtext.InObject(e.Attributes)))
		p.subset, p.exact = sqltext.Constant(false), false
	}
	return p
}

// linkTerm is the rarer token of a link that names a span or a trace.
func linkTerm(e filter.Link) string {
	if e.SpanID.IsZero() {
		return schema.LinkTerm + "trace=" + e.TraceID.String()
	}
	return schema.LinkTerm + "span=" + e.SpanID.String()
}

func linkBoth(e filter.Link) string {
	return "arrayExists((t, s) -> t = " + sqltext.FixedID(e.TraceID) + " AND s = " + sqltext.FixedID(e.SpanID) + ", link_trace_ids, link_span_ids)"
}

func reference(e filter.Reference) pair {
	tokens := referenceTerms(e)
	if len(tokens) == 0 {
		return exactly(hasTermPrefix(referencePrefix(e)))
	}
	nodes := make([]sqltext.Node, len(tokens))
	var needles []Term
	for i, t := range tokens {
		nodes[i] = hasTerm(t)
		needles = append(needles, Term{rank: referenceRank(e), tokens: []string{t}, equivalent: nodes[i]})
	}
	p := exactly(sqltext.And(nodes...))
	p.terms = needles
	if e.Key == "" && len(tokens) > 1 { // the tokens may be of different references
		p.subset, p.exact = sqltext.Constant(false), false
	}
	return p
}

func referencePrefix(e filter.Reference) string {
	if e.Key == "" {
		return schema.RefTerm
	}
	return schema.RefTerm + e.Key + "."
}

// referenceTerms are those that a row has of a reference, all of them; none where any
// reference will do.
func referenceTerms(e filter.Reference) (tokens []string) {
	prefix := referencePrefix(e)
	if e.ID != uuid.Nil {
		tokens = append(tokens, prefix+"id="+e.ID.String())
	}
	if e.Slug != "" {
		tokens = append(tokens, prefix+"slug="+e.Slug)
	}
	if e.Version != "" {
		tokens = append(tokens, prefix+"version="+e.Version)
	}
	return tokens
}

// referenceRank is low where a reference is of few spans by its nature.
func referenceRank(e filter.Reference) int {
	if e.Key == "testcase" && e.ID != uuid.Nil {
		return rankAttribute
	}
	return rankReference
}

func event(e filter.Event) pair {
	n := sqltext.Expr("notEmpty(event_names)")
	var leaves [][]string
	if e.Name != "" {
		n, leaves = sqltext.Expr("has(event_names, ?)", e.Name), [][]string{{e.Name}}
	}
	if e.Time == nil && e.Attributes == nil {
		return exactly(n).with(leaves)
	}
	texts := searchtext.InObject(e.Attributes)
	p := between(sqltext.And(n, inPayloads([]string{"events"}, texts)), sqltext.Constant(false)).with(leaves)
	p.phrases = searchtext.Phrases(texts...)
	return p
}

func hash(e filter.Hash) pair {
	var p pair
	if e.ID == uuid.Nil {
		p = exactly(hasTermPrefix(schema.HashTerm))
	} else {
		token := hashTerm(e)
		p = exactly(hasTerm(token))
		p.terms = []Term{{rank: rankHash, tokens: []string{token}, equivalent: p.superset}}
	}
	if e.Attributes != nil {
		p.subset, p.exact = sqltext.Constant(false), false
	}
	return p
}

func hashTerm(e filter.Hash) string { return schema.HashTerm + e.ID.String() }
