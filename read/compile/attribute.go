package compile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
)

const (
	traceTypePath = schema.TraceTypePath
	spanTypePath  = schema.SpanTypePath
	// maxExact is the largest whole number that the map num holds; see trace.Flatten.
	maxExact = 1 << 53
)

// attribute compiles a test of a value in a tree. Only the span's attributes
// have columns; resource and scope are documents.
func attribute(e filter.Attribute) (pair, error) {
	if e.Of != filter.Attributes {
		return foreign(e), nil
	}
	return place(jsonvalue.SplitPath(e.Path)).test(e.Test)
}

// at is a path into the attributes and where the core row keeps what is there.
// trace.Flatten put it: scalars stand in the maps under their path; what no map
// holds has its path in the column long, and so has an array of other things
// than few scalars, of whose elements the row knows nothing.
type at struct {
	keys []string
	path string
	// arrays are the paths above at which such an array would hide this one.
	arrays []string
}

func place(keys []string) at {
	a := at{keys: keys, path: jsonvalue.JoinPath(keys...)}
	for i := 1; i < len(keys); i++ {
		if isIndex(keys[i]) {
			a.arrays = append(a.arrays, jsonvalue.JoinPath(keys[:i]...))
		}
	}
	return a
}

func (a at) member(key string) at { return place(append(slices.Clone(a.keys), key)) }

// isIndex tells a key that may number an element. Source: jsonvalue.Lookup.
func isIndex(key string) bool {
	n, err := strconv.Atoi(key)
	return err == nil && n >= 0 && strconv.Itoa(n) == key
}

// hidden holds where the path may lead into an array that the row does not hold.
func (a at) hidden() node {
	if len(a.arrays) == 0 {
		return constant(false)
	}
	return sql("hasAny(attributes_unindexed, ?)", a.arrays)
}

// long holds where the path itself, or what hides it, is only in the document.
func (a at) long() node {
	if len(a.arrays) == 0 {
		return sql("has(attributes_unindexed, ?)", a.path)
	}
	return sql("hasAny(attributes_unindexed, ?)", append([]string{a.path}, a.arrays...))
}

// leaf is the list of leaves of a row with a number or a boolean here, or with
// something that no map holds.
func (a at) leaf() [][]string { return [][]string{append([]string{a.path}, a.arrays...)} }

// below is the prefix of the paths under this one.
func (a at) below() string { return a.path + "." }

// computed tells whether readers see at the path what is summed over the trace
// when it is read. The core row does not know it. Source: contract §1.6.
func computed(path string) bool {
	rest, ok := strings.CutPrefix(path, "ag.metrics.")
	if !ok {
		return false
	}
	if rest == "errors.cumulative" {
		return true
	}
	vector, name, ok := strings.Cut(rest, ".cumulative.")
	if !ok || vector != semconv.Tokens && vector != semconv.Costs {
		return false
	}
	return name == semconv.Prompt || name == semconv.Completion || name == semconv.Total
}

// test compiles a test of the value here.
func (a at) test(t filter.Test) (pair, error) {
	switch {
	case a.path == traceTypePath:
		return column("toString(trace_type)", "1", t)
	case a.path == spanTypePath:
		return column("toString(span_type)", "span_type_declared", t)
	case computed(a.path):
		return a.sum(t)
	}
	return a.stored(t)
}

// stored compiles a test of what a client sent, or has a column of its own.
func (a at) stored(t filter.Test) (pair, error) {
	if c, ok := schema.NumberColumn(a.path); ok {
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
		n, err := textTest(a.text(), a.hasText(), t)
		p := between(either(a.bind(n), a.long()), a.bind(n))
		return p, err
	case filter.Pattern:
		n, err := textTest(a.text(), a.hasText(), t)
		long := refinedBy(a.long(), patternDocument(textsOf(a.keys), t))
		p := between(either(a.bind(n), long), a.bind(n))
		if p.phrases = phrases(patternText(t)); t.Fold {
			p.phrases = foldedPhrases(patternText(t))
		}
		return p, err
	default:
		return pair{}, fmt.Errorf("compile: unknown test %T", t)
	}
}

// texts is the map to read a text here from, or one of an array's elements.
func (a at) texts() string {
	if schema.EnumPath(a.path) {
		return "attributes_enum"
	}
	return "attributes_string"
}

