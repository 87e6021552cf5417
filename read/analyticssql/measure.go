package analyticssql

import (
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/sqltext"
)

// Kind is the kind of values that a Measure takes from a path.
type Kind uint8

// The kinds. A value of another kind does not count. Their columns:
const (
	// Numbers: values String, each 8 bytes, little-endian: drivers read a long
	// array value by value.
	Numbers Kind = iota + 1
	// Sum of numbers: count UInt64, sum Float64.
	Sum
	// Booleans: trues UInt64, falses UInt64.
	Booleans
	// Strings: Map(String, UInt64) from each string to its number of spans.
	Strings
	// StringCount: count UInt64.
	StringCount
	// Objects: count UInt64.
	Objects
	// Elements, the strings of arrays: none. All rows with an array are
	// undecided: the row of spans does not distinguish it from an object of numbered members.
	Elements
)

// Measure takes values from a path of the attributes.
type Measure struct {
	Kind Kind
	// Keys lead to the value. There is at least one.
	Keys []string
}

// Cumulative reports whether the value at the path is summed over the trace.
func (m Measure) Cumulative() bool {
	return (m.Kind == Numbers || m.Kind == Sum) && filtersql.Cumulative(jsonvalue.JoinPath(m.Keys...))
}

func (m Measure) aggregate(name string) string {
	taken := "sure AND " + name + "_have AND " + name + "_open = 0"
	switch m.Kind {
	case Numbers:
		// As text: of a FixedString arrayStringConcat cuts trailing zeros off, so that 0 would vanish.
		return "arrayStringConcat(groupArrayIf(concat(reinterpretAsFixedString(toFloat64(" + name + "_value)), ''), " + taken + "))"
	case Sum:
		return "countIf(" + taken + "), sumKahanIf(" + name + "_value, " + taken + ")"
	case Booleans:
		return "countIf(" + taken + " AND " + name + "_value), countIf(" + taken + " AND NOT " + name + "_value)"
	case Strings:
		return "sumMapIf(map(" + name + "_value, toUInt64(1)), " + taken + ")"
	case StringCount, Objects:
		return "countIf(" + taken + ")"
	default:
		return "toUInt8(0)"
	}
}

// measured is a measure over the columns of spans: whether there is a value, the value,
// and whether the row decides it. A nil value is none.
type measured struct {
	have, value, needsPayload sqltext.Node
	// needsTotals holds where the totals of the trace are missing; sent is the value
	// that a client sent, NaN without one.
	needsTotals, sent sqltext.Node
}

func (m measured) write(w *sqltext.Writer, name string, sums bool) {
	w.Put(", toUInt8(")
	m.have.Write(w, nil)
	w.Put(") AS " + name + "_have, ")
	if m.value == nil {
		w.Put("0")
	} else {
		m.value.Write(w, nil)
	}
	w.Put(" AS " + name + "_value, toUInt8(multiIf(")
	m.needsPayload.Write(w, nil)
	w.Put(", 2, ")
	if sums {
		m.needsTotals.Write(w, nil)
	} else {
		w.Put("0")
	}
	w.Put(", 1, 0)) AS " + name + "_open")
	if sums {
		w.Put(", ")
		m.sent.Write(w, nil)
		w.Put(" AS " + name + "_sent")
	}
}

func (m Measure) columns(roots bool) measured {
	a := filtersql.NewAttributePath(m.Keys)
	switch m.Kind {
	case Numbers, Sum:
		if filtersql.Cumulative(a.Path) {
			return summedAt(a, roots)
		}
		if c, ok := schema.NumberColumn(a.Path); ok {
			return measured{have: sqltext.Expr("NOT isNaN(" + c + ")"), value: sqltext.Expr(c), needsPayload: sqltext.Constant(false)}
		}
		return inMap(a, "attributes_number")
	case Booleans:
		return inMap(a, "attributes_bool")
	case Strings, StringCount:
		switch a.Path {
		case schema.TraceTypePath:
			return measured{have: sqltext.Constant(true), value: sqltext.Expr("toString(trace_type)"), needsPayload: sqltext.Constant(false)}
		case schema.SpanTypePath:
			return measured{have: sqltext.Expr("span_type_declared"), value: sqltext.Expr("toString(span_type)"), needsPayload: sqltext.Constant(false)}
		default:
			return inMap(a, a.StringColumn())
		}
	case Objects:
		return objectAt(a)
	default:
		return measured{have: sqltext.Constant(false), needsPayload: sqltext.Or(a.Unindexed(), anyBelow(a, true))}
	}
}

