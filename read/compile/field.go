package compile

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/migrations/schema"
)

// The moments that a DateTime64(6) can hold, in Unix microseconds: 1900-01-01
// to the end of 2299. A bound beyond is none.
const (
	minMicros = epochMicros
	maxMicros = 10413791999999999
)

// text compiles a test of a text column, in which empty means absent.
func text(e filter.Text) (pair, error) {
	switch e.Field {
	case filter.SpanName, filter.StatusMessage, filter.SessionID, filter.UserID, filter.AgentID:
	default:
		return pair{}, fmt.Errorf("compile: %q is no text", e.Field)
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
			p.needles = indexed(rankSession, schema.SessionTerm, one.In)
		case filter.UserID:
			p.needles = indexed(rankUser, schema.UserTerm, one.In)
		case filter.SpanName, filter.AgentID: // agents are few, and names have no tokens
			p.leaves = anyOf([][][]string{{one.In}})
		default:
		}
		if len(p.needles) > 0 {
			p.needles[0].instead = n
		}
	}
	return p, nil
}

// textTest tests a text expression. present is text that says whether there is
// one: an absent text reads as the empty one, which must not match.
func textTest(expression, present string, t filter.StringTest) (node, error) {
	switch t := t.(type) {
	case filter.Exists:
		return there(present), nil
	case filter.OneOf:
		n := among(expression, t.In)
		if slices.Contains(t.In, "") {
			return both(there(present), n), nil
		}
		return n, nil
	case filter.Lexical:
		n := sql(expression+" "+sign(t.Order)+" ?", t.Value)
		if t.Value == "" || t.Order == filter.Less || t.Order == filter.LessEqual {
			return both(there(present), n), nil
		}
		return n, nil
	case filter.Pattern:
		return pattern(expression, present, t), nil
	default:
		return nil, fmt.Errorf("compile: unknown test %T", t)
	}
}

// there is the presence of a value as a node; "1" is one that is always there.
func there(present string) node {
	if present == "1" {
		return constant(true)
	}
	return sql(present)
}

