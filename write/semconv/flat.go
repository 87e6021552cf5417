package semconv

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// flatLists collects attributes whose keys number the elements of a list, such
// as "0.message.role", by the name of the list.
type flatLists map[string]map[string]any

// maxFlatSegments bounds how deep such a key nests; the rest stays one key.
const maxFlatSegments = 24

// add notes the value of a key below a list.
func (l *flatLists) add(list, key string, value any) {
	if *l == nil {
		*l = flatLists{}
	}
	at := (*l)[list]
	if at == nil {
		at = map[string]any{}
		(*l)[list] = at
	}
	for range maxFlatSegments {
		segment, rest, more := strings.Cut(key, ".")
		if !more {
			break
		}
		next, ok := at[segment].(map[string]any)
		if !ok {
			if at[segment] != nil {
				break
			}
			next = map[string]any{}
			at[segment] = next
		}
		at, key = next, rest
	}
	if at[key] == nil {
		at[key] = cloned(value) // it becomes part of what is changed here
	}
}

// cloned returns a copy of the objects of a value that was sent.
func cloned(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(object))
	for k, v := range object {
		out[k] = cloned(v)
	}
	return out
}

// list returns the list of that name in the order of its numbers; holes are left out.
func (l flatLists) list(name string) []any {
	list, _ := listed(l[name]).([]any)
	return list
}

// listed makes a list of each object all of whose keys are numbers.
func listed(value any) any {
	object, ok := value.(map[string]any)
	if !ok || len(object) == 0 {
		return value
	}
	numbers := make([]int, 0, len(object))
	for k, v := range object {
		object[k] = listed(v)
		if n, err := strconv.Atoi(k); err == nil && n >= 0 && strconv.Itoa(n) == k {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) < len(object) {
		return object
	}
	slices.Sort(numbers)
	out := make([]any, len(numbers))
	for i, n := range numbers {
		out[i] = object[strconv.Itoa(n)]
	}
	return out
}

// unwrapped takes the name of an element's type out of each element of a list:
// {"message": {...}} is {...}, as OpenInference nests them.
func unwrapped(list []any, name string) []any {
	for i, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			continue
		}
		inner, ok := object[name].(map[string]any)
		if !ok {
			continue
		}
		if len(object) > 1 {
			inner = maps.Clone(inner)
			for k, v := range object {
				if k != name && inner[k] == nil {
					inner[k] = v
				}
			}
		}
		list[i] = inner
	}
	return list
}
