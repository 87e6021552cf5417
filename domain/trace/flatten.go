package trace

import (
	"strconv"
	"strings"
)

// These bounds decide which leaves of the attribute tree stand in the core
// row's maps, where a filter reads them directly, and which are only in the
// stored attribute document. Rows are written and filters compiled by the same
// rule; a change is a migration.
const (
	// MaxInlineBytes is the longest string leaf of a map.
	MaxInlineBytes = 512
	// MaxInlineElements is the longest array whose scalars are leaves of their own.
	MaxInlineElements = 32
	// MaxExactInteger is the largest whole number a float64 holds exactly; a map of numbers cannot hold more.
	MaxExactInteger = 1 << 53
)

// JoinPath makes the path of these keys. One empty key is the path "", two are ".".
func JoinPath(keys ...string) string {
	var path []byte
	for i, k := range keys {
		path = appendKey(path, i == 0, k)
	}
	return string(path)
}

// appendKey adds one key to a path, escaped.
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

// SplitPath gives the keys of a path, unescaped: the inverse of JoinPath. A
// trailing lone backslash stands for itself.
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

// Lookup walks the tree along keys: members of objects by name, elements of
// arrays by number. ok is false where the path leads nowhere; a stored null is
// (nil, true). Documents that it meets are read, and stand read in the tree.
func Lookup(attributes map[string]any, keys []string) (value any, ok bool) {
	value, ok = lookup(attributes, keys, true)
	if object, is := value.(map[string]any); is {
		Open(object)
	}
	return value, ok
}

// LookupJSON is Lookup for the canonical JSON of the value; "" where there is none.
func LookupJSON(attributes map[string]any, keys []string) string {
	value, ok := lookup(attributes, keys, false)
	if !ok {
		return ""
	}
	if d, unread := value.(Document); unread {
		return string(d)
	}
	return string(AppendJSON(nil, value))
}

// lookup is Lookup that leaves the documents within the value, and with last
// false the value itself, unread.
func lookup(attributes map[string]any, keys []string, last bool) (value any, ok bool) {
	value = attributes
	for i, k := range keys {
		switch v := value.(type) {
		case map[string]any:
			if value, ok = v[k]; !ok {
				return nil, false
			}
			if last || i < len(keys)-1 {
				switch d := value.(type) {
				case Document:
					value = d.Value()
					v[k] = value
				case *Metrics:
					value = d.Value()
					v[k] = value
				}
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