// inMap returns the columns of a scalar. Where the path, or an array above it, is
// unindexed, the map does not decide.
func inMap(a filtersql.AttributePath, name string) measured {
	have := sqltext.Expr("mapContains("+name+", ?)", a.Path)
	return measured{have: have, value: sqltext.Expr(name+"[?]", a.Path), needsPayload: sqltext.And(sqltext.Not(have), a.Unindexed())}
}

// summedAt returns the columns of a cumulative metric: the sum where it is not zero,
// else the value that a client sent. Source: spanmetrics.Cumulate.
func summedAt(a filtersql.AttributePath, roots bool) measured {
	m := measured{
		sent:         sqltext.Expr("if(mapContains(attributes_number, ?), attributes_number[?], nan)", a.Path, a.Path),
		have:         sqltext.Expr("mapContains(attributes_number, ?)", a.Path),
		value:        sqltext.Expr("attributes_number[?]", a.Path),
		needsPayload: a.Unindexed(),
		needsTotals:  sqltext.Constant(true),
	}
	if roots {
		t := total(a.Keys)
		sum := "is_settled = 1 AND NOT isNaN(" + t + ") AND " + t + " != 0"
		m.have = sqltext.Expr("(("+sum+") OR mapContains(attributes_number, ?))", a.Path)
		m.value = sqltext.Expr("if("+sum+", "+t+", attributes_number[?])", a.Path)
		m.needsTotals = sqltext.Expr("is_settled = 0")
	}
	return m
}

// objectAt returns the columns of an object. Members with numbers as names may be those
// of an array; then the payload decides.
func objectAt(a filtersql.AttributePath) measured {
	if strings.HasPrefix(schema.TraceTypePath, a.Prefix()) {
		return measured{have: sqltext.Constant(true), needsPayload: sqltext.Constant(false)}
	}
	have := []sqltext.Node{anyBelow(a, false)}
	for _, path := range schema.NumberPaths() {
		if strings.HasPrefix(path, a.Prefix()) {
			c, _ := schema.NumberColumn(path)
			have = append(have, sqltext.Expr("NOT isNaN("+c+")"))
		}
	}
	document := sqltext.Or(a.Unindexed(), anyBelow(a, true))
	if filtersql.ContainsCumulative(a.Path) || strings.HasPrefix(semconv.Root+"."+semconv.Metrics+".", a.Prefix()) {
		document = sqltext.Constant(true)
	}
	is := sqltext.Or(have...)
	return measured{have: is, needsPayload: sqltext.And(sqltext.Not(is), document)}
}

// anyBelow returns the condition that a value is below the path, under a key that
// begins with a digit or under a key that does not.
func anyBelow(a filtersql.AttributePath, digit bool) sqltext.Node {
	test := "NOT match(substring(k, ?), '^[0-9]')"
	if digit {
		test = "match(substring(k, ?), '^[0-9]')"
	}
	leaves := []string{"mapKeys(attributes_string)", "mapKeys(attributes_number)", "mapKeys(attributes_bool)", "attributes_unindexed"}
	found := make([]sqltext.Node, 0, len(leaves))
	for _, leaves := range leaves {
		found = append(found, sqltext.Expr("arrayExists(k -> startsWith(k, ?) AND "+test+", "+leaves+")", a.Prefix(), len(a.Prefix())+1))
	}
	return sqltext.Or(found...)
}
