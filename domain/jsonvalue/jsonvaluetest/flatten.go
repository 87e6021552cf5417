// Package jsonvaluetest has the reference meaning of flattening, for the tests of the
// packages that flatten or search attributes in their own ways, and random values.
package jsonvaluetest

import (
	"maps"
	"slices"
	"strconv"

	"colonnade/domain/jsonvalue"
)

// Visitor receives every flattened attribute of a tree once, with its path.
type Visitor interface {
	// String, Number and Bool receive the scalars that the attribute maps hold.
	String(path, value string)
	Number(path string, value float64)
	Bool(path string, value bool)
	// Unindexed receives the path of a value that no map holds: a long string, null, an empty
	// object or array, a whole number beyond 2^53, or an array that is long or
	// has elements other than scalars. Nothing below such a path is visited.
	Unindexed(path string)
}

// Flatten visits a tree of attributes in the order of its keys, so that equal trees
// have equal rows. Paths are those of jsonvalue.JoinPath, therefore different trees never
// share a path; array elements are numbered from 0.
func Flatten(attributes map[string]any, to Visitor) { walkObject(nil, attributes, to) }

func walkObject(keys []string, object map[string]any, to Visitor) {
	for _, k := range slices.Sorted(maps.Keys(object)) {
		walk(append(slices.Clone(keys), k), object[k], to)
	}
}

func walk(keys []string, value any, to Visitor) {
	path := jsonvalue.JoinPath(keys...)
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			walkObject(keys, v, to)
			return
		}
	case []any:
		if isIndexed(v) {
			for i, e := range v {
				walk(append(slices.Clone(keys), strconv.Itoa(i)), e, to)
			}
			return
		}
	case string:
		if len(v) <= jsonvalue.MaxIndexedBytes {
			to.String(path, v)
			return
		}
	case bool:
		to.Bool(path, v)
		return
	case int64:
		if -jsonvalue.MaxExactInteger <= v && v <= jsonvalue.MaxExactInteger {
			to.Number(path, float64(v))
			return
		}
	case float64:
		to.Number(path, v)
		return
	}
	to.Unindexed(path)
}

func isIndexed(array []any) bool {
	return len(array) > 0 && len(array) <= jsonvalue.MaxIndexedElements && !slices.ContainsFunc(array, func(e any) bool {
		switch e.(type) {
		case map[string]any, []any:
			return true
		default:
			return false
		}
	})
}
