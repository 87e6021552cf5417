package normalize

import (
	"maps"
	"slices"
	"strconv"
)

// park keeps a value that has no place under ag.unsupported at a path.
func (w *fitting) park(value any, path ...string) {
	if w.unsupported == nil {
		w.unsupported = make(map[string]any, 2)
	}
	at := w.unsupported
	for _, key := range path[:len(path)-1] {
		at = within(at, key)
	}
	settle(at, path[len(path)-1], value)
}

// beside is how many values of one name stand under it and under it with one
// "_" more each. What comes after them gets a number: a client may send one key
// as often as a span has room for, and names that grow with each would make of n
// values n² bytes.
const beside = 4

// within gives the object under a key, or beside what else is there.
func within(at map[string]any, key string) map[string]any {
	name := key
	for range beside {
		there, taken := at[name]
		if found, ok := there.(map[string]any); ok {
			return found
		}
		if !taken {
			return objectAt(at, name)
		}
		name += "_"
	}
	return objectAt(at, numbered(at, key))
}

func objectAt(at map[string]any, name string) map[string]any {
	object := make(map[string]any, 1)
	at[name] = object
	return object
}

// settle puts a value under a key, or beside it where something else is there.
// Objects join; of the values that have no number equal ones are one.
func settle(object map[string]any, key string, value any) {
	joining, joins := value.(map[string]any)
	name := key
	for range beside {
		there, taken := object[name]
		if !taken {
			object[name] = value
			return
		}
		if joined, ok := there.(map[string]any); ok && joins {
			for _, k := range slices.Sorted(maps.Keys(joining)) {
				settle(joined, k, joining[k])
			}
			return
		}
		if equal(there, value) {
			return
		}
		name += "_"
	}
	object[numbered(object, key)] = value
}

// numbered gives a name that is free: the key with a number. Those before it
// are mostly taken without a gap, so that it is found by doubling and halving.
func numbered(object map[string]any, key string) string {
	name := func(n int) string { return key + "_" + strconv.Itoa(n) }
	taken := func(n int) bool {
		_, there := object[name(n)]
		return there
	}
	last, free := beside-1, beside
	for taken(free) {
		last, free = free, 2*free
	}
	for free-last > 1 {
		if n := (last + free) / 2; taken(n) {
			last = n
		} else {
			free = n
		}
	}
	return name(free)
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