func pattern(expression, present string, p filter.Pattern) node {
	if p.Fold && cased(p.Value) {
		return matching(expression, patternExpression(p)) // never of the empty text
	}
	if p.Fold {
		expression = "lower(" + expression + ")"
	}
	var n node
	switch p.Form {
	case filter.Prefix:
		n = sql("startsWith("+expression+", ?)", p.Value)
	case filter.Suffix:
		n = sql("endsWith("+expression+", ?)", p.Value)
	case filter.Substring:
		n = sql("position("+expression+", ?) > 0", p.Value)
	case filter.Like:
		return both(there(present), sql(expression+" LIKE ?", p.Value))
	default:
		n = sql(expression+" = ?", p.Value)
	}
	if p.Value == "" {
		return both(there(present), n)
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

// timeColumn gives a time's column and whether it may be absent; absent is 1970.
func timeColumn(f filter.Field) (column string, optional bool, err error) {
	switch f {
	case filter.StartTime, filter.EndTime, filter.CreatedAt:
		return string(f), false, nil
	case filter.UpdatedAt:
		return string(f), true, nil
	default:
		return "", false, fmt.Errorf("compile: %q is no time", f)
	}
}

const present = " != toDateTime64(0, 6, 'UTC')"

func moment(e filter.Time) (pair, error) {
	column, optional, err := timeColumn(e.Field)
	if err != nil {
		return pair{}, err
	}
	n := timeRange(column, e.Min, e.Max)
	if optional {
		n = both(sql(column+present), n)
	}
	return exactly(n), nil
}

// timeRange bounds a column, both ends inclusive.
func timeRange(column string, lo, hi int64) node {
	if lo > hi || lo > maxMicros || hi < minMicros {
		return constant(false)
	}
	if lo == hi {
		return sql(column + " = " + momentOf(lo))
	}
	var out []node
	if lo > minMicros {
		out = append(out, sql(column+" >= "+momentOf(lo)))
	}
	if hi < maxMicros {
		out = append(out, sql(column+" <= "+momentOf(hi)))
	}
	return both(out...)
}

// momentOf is a time of ours, in Unix microseconds, as a literal of a column in
// UTC. A function of a number would be planned, evaluated and compared for each
// part; a page's statement has ten of them.
func momentOf(micros int64) string {
	return "'" + time.UnixMicro(min(max(micros, minMicros), maxMicros)).UTC().Format(keyTime) + "'"
}

// momentText tests a time's text in the form of filter.TimeLayout.
func momentText(e filter.TimeText) (pair, error) {
	column, optional, err := timeColumn(e.Field)
	if err != nil {
		return pair{}, err
	}
	n, err := textTest("formatDateTime("+column+", '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC')", "1", e.Test)
	if err != nil {
		return pair{}, err
	}
	if optional {
		n = both(sql(column+present), n)
	}
	return exactly(n), nil
}

func user(e filter.User) (pair, error) {
	switch e.Field {
	case filter.CreatedByID, filter.UpdatedByID:
	default:
		return pair{}, fmt.Errorf("compile: %q is no user", e.Field)
	}
	return exactly(among(string(e.Field), uuids(e.In))), nil
}

// uuids are sent as text; the engine reads them as UUID beside such a column.
func uuids(in []uuid.UUID) []string {
	return words(in)
}

func link(e filter.Link) pair {
	var p pair
	switch {
	case !e.TraceID.IsZero() && !e.SpanID.IsZero():
		p = exactly(sql(linkBoth(e)))
	case !e.TraceID.IsZero():
		p = exactly(sql("has(link_trace_ids, " + fixedID(e.TraceID) + ")"))
	case !e.SpanID.IsZero():
		p = exactly(sql("has(link_span_ids, " + fixedID(e.SpanID) + ")"))
	default:
		p = exactly(sql("notEmpty(link_trace_ids)"))
	}
	if !e.SpanID.IsZero() || !e.TraceID.IsZero() {
		p.needles = []needle{{rank: rankLink, tokens: []string{linkToken(e)}}}
	}
	if e.Attributes != nil {
		p.over = both(p.over, inDocument([]string{"links"}, memberTexts(e.Attributes)))
		p.under, p.exact = constant(false), false
	}
	return p
}

// linkToken is the rarer token of a link that names a span or a trace.
func linkToken(e filter.Link) string {
	if e.SpanID.IsZero() {
		return schema.LinkTerm + "trace=" + e.TraceID.String()
	}
	return schema.LinkTerm + "span=" + e.SpanID.String()
}

func linkBoth(e filter.Link) string {
	return "arrayExists((t, s) -> t = " + fixedID(e.TraceID) + " AND s = " + fixedID(e.SpanID) + ", link_trace_ids, link_span_ids)"
}

func reference(e filter.Reference) pair {
	tokens := referenceTokens(e)
	if len(tokens) == 0 {
		return exactly(hasTokenOf(referencePrefix(e)))
	}
	nodes := make([]node, len(tokens))
	var needles []needle
	for i, t := range tokens {
		nodes[i] = hasToken(t)
		needles = append(needles, needle{rank: referenceRank(e), tokens: []string{t}, instead: nodes[i]})
	}
	p := exactly(both(nodes...))
	p.needles = needles
	if e.Key == "" && len(tokens) > 1 { // the tokens may be of different references
		p.under, p.exact = constant(false), false
	}
	return p
}

func referencePrefix(e filter.Reference) string {
	if e.Key == "" {
		return schema.RefTerm
	}
	return schema.RefTerm + e.Key + "."
}

// referenceTokens are those that a row has of a reference, all of them; none where any
// reference will do.
func referenceTokens(e filter.Reference) (tokens []string) {
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
	n := sql("notEmpty(event_names)")
	var leaves [][]string
	if e.Name != "" {
		n, leaves = sql("has(event_names, ?)", e.Name), [][]string{{e.Name}}
	}
	if e.Time == nil && e.Attributes == nil {
		return exactly(n).with(leaves)
	}
	texts := memberTexts(e.Attributes)
	p := between(both(n, inDocument([]string{"events"}, texts)), constant(false)).with(leaves)
	p.phrases = phrases(texts...)
	return p
}

func hash(e filter.Hash) pair {
	var p pair
	if e.ID == uuid.Nil {
		p = exactly(hasTokenOf(schema.HashTerm))
	} else {
		token := hashToken(e)
		p = exactly(hasToken(token))
		p.needles = []needle{{rank: rankHash, tokens: []string{token}, instead: p.over}}
	}
	if e.Attributes != nil {
		p.under, p.exact = constant(false), false
	}
	return p
}

func hashToken(e filter.Hash) string { return schema.HashTerm + e.ID.String() }
