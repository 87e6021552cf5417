package jsonvalue

import (
	"strconv"
	"strings"
)

// These bounds decide which attribute values are stored in the attribute maps, where
// a filter reads them directly, and which only in the payloads. The sink and the
// filter compiler use the same bounds; a change of one needs a migration.
const (
	// MaxIndexedBytes is the length of the longest string in a map.
	MaxIndexedBytes = 512
	// MaxIndexedElements is the length of the longest array whose scalars are attribute values of their own.
	MaxIndexedElements = 32
	// MaxExactInteger is the largest whole number up to which float64, the type of the map of numbers, is exact.
	MaxExactInteger = 1 << 53
)

// JoinPath joins keys to a path: dots between keys, a backslash before a dot or
// backslash of a key. One empty key is the path "", two are ".".
func JoinPath(keys ...string) string {
	var path []byte
	for i, k := range keys {
		path = appendKey(path, i == 0, k)
	}
	return string(path)
}

// appendKey appends one key to a path, escaped.
func appendKey(path []byte, first bool, key string) []byte {
	if !first {
		path = append(path, '.')
	}
	if !strings.ContainsAny(key, `.\`) {
		return append(path, key...)
	}
	for i := range len(key) {
		if key[i] == '.' || key[i] == '\\' {
			path = append(path, '\\')
		}
		path = append(path, key[i])
	}
	return path
}

// SplitPath returns the keys of a path, unescaped: the inverse of JoinPath. A lone
// backslash at the end is part of the key.
func SplitPath(path string) []string {
	if !strings.Contains(path, `\`) {
		return strings.Split(path, ".")
	}
	var keys []string
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case path[i] == '.':
			keys = append(keys, key.String())
			key.Reset()
		default:
			key.WriteByte(path[i])
		}
	}
	return append(keys, key.String())
}

// Lookup returns the value at keys: members of objects by name, elements of arrays
// by number. ok is false if there is none; a stored null is (nil, true). It parses the
// Lazy values on its way and in the value, and keeps them parsed in the tree.
func Lookup(tree map[string]any, keys []string) (value any, ok bool) {
	value, ok = lookup(tree, keys, true)
	if object, is := value.(map[string]any); is {
		Expand(object)
	}
	return value, ok
}

// LookupJSON returns the canonical JSON of the value at keys; "" if there is none.
func LookupJSON(tree map[string]any, keys []string) string {
	value, ok := lookup(tree, keys, false)
	if !ok {
		return ""
	}
	if raw, is := value.(Raw); is {
		return string(raw)
	}
	return string(Append(nil, value))
}

// lookup is Lookup without parsing the Lazy values inside the value and, with parseLast
// false, without parsing the value itself.
func lookup(tree map[string]any, keys []string, parseLast bool) (value any, ok bool) {
	value = tree
	for i, k := range keys {
		switch v := value.(type) {
		case map[string]any:
			if value, ok = v[k]; !ok {
				return nil, false
			}
			if parseLast || i < len(keys)-1 {
				value = Member(v, k)
			}
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != k {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}
