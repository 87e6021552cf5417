package filtersql

import (
	"slices"
	"strconv"
	"strings"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
)

const (
	traceTypePath = schema.TraceTypePath
	spanTypePath  = schema.SpanTypePath
	// maxExact is the largest whole number that the map num holds; see trace.Flatten.
	maxExact = 1 << 53
)

// at is a path into the attributes and where the core row keeps what is there.
// trace.Flatten put it: scalars stand in the maps under their path; what no map
// holds has its path in the column long, and so has an array of other things
// than few scalars, of whose elements the row knows nothing.
type AttributePath struct {
	Keys []string
	Path string
	// arrays are the paths above at which such an array would hide this one.
	arrays []string
}

func NewAttributePath(keys []string) AttributePath {
	a := AttributePath{Keys: keys, Path: jsonvalue.JoinPath(keys...)}
	for i := 1; i < len(keys); i++ {
		if isIndex(keys[i]) {
			a.arrays = append(a.arrays, jsonvalue.JoinPath(keys[:i]...))
		}
	}
	return a
}

func (a AttributePath) member(key string) AttributePath {
	return NewAttributePath(append(slices.Clone(a.Keys), key))
}

// isIndex tells a key that may number an element. Source: jsonvalue.Lookup.
func isIndex(key string) bool {
	n, err := strconv.Atoi(key)
	return err == nil && n >= 0 && strconv.Itoa(n) == key
}

// hidden holds where the path may lead into an array that the row does not hold.
func (a AttributePath) hidden() sqltext.Node {
	if len(a.arrays) == 0 {
		return sqltext.Constant(false)
	}
	return sqltext.Expr("hasAny(attributes_unindexed, ?)", a.arrays)
}

// long holds where the path itself, or what hides it, is only in the document.
func (a AttributePath) Unindexed() sqltext.Node {
	if len(a.arrays) == 0 {
		return sqltext.Expr("has(attributes_unindexed, ?)", a.Path)
	}
	return sqltext.Expr("hasAny(attributes_unindexed, ?)", append([]string{a.Path}, a.arrays...))
}

// leaf is the list of leaves of a row with a number or a boolean here, or with
// something that no map holds.
func (a AttributePath) pathValues() [][]string {
	return [][]string{append([]string{a.Path}, a.arrays...)}
}

// below is the prefix of the paths under this one.
func (a AttributePath) Prefix() string { return a.Path + "." }

// computed tells whether readers see at the path what is summed over the trace
// when it is read. The core row does not know it. Source: contract §1.6.
func Cumulative(path string) bool {
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

// texts is the map to read a text here from, or one of an array's elements.
func (a AttributePath) StringColumn() string {
	if schema.EnumPath(a.Path) {
		return "attributes_enum"
	}
	return "attributes_string"
}

// text is the text here, "" without one, and hasText tells whether there is one:
// each takes the path.
func (a AttributePath) stringValue() string { return a.StringColumn() + "[?]" }

func (a AttributePath) hasString() string { return "mapContains(" + a.StringColumn() + ", ?)" }

// sums tells whether a computed path lies below this one.
func ContainsCumulative(path string) bool {
	for _, p := range []string{"ag.metrics.errors.cumulative", "ag.metrics.tokens.cumulative.total", "ag.metrics.costs.cumulative.total"} {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}
