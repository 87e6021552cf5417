// Package tracetest says what the leaves of attributes are, for the tests of those who
// write them and look for them in ways of their own.
package tracetest

import (
	"maps"
	"slices"
	"strconv"

	"colonnade/domain/trace"
)

// Leaves receives the leaves of an attribute tree, each once, with its path.
type Leaves interface {
	// Str, Num and Bool receive the scalars that stand in the maps.
	Str(path, value string)
	Num(path string, value float64)
	Bool(path string, value bool)
	// Long receives the path of what does not: a long string, null, an empty
	// object or array, a whole number beyond 2^53, or an array that is long or
	// holds anything but scalars. Nothing below such a path is reported.
	Long(path string)
}

// Flatten walks a tree of attributes in the order of its keys (so that equal
// trees give equal rows). A path joins keys with dots; a dot or backslash
// within a key is preceded by a backslash, so different trees never share a
// path; array elements are numbered from 0. Source: design §4, contract §3.2.
func Flatten(attributes map[string]any, to Leaves) { walkObject(nil, attributes, to) }

func walkObject(keys []string, object map[string]any, to Leaves) {
	for _, k := range slices.Sorted(maps.Keys(object)) {
		walk(append(slices.Clone(keys), k), object[k], to)
	}
}

func walk(keys []string, value any, to Leaves) {
	path := trace.JoinPath(keys...)
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			walkObject(keys, v, to)
			return
		}
	case []any:
		if inline(v) {
			for i, e := range v {
				walk(append(slices.Clone(keys), strconv.Itoa(i)), e, to)
			}
			return
		}
	case string:
		if len(v) <= trace.MaxInlineBytes {
			to.Str(path, v)
			return
		}
	case bool:
		to.Bool(path, v)
		return
	case int64:
		if -trace.MaxExactInteger <= v && v <= trace.MaxExactInteger {
			to.Num(path, float64(v))
			return
		}
	case float64:
		to.Num(path, v)
		return
	}
	to.Long(path)
}

func inline(array []any) bool {
	return len(array) > 0 && len(array) <= trace.MaxInlineElements && !slices.ContainsFunc(array, func(e any) bool {
		switch e.(type) {
		case map[string]any, []any:
			return true
		default:
			return false
		}
	})
}
