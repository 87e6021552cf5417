package compile

import (
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
)

// Gather says what an Analysis takes from a path.
type Gather uint8

// What can be taken. A value of another sort is passed over. Columns:
const (
	// Numbers: values String, each 8 bytes, little-endian: drivers read a long
	// array value by value.
	Numbers Gather = iota + 1
	// Sum of numbers: count UInt64, sum Float64.
	Sum
	// Booleans: trues UInt64, falses UInt64.
	Booleans
	// Strings: Map(String, UInt64) from each to how often it stands there.
	Strings
	// StringCount: count UInt64.
	StringCount
	// Objects: count UInt64.
	Objects
	// Elements, the strings of arrays: none. Rows with an array are all open:
	// the core row cannot tell it from an object of numbered members.
	Elements
)

// Measure takes values from a path of the attributes.
type Measure struct {
	Gather Gather
	// Keys lead to the value. There is at least one.
	Keys []string
}

// Sums tells whether readers see at the path what is summed over the trace.
func (m Measure) Sums() bool {
	return (m.Gather == Numbers || m.Gather == Sum) && computed(jsonvalue.JoinPath(m.Keys...))
}

func (m Measure) aggregate(name string) string {
	taken := "sure AND " + name + "_have AND " + name + "_open = 0"
	switch m.Gather {
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

// measured is a measure over the columns of spans: whether there is a value,
// the value, and whether that is open. A nil value is none.
type measured struct {
	have, value, document node
	// unsummed holds where the trace's sums are lacking, sent is what a client
	// sent, NaN where nothing.
	unsummed, sent node
}

func (m measured) write(w *writer, name string, sums bool) {
	w.put(", toUInt8(")
	m.have.write(w, nil)
	w.put(") AS " + name + "_have, ")
	if m.value == nil {
		w.put("0")
	} else {
		m.value.write(w, nil)
	}
	w.put(" AS " + name + "_value, toUInt8(multiIf(")
	m.document.write(w, nil)
	w.put(", 2, ")
	if sums {
		m.unsummed.write(w, nil)
	} else {
		w.put("0")
	}
	w.put(", 1, 0)) AS " + name + "_open")
	if sums {
		w.put(", ")
		m.sent.write(w, nil)
		w.put(" AS " + name + "_sent")
	}
}

func (m Measure) columns(roots bool) measured {
	a := place(m.Keys)
	switch m.Gather {
	case Numbers, Sum:
		if computed(a.path) {
			return a.summed(roots)
		}
		if c, ok := schema.NumberColumn(a.path); ok {
			return measured{have: sql("NOT isNaN(" + c + ")"), value: sql(c), document: constant(false)}
		}
		return a.inMap("attributes_number")
	case Booleans:
		return a.inMap("attributes_bool")
	case Strings, StringCount:
		switch a.path {
		case traceTypePath:
			return measured{have: constant(true), value: sql("toString(trace_type)"), document: constant(false)}
		case spanTypePath:
			return measured{have: sql("span_type_declared"), value: sql("toString(span_type)"), document: constant(false)}
		default:
			return a.inMap(a.texts())
		}
	case Objects:
		return a.object()
	default:
		return measured{have: constant(false), document: either(a.long(), a.anyBelow(true))}
	}
}

// inMap is a scalar. Where the path, or an array above it, is long, the map
// says nothing.
func (a at) inMap(name string) measured {
	have := sql("mapContains("+name+", ?)", a.path)
	return measured{have: have, value: sql(name+"[?]", a.path), document: both(not(have), a.long())}
}

// summed is what readers see in a cumulative metric: the sum where it is not
// zero, else what a client sent. Source: spanmetrics.Cumulate.
func (a at) summed(roots bool) measured {
	m := measured{
		sent:     sql("if(mapContains(attributes_number, ?), attributes_number[?], nan)", a.path, a.path),
		have:     sql("mapContains(attributes_number, ?)", a.path),
		value:    sql("attributes_number[?]", a.path),
		document: a.long(),
		unsummed: constant(true),
	}
	if roots {
		t := total(a.keys)
		sum := "is_settled = 1 AND NOT isNaN(" + t + ") AND " + t + " != 0"
		m.have = sql("(("+sum+") OR mapContains(attributes_number, ?))", a.path)
		m.value = sql("if("+sum+", "+t+", attributes_number[?])", a.path)
		m.unsummed = sql("is_settled = 0")
	}
	return m
}

// object is where an object stands. Members named by numbers may be those of an
// array; whatever is there decides then.
func (a at) object() measured {
	if strings.HasPrefix(traceTypePath, a.below()) {
		return measured{have: constant(true), document: constant(false)}
	}
	have := []node{a.anyBelow(false)}
	for _, path := range schema.NumberPaths() {
		if strings.HasPrefix(path, a.below()) {
			c, _ := schema.NumberColumn(path)
			have = append(have, sql("NOT isNaN("+c+")"))
		}
	}
	document := either(a.long(), a.anyBelow(true))
	if sums(a.path) || strings.HasPrefix(semconv.Root+"."+semconv.Metrics+".", a.below()) {
		document = constant(true)
	}
	is := either(have...)
	return measured{have: is, document: both(not(is), document)}
}

// anyBelow holds where a leaf stands below the path, under a key that begins
// with a digit or under one that does not.
func (a at) anyBelow(digit bool) node {
	test := "NOT match(substring(k, ?), '^[0-9]')"
	if digit {
		test = "match(substring(k, ?), '^[0-9]')"
	}
	leaves := []string{"mapKeys(attributes_string)", "mapKeys(attributes_number)", "mapKeys(attributes_bool)", "attributes_unindexed"}
	found := make([]node, 0, len(leaves))
	for _, leaves := range leaves {
		found = append(found, sql("arrayExists(k -> startsWith(k, ?) AND "+test+", "+leaves+")", a.below(), len(a.below())+1))
	}
	return either(found...)
}
