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

// AttributePath is a path into the attributes, and where the row of spans has the value
// at that path (trace.Flatten): scalars are in the maps under their path. The path of a
// value that no map has is in attributes_unindexed. So is the path of an array of
// anything but a few scalars, and the row has none of its elements.
type AttributePath struct {
	Keys []string
	Path string
	// arrays are the paths above this one at which such an array would hide it.
	arrays []string
}

// NewAttributePath returns the path of these keys, at least one.
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

// isIndex reports whether a key may be the index of an element. Source: jsonvalue.Lookup.
func isIndex(key string) bool {
	n, err := strconv.Atoi(key)
	return err == nil && n >= 0 && strconv.Itoa(n) == key
}

// hidden returns the condition that the path may lead into an array that the row does not have.
func (a AttributePath) hidden() sqltext.Node {
	if len(a.arrays) == 0 {
		return sqltext.Constant(false)
	}
	return sqltext.Expr("hasAny(attributes_unindexed, ?)", a.arrays)
}

// Unindexed returns the condition that the path itself, or an array that hides it, is only in the payload.
func (a AttributePath) Unindexed() sqltext.Node {
	if len(a.arrays) == 0 {
		return sqltext.Expr("has(attributes_unindexed, ?)", a.Path)
	}
	return sqltext.Expr("hasAny(attributes_unindexed, ?)", append([]string{a.Path}, a.arrays...))
}

// pathValues returns the list of attribute values of a row with a number or a boolean
// here, or with a value that no map has.
func (a AttributePath) pathValues() [][]string {
	return [][]string{append([]string{a.Path}, a.arrays...)}
}

// Prefix returns the prefix of the paths below this one.
func (a AttributePath) Prefix() string { return a.Path + "." }

// Cumulative reports whether the value at the path is summed over the trace when it is
// read. The row of spans does not have it.
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

// StringColumn returns the map that has a string at this path, or an element of an array here.
func (a AttributePath) StringColumn() string {
	if schema.EnumPath(a.Path) {
		return "attributes_enum"
	}
	return "attributes_string"
}

// stringValue returns the string here, "" without one, and hasString reports whether there is
// one: each takes the path as its first argument.
func (a AttributePath) stringValue() string { return a.StringColumn() + "[?]" }

func (a AttributePath) hasString() string { return "mapContains(" + a.StringColumn() + ", ?)" }

// ContainsCumulative reports whether a cumulative value lies below this path.
func ContainsCumulative(path string) bool {
	for _, p := range []string{"ag.metrics.errors.cumulative", "ag.metrics.tokens.cumulative.total", "ag.metrics.costs.cumulative.total"} {
		if strings.HasPrefix(p, path+".") {
			return true
		}
	}
	return false
}
