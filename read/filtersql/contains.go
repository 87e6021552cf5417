package filtersql

import (
	"slices"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql/searchtext"
	"colonnade/read/sqltext"
)

// contains is PostgreSQL's @>: an object by its members, an array by its elements.
func (a AttributePath) contains(v any) pair {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			p := a.exists()
			return between(p.superset, sqltext.Constant(false))
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		out := exactly(sqltext.Constant(true))
		if len(keys) > maxMembers {
			keys, out = keys[:maxMembers], between(sqltext.Constant(true), sqltext.Constant(false))
		}
		for _, k := range keys {
			p := a.memberContains(k, v[k])
			out.superset, out.subset = sqltext.And(out.superset, p.superset), sqltext.And(out.subset, p.subset)
			out.exact = out.exact && p.exact
			out.terms = append(out.terms, p.terms...)
			out.phrases = append(out.phrases, p.phrases...)
			out.values = append(out.values, p.values...)
		}
		return out
	case []any:
		over := []sqltext.Node{}
		var leaves [][]string
		for _, e := range v[:min(len(v), maxAlone)] {
			over = append(over, a.element(e))
			leaves = append(leaves, a.enumValues(e)...)
		}
		if len(v) == 0 {
			over = append(over, a.exists().superset)
		}
		p := between(sqltext.And(over...), sqltext.Constant(false)).with(leaves)
		p.phrases = searchtext.Phrases(searchtext.InValue(v)...)
		return p
	default:
		return a.equal(v)
	}
}

// memberContains is one member of an object. Below a number the row does
// not distinguish an object's member from an array's element.
func (a AttributePath) memberContains(key string, v any) pair {
	m := a.member(key)
	var p pair
	switch v.(type) {
	case map[string]any, []any:
		p = m.contains(v)
	default:
		var err error
		if p, err = m.test(filter.Equal{Value: v}); err != nil {
			return between(sqltext.Constant(true), sqltext.Constant(false))
		}
	}
	if isIndex(key) {
		p.subset, p.exact = sqltext.Constant(false), false
	}
	return p
}

// element returns a superset of the rows in which an array here has an element that
// equals or contains v. filter.Match decides about unindexed arrays: a search of their
// payloads would cost every list of values a second table.
func (a AttributePath) element(v any) sqltext.Node {
	long := a.Unindexed()
	in := func(name string, value any) sqltext.Node {
		return sqltext.Or(sqltext.Expr("arrayExists((k, v) -> v = ? AND startsWith(k, ?), mapKeys("+name+"), mapValues("+name+"))", value, a.Prefix()), long)
	}
	switch v := v.(type) {
	case string:
		if len(v) > jsonvalue.MaxIndexedBytes {
			return sqltext.Or(sqltext.Expr("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.Prefix()), long)
		}
		return in(a.StringColumn(), v)
	case bool:
		return in("attributes_bool", v)
	case int64:
		return sqltext.Or(in("attributes_number", float64(v)), sqltext.Expr("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.Prefix()))
	case float64:
		return in("attributes_number", v)
	case nil:
		return sqltext.Or(sqltext.Expr("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.Prefix()), long)
	default:
		return long
	}
}

// enumValues returns the list of attribute values of a row in element, or with v here;
// none where the value of such a row is not in the index.
func (a AttributePath) enumValues(v any) [][]string {
	if s, ok := v.(string); ok && len(s) <= jsonvalue.MaxIndexedBytes && schema.EnumPath(a.Path) {
		return [][]string{append([]string{s, a.Path}, a.arrays...)}
	}
	return nil
}

// memberOf is one of several values, or an array that has one. The row does
// not distinguish an array from an object of numbered members, so elements never decide.
func (a AttributePath) memberOf(m filter.Member) pair {
	if m.All {
		return a.allMembers(m.Values)
	}
	return a.anyMember(m.Values)
}
