package fit

import (
	"maps"
	"slices"
)

// park keeps a value that has no place under ag.unsupported at a path.
func (w *fitting) park(value any, path ...string) {
	if w.unsupported == nil {
		w.unsupported = make(map[string]any, 2)
	}
	at := w.unsupported
	for _, key := range path[:len(path)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			for at[key] != nil { // something else is there: go beside it
				if below, ok = at[key].(map[string]any); ok {
					break
				}
				key += "_"
			}
		}
		if below == nil {
			below = make(map[string]any, 1)
			at[key] = below
		}
		at = below
	}
	settle(at, path[len(path)-1], value)
}

// settle puts a value under a key, or under the key with as many "_" as it
// takes where something else is there. Objects join, equal values are one.
func settle(object map[string]any, key string, value any) {
	for {
		there, taken := object[key]
		if !taken {
			object[key] = value
			return
		}
		if equal(there, value) {
			return
		}
		a, isObject := there.(map[string]any)
		b, alsoObject := value.(map[string]any)
		if isObject && alsoObject {
			for _, k := range slices.Sorted(maps.Keys(b)) {
				settle(a, k, b[k])
			}
			return
		}
		key += "_"
	}
}

// equal compares two attribute values.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
}

// parkUnknown moves the members of an object that are not known to
// ag.unsupported, below path; in order, so that equal spans park equally.
func (w *fitting) parkUnknown(object map[string]any, known func(string) bool, path ...string) {
	var unknown []string
	for k := range object {
		if !known(k) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	for _, k := range unknown {
		w.park(object[k], append(slices.Clip(path), k)...)
		delete(object, k)
	}
}

// sortedKeys appends an object's keys to a buffer, in order: what is parked
// must not depend on the order of a map.
func sortedKeys(object map[string]any, buffer []string) []string {
	for k := range object {
		buffer = append(buffer, k)
	}
	slices.Sort(buffer)
	return buffer
}