// text is the text here, "" without one, and hasText tells whether there is one:
// each takes the path.
func (a at) text() string    { return a.texts() + "[?]" }
func (a at) hasText() string { return "mapContains(" + a.texts() + ", ?)" }

// bind puts the path in for the ? of text and hasText: the first of each piece
// of SQL.
func (a at) bind(n node) node {
	switch n := n.(type) {
	case all:
		out := make(all, len(n))
		for i := range n {
			out[i] = a.bind(n[i])
		}
		return out
	case raw:
		return raw{n.text, append([]any{a.path}, n.args...)}
	default:
		return n
	}
}

// column is a path whose value is always a text with a column of its own.
func column(expression, present string, t filter.Test) (pair, error) {
	switch t := t.(type) {
	case filter.StringTest:
		n, err := textTest(expression, present, t)
		return exactly(both(there(present), n)), err
	case filter.Equal:
		return exactly(both(there(present), among(expression, onlyStrings([]any{t.Value})))), nil
	case filter.Member:
		if t.All && !sameValue(t.Values) {
			return exactly(constant(false)), nil
		}
		return exactly(both(there(present), among(expression, onlyStrings(t.Values)))), nil
	default:
		return exactly(constant(false)), nil
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

// numberColumn is a path whose value is always a number with a column of its own; NaN
// is absence. Where long holds it may also be a whole number beyond maxExact, which
// only the document has.
func numberColumn(c string, long node, t filter.Test) (pair, error) {
	switch t := t.(type) {
	case filter.Exists:
		return exactly(either(sql("NOT isNaN("+c+")"), long)), nil
	case filter.Equal:
		return amongNumbers(c, long, []any{t.Value}), nil
	case filter.Member:
		if t.All && !sameValue(t.Values) {
			return exactly(constant(false)), nil
		}
		return amongNumbers(c, long, t.Values), nil
	case filter.Number:
		n := sql(c+" "+sign(t.Order)+" ?", t.Value)
		switch {
		case long == constant(false):
			return exactly(n), nil
		case beyond(t):
			return between(either(n, long), n), nil
		case t.Order >= filter.Greater: // what is counted is not negative, so that it is more than any number below
			return exactly(either(n, long)), nil
		default:
			return exactly(n), nil
		}
	case filter.Contains, filter.Lexical, filter.Pattern:
		return exactly(constant(false)), nil
	default:
		return pair{}, fmt.Errorf("compile: unknown test %T", t)
	}
}

// counted holds where the number of a column is one that it cannot hold. Durations are
// measured, never counted: the row decides.
func (a at) counted(c string) node {
	if c == "duration_ms" {
		return constant(false)
	}
	return a.long()
}

// beyond tells whether a test compares with a number that sums are not exact for.
func beyond(t filter.Test) bool {
	large := func(v any) bool {
		switch v := v.(type) {
		case int64:
			return v <= -maxExact || v >= maxExact
		case float64:
			return math.Abs(v) >= maxExact
		default:
			return false
		}
	}
	switch t := t.(type) {
	case filter.Equal:
		return large(t.Value)
	case filter.Member:
		return slices.ContainsFunc(t.Values, large)
	case filter.Number:
		return large(t.Value)
	default:
		return false
	}
}

// amongNumbers holds where a number column has one of several values; long holds where
// it may be one that the column cannot hold.
func amongNumbers(c string, long node, of []any) pair {
	var numbers []float64
	for _, v := range of {
		switch v := v.(type) {
		case int64:
			// Rounded it would be equal to what is another number.
			if f := float64(v); f < 1<<63 && int64(f) == v {
				numbers = append(numbers, f)
			}
		case float64:
			numbers = append(numbers, v)
		}
	}
	n := among(c, numbers)
	if long == constant(false) || !beyond(filter.Member{Values: of}) {
		return exactly(n)
	}
	return between(either(n, long), n)
}

// exists: a leaf here, or leaves below.
func (a at) exists() pair {
	if strings.HasPrefix(traceTypePath, a.below()) {
		return exactly(constant(true)) // every span has ag.type.trace
	}
	found := []node{
		sql("mapContains(attributes_string, ?)", a.path), sql("mapContains(attributes_number, ?)", a.path), sql("mapContains(attributes_bool, ?)", a.path), sql("has(attributes_unindexed, ?)", a.path),
	}
	for _, leaves := range []string{"mapKeys(attributes_string)", "mapKeys(attributes_number)", "mapKeys(attributes_bool)", "attributes_unindexed"} {
		found = append(found, sql("arrayExists(k -> startsWith(k, ?), "+leaves+")", a.below()))
	}
	for _, path := range schema.NumberPaths() {
		if strings.HasPrefix(path, a.below()) {
			c, _ := schema.NumberColumn(path)
			found = append(found, sql("NOT isNaN("+c+")"))
		}
	}
	under := either(found...)
	if sums(a.path) {
		return between(constant(true), under)
	}
	p := pair{over: either(under, a.hidden()), under: under}
	p.exact = len(a.arrays) == 0
	return p
}

// sums tells whether a computed path lies below this one.
func sums(path string) bool {
	for _, p := range []string{"ag.metrics.errors.cumulative", "ag.metrics.tokens.cumulative.total", "ag.metrics.costs.cumulative.total"} {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}

// equal compares a scalar.
func (a at) equal(v any) pair {
	switch v := v.(type) {
	case string:
		return a.equalString(v)
	case bool:
		n := sql("attributes_bool[?]", a.path)
		if !v {
			n = sql("mapContains(attributes_bool, ?) AND NOT attributes_bool[?]", a.path, a.path)
		}
		return a.scalar(n, valueTexts(v)).with(a.leaf())
	case int64:
		if v < -maxExact || v > maxExact { // a float64 in the map, or a whole number in the document
			return between(either(a.equalNumber(float64(v)), a.long()), constant(false)).with(a.leaf())
		}
		return a.scalar(a.equalNumber(float64(v)), nil).with(a.leaf())
	case float64:
		return a.scalar(a.equalNumber(v), nil).with(a.leaf())
	default: // null
		return between(a.long(), constant(false)).with(a.leaf())
	}
}

func (a at) equalNumber(v float64) node {
	if v == 0 {
		return sql("(mapContains(attributes_number, ?) AND attributes_number[?] = 0)", a.path, a.path)
	}
	return sql("attributes_number[?] = ?", a.path, v)
}

func (a at) equalString(v string) pair {
	texts := valueTexts(v)
	if len(v) > jsonvalue.MaxIndexedBytes {
		p := between(both(a.long(), inDocument(textsOf(a.keys), texts)), constant(false)).with(a.leaf())
		p.phrases = phrases(texts...)
		return p
	}
	n := sql(a.text()+" = ?", a.path, v)
	if v == "" {
		n = sql("("+a.hasText()+" AND "+a.text()+" = '')", a.path, a.path)
	}
	p := a.scalar(n, texts)
	p.phrases = phrases(texts...)
	if schema.EnumPath(a.path) {
		p.leaves = [][]string{append([]string{v}, a.arrays...)}
	}
	if p.exact && schema.Indexed(a.path) && v != "" {
		p.needles = indexed(rankAttribute, a.path+"=", []string{v})
		// The token of path "a=b" and value "c" is that of path "a" and value "b=c"; any other says all.
		if len(p.needles) > 0 && !strings.Contains(a.path+v, "=") {
			p.needles[0].instead = n
		}
	}
	return p
}

// scalar is a condition on a map: exact unless an array may hide the path.
func (a at) scalar(n node, texts []string) pair {
	if len(a.arrays) == 0 {
		return exactly(n)
	}
	return between(either(n, refinedBy(a.hidden(), inDocument(textsOf(a.keys), texts))), n)
}

// contains is PostgreSQL's @>: an object by its members, an array by its elements.
func (a at) contains(v any) pair {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			p := a.exists()
			return between(p.over, constant(false))
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		out := exactly(constant(true))
		if len(keys) > maxMembers {
			keys, out = keys[:maxMembers], between(constant(true), constant(false))
		}
		for _, k := range keys {
			p := a.memberContains(k, v[k])
			out.over, out.under = both(out.over, p.over), both(out.under, p.under)
			out.exact = out.exact && p.exact
			out.needles = append(out.needles, p.needles...)
			out.phrases = append(out.phrases, p.phrases...)
			out.leaves = append(out.leaves, p.leaves...)
		}
		return out
	case []any:
		over := []node{}
		var leaves [][]string
		for _, e := range v[:min(len(v), maxAlone)] {
			over = append(over, a.element(e))
			leaves = append(leaves, a.leafOf(e)...)
		}
		if len(v) == 0 {
			over = append(over, a.exists().over)
		}
		p := between(both(over...), constant(false)).with(leaves)
		p.phrases = phrases(valueTexts(v)...)
		return p
	default:
		return a.equal(v)
	}
}

// memberContains is one member of an object. Under a number the row cannot
// tell an object's member from an array's element.
func (a at) memberContains(key string, v any) pair {
	m := a.member(key)
	var p pair
	switch v.(type) {
	case map[string]any, []any:
		p = m.contains(v)
	default:
		var err error
		if p, err = m.test(filter.Equal{Value: v}); err != nil {
			return between(constant(true), constant(false))
		}
	}
	if isIndex(key) {
		p.under, p.exact = constant(false), false
	}
	return p
}

// element is a superset of where an array here has an element that equals or
// contains v. Long arrays are left to filter.Match: to search their documents
// would cost every list of values a second table.
func (a at) element(v any) node {
	long := a.long()
	in := func(name string, value any) node {
		return either(sql("arrayExists((k, v) -> v = ? AND startsWith(k, ?), mapKeys("+name+"), mapValues("+name+"))", value, a.below()), long)
	}
	switch v := v.(type) {
	case string:
		if len(v) > jsonvalue.MaxIndexedBytes {
			return either(sql("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.below()), long)
		}
		return in(a.texts(), v)
	case bool:
		return in("attributes_bool", v)
	case int64:
		return either(in("attributes_number", float64(v)), sql("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.below()))
	case float64:
		return in("attributes_number", v)
	case nil:
		return either(sql("arrayExists(k -> startsWith(k, ?), attributes_unindexed)", a.below()), long)
	default:
		return long
	}
}

// leafOf is the list of leaves of a row in element, or with v here; none where a
// leaf of such a row is not known by what it is.
func (a at) leafOf(v any) [][]string {
	if s, ok := v.(string); ok && len(s) <= jsonvalue.MaxIndexedBytes && schema.EnumPath(a.path) {
		return [][]string{append([]string{s, a.path}, a.arrays...)}
	}
	return nil
}

// memberOf is one of several values, or an array that has one. The row cannot
// tell an array from an object of numbered members, so elements are never sure.
func (a at) memberOf(m filter.Member) pair {
	if m.All {
		return a.allMembers(m.Values)
	}
	return a.anyMember(m.Values)
}

func (a at) number(t filter.Number) pair {
	n := sql("attributes_number[?] "+sign(t.Order)+" ?", a.path, t.Value)
	zero := t.Value > 0 && t.Order <= filter.LessEqual || t.Value < 0 && t.Order >= filter.Greater ||
		t.Value == 0 && (t.Order == filter.LessEqual || t.Order == filter.GreaterEqual)
	if zero { // an absent number reads as 0
		n = both(sql("mapContains(attributes_number, ?)", a.path), n)
	}
	return between(either(n, a.long()), n).with(a.leaf())
}

// foreign compiles a test of the resource or the scope, which are documents;
// only the service's name has a column.
func foreign(e filter.Attribute) pair {
	if e.Of == filter.Scope {
		return between(foreignOver("scope", e), constant(false))
	}
	if words, ok := equals(e); ok && e.Path == "service.name" {
		service := among("service", onlyStrings(words))
		// Anything but a text, and the text "", are in the document only.
		if len(onlyStrings(words)) == len(words) && !slices.Contains(words, any("")) {
			if _, member := e.Test.(filter.Member); !member {
				return between(service, constant(false)).with([][]string{onlyStrings(words)})
			}
			return between(either(service, sql("service = ''")), constant(false))
		}
	}
	return between(foreignOver("resource", e), constant(false))
}

func foreignOver(name string, e filter.Attribute) node {
	keys := jsonvalue.SplitPath(e.Path)
	var texts []string
	if last := keys[len(keys)-1]; !isIndex(last) {
		texts = append(texts, string(append(jsonvalue.AppendString(nil, last), ':')))
	}
	switch t := e.Test.(type) {
	case filter.Equal:
		texts = append(texts, valueTexts(t.Value)...)
	case filter.Contains:
		texts = append(texts, valueTexts(t.Value)...)
	case filter.Pattern:
		return both(inDocument([]string{name}, texts), patternDocument([]string{name}, t))
	default: // ranges and lists leave no text that must occur
	}
	return inDocument([]string{name}, texts)
}
