package filtersql

import (
	"fmt"
	"slices"
	"strings"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// attribute compiles a test of a value in a tree. Only the span's attributes
// have columns; resource and scope are payloads.
func attribute(e filter.Attribute) (pair, error) {
	if e.Of != filter.Attributes {
		return resourceOrScope(e), nil
	}
	return NewAttributePath(jsonvalue.SplitPath(e.Path)).test(e.Test)
}

// test compiles a test of the value here.
func (a AttributePath) test(t filter.Test) (pair, error) {
	switch {
	case a.Path == traceTypePath:
		return column("toString(trace_type)", "1", t)
	case a.Path == spanTypePath:
		return column("toString(span_type)", "span_type_declared", t)
	case Cumulative(a.Path):
		return a.sum(t)
	}
	return a.stored(t)
}

// stored compiles a test of a value that a client sent, or that has a column of its own.
func (a AttributePath) stored(t filter.Test) (pair, error) {
	if c, ok := schema.NumberColumn(a.Path); ok {
		return numberColumn(c, a.counted(c), t)
	}
	switch t := t.(type) {
	case filter.Exists:
		return a.exists(), nil
	case filter.Equal:
		return a.equal(t.Value), nil
	case filter.Contains:
		return a.contains(t.Value), nil
	case filter.Member:
		return a.memberOf(t), nil
	case filter.Number:
		return a.number(t), nil
	case filter.Lexical:
		n, err := textTest(a.stringValue(), a.hasString(), t)
		p := between(sqltext.Or(a.bind(n), a.Unindexed()), a.bind(n))
		return p, err
	case filter.Pattern:
		n, err := textTest(a.stringValue(), a.hasString(), t)
		long := recheckedBy(a.Unindexed(), patternPayload(textsOf(a.Keys), t))
		p := between(sqltext.Or(a.bind(n), long), a.bind(n))
		if p.phrases = searchtext.Phrases(searchtext.InPattern(t)); t.Fold {
			p.phrases = searchtext.FoldedPhrases(searchtext.InPattern(t))
		}
		return p, err
	default:
		return pair{}, fmt.Errorf("filtersql: unknown test %T", t)
	}
}

// bind puts the path in for the ? of text and hasText: the first of each piece
// of SQL.
func (a AttributePath) bind(n sqltext.Node) sqltext.Node {
	switch n := n.(type) {
	case sqltext.Conjunction:
		out := make(sqltext.Conjunction, len(n))
		for i := range n {
			out[i] = a.bind(n[i])
		}
		return out
	case sqltext.Expression:
		return sqltext.Expr(n.Text, append([]any{a.Path}, n.Args...)...)
	default:
		return n
	}
}

// column is a path whose value is always a text with a column of its own.
func column(expression, present string, t filter.Test) (pair, error) {
	switch t := t.(type) {
	case filter.StringTest:
		n, err := textTest(expression, present, t)
		return exactly(sqltext.And(there(present), n)), err
	case filter.Equal:
		return exactly(sqltext.And(there(present), sqltext.Among(expression, onlyStrings([]any{t.Value})))), nil
	case filter.Member:
		if t.All && !sameValue(t.Values) {
			return exactly(sqltext.Constant(false)), nil
		}
		return exactly(sqltext.And(there(present), sqltext.Among(expression, onlyStrings(t.Values)))), nil
	default:
		return exactly(sqltext.Constant(false)), nil
	}
}

func onlyStrings(values []any) []string {
	var out []string
	for _, v := range values {
		if s, ok := v.(string); ok && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func sameValue(values []any) bool {
	for _, v := range values[1:] {
		if !sameScalar(v, values[0]) {
			return false
		}
	}
	return true
}

func sameScalar(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// exists compiles the presence of a value here, or of values below.
func (a AttributePath) exists() pair {
	if strings.HasPrefix(traceTypePath, a.Prefix()) {
		return exactly(sqltext.Constant(true)) // every span has ag.type.trace
	}
	found := []sqltext.Node{
		sqltext.Expr("mapContains(attributes_string, ?)", a.Path), sqltext.Expr("mapContains(attributes_number, ?)", a.Path), sqltext.Expr("mapContains(attributes_bool, ?)", a.Path), sqltext.Expr("has(attributes_unindexed, ?)", a.Path),
	}
	for _, leaves := range []string{"mapKeys(attributes_string)", "mapKeys(attributes_number)", "mapKeys(attributes_bool)", "attributes_unindexed"} {
		found = append(found, sqltext.Expr("arrayExists(k -> startsWith(k, ?), "+leaves+")", a.Prefix()))
	}
	for _, path := range schema.NumberPaths() {
		if strings.HasPrefix(path, a.Prefix()) {
			c, _ := schema.NumberColumn(path)
			found = append(found, sqltext.Expr("NOT isNaN("+c+")"))
		}
	}
	under := sqltext.Or(found...)
	if ContainsCumulative(a.Path) {
		return between(sqltext.Constant(true), under)
	}
	p := pair{superset: sqltext.Or(under, a.hidden()), subset: under}
	p.exact = len(a.arrays) == 0
	return p
}

// equal compares a scalar.
func (a AttributePath) equal(v any) pair {
	switch v := v.(type) {
	case string:
		return a.equalString(v)
	case bool:
		n := sqltext.Expr("attributes_bool[?]", a.Path)
		if !v {
			n = sqltext.Expr("mapContains(attributes_bool, ?) AND NOT attributes_bool[?]", a.Path, a.Path)
		}
		return a.scalar(n, searchtext.InValue(v)).with(a.pathValues())
	case int64:
		if v < -maxExact || v > maxExact { // a float64 in the map, or a whole number in the document
			return between(sqltext.Or(a.equalNumber(float64(v)), a.Unindexed()), sqltext.Constant(false)).with(a.pathValues())
		}
		return a.scalar(a.equalNumber(float64(v)), nil).with(a.pathValues())
	case float64:
		return a.scalar(a.equalNumber(v), nil).with(a.pathValues())
	default: // null
		return between(a.Unindexed(), sqltext.Constant(false)).with(a.pathValues())
	}
}

func (a AttributePath) equalNumber(v float64) sqltext.Node {
	if v == 0 {
		return sqltext.Expr("(mapContains(attributes_number, ?) AND attributes_number[?] = 0)", a.Path, a.Path)
	}
	return sqltext.Expr("attributes_number[?] = ?", a.Path, v)
}

func (a AttributePath) equalString(v string) pair {
	texts := searchtext.InValue(v)
	if len(v) > jsonvalue.MaxIndexedBytes {
		p := between(sqltext.And(a.Unindexed(), inPayloads(textsOf(a.Keys), texts)), sqltext.Constant(false)).with(a.pathValues())
		p.phrases = searchtext.Phrases(texts...)
		return p
	}
	n := sqltext.Expr(a.stringValue()+" = ?", a.Path, v)
	if v == "" {
		n = sqltext.Expr("("+a.hasString()+" AND "+a.stringValue()+" = '')", a.Path, a.Path)
	}
	p := a.scalar(n, texts)
	p.phrases = searchtext.Phrases(texts...)
	if schema.EnumPath(a.Path) {
		p.values = [][]string{append([]string{v}, a.arrays...)}
	}
	if p.exact && schema.Indexed(a.Path) && v != "" {
		p.terms = exactTerms(rankAttribute, a.Path+"=", []string{v})
		// The token of path "a=b" and value "c" is that of path "a" and value "b=c"; any other says all.
		if len(p.terms) > 0 && !strings.Contains(a.Path+v, "=") {
			p.terms[0].equivalent = n
		}
	}
	return p
}

// scalar is a condition on a map: exact unless an array may hide the path.
func (a AttributePath) scalar(n sqltext.Node, texts []string) pair {
	if len(a.arrays) == 0 {
		return exactly(n)
	}
	return between(sqltext.Or(n, recheckedBy(a.hidden(), inPayloads(textsOf(a.Keys), texts))), n)
}

func (a AttributePath) number(t filter.Number) pair {
	n := sqltext.Expr("attributes_number[?] "+sign(t.Order)+" ?", a.Path, t.Value)
	zero := t.Value > 0 && t.Order <= filter.LessEqual || t.Value < 0 && t.Order >= filter.Greater ||
		t.Value == 0 && (t.Order == filter.LessEqual || t.Order == filter.GreaterEqual)
	if zero { // an absent number reads as 0
		n = sqltext.And(sqltext.Expr("mapContains(attributes_number, ?)", a.Path), n)
	}
	return between(sqltext.Or(n, a.Unindexed()), n).with(a.pathValues())
}
