package entity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/domain/request"
)

// Operation is one step of a delta.
type Operation struct {
	// Kind is set, merge or remove.
	Kind string
	// Path is the path of a member; numbers are indices of lists.
	Path []string
	// Value is the value to set or merge.
	Value any
}

// Delta is a change of the data of a revision.
type Delta struct {
	// Operations are applied in order, all or none.
	Operations []Operation
}

const (
	maxOperations = 1000
	// maxPath is the greatest length of a path: a delta creates the missing objects on its path,
	// and later code recurses into them.
	maxPath = 100
)

// ReadDelta decodes {set, remove} or {operations}. In set, objects are merged into the data and a
// top-level name may be a dotted path; remove lists dotted paths; an operation is {op:
// set|merge|remove, path or target, value}, whose path is dotted, a JSON Pointer, or a list of
// names.
func ReadDelta(o *request.Object) Delta {
	var d Delta
	if set := o.Map("set"); set != nil {
		names := make([]string, 0, len(set))
		for name := range set {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			d.Operations = append(d.Operations, Operation{Kind: "merge", Path: splitPath(name), Value: set[name]})
		}
	}
	for _, path := range o.Strings("remove") {
		d.Operations = append(d.Operations, Operation{Kind: "remove", Path: splitPath(path)})
	}
	for _, e := range o.Objects("operations") {
		d.Operations = append(d.Operations, readOperation(e))
	}
	if len(d.Operations) == 0 {
		o.Fail("missing", "A delta needs set, remove or operations", nil)
	}
	if len(d.Operations) > maxOperations {
		o.Fail("too_long", fmt.Sprintf("A delta has at most %d operations", maxOperations), nil)
	}
	if slices.ContainsFunc(d.Operations, func(op Operation) bool { return len(op.Path) > maxPath }) {
		o.Fail("too_long", fmt.Sprintf("A path of a delta has at most %d parts", maxPath), nil)
	}
	o.FailUnknown()
	return d
}

func readOperation(o *request.Object) Operation {
	kind := o.OneOf("op", "operation")
	op := Operation{Kind: o.Enum(kind, "set", "add", "replace", "merge", "remove"), Value: o.Any("value")}
	if op.Kind == "add" || op.Kind == "replace" {
		op.Kind = "set"
	}
	o.Require(kind)
	if op.Kind != "remove" && !o.Present("value") {
		o.Require("value")
	}
	path := o.OneOf("path", "target")
	switch value := o.Any(path).(type) {
	case string:
		op.Path = splitPath(value)
	case []any:
		op.Path = o.Strings(path)
	default:
	}
	if len(op.Path) == 0 {
		o.Fail("missing", "A path is a dotted string, a JSON Pointer or a list of names", nil, path)
	}
	o.FailUnknown()
	return op
}

// splitPath parses a dotted path or a JSON Pointer (RFC 6901).
func splitPath(path string) []string {
	if rest, ok := strings.CutPrefix(path, "/"); ok {
		parts := strings.Split(rest, "/")
		for i, p := range parts {
			parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
		}
		return parts
	}
	return strings.Split(path, ".")
}

// Apply returns the document with the delta applied, and leaves d unchanged. A path through a
// value that is neither object nor list is Rejected, and so is the removal of an absent member.
func (d Delta) Apply(base Document) (Document, error) {
	var root any = map[string]any(base)
	if base == nil {
		root = map[string]any{}
	}
	for _, op := range d.Operations {
		next, err := op.apply(root, op.Path)
		if err != nil {
			return nil, domain.E(domain.Rejected, "delta: %s %s: %s", op.Kind, strings.Join(op.Path, "."), err)
		}
		root = next
	}
	m, _ := root.(map[string]any)
	return m, nil
}

// apply copies every container on the path, so that a failed delta leaves the base unchanged.
func (op Operation) apply(at any, path []string) (any, error) {
	if len(path) == 0 {
		if op.Kind == "merge" {
			return merge(at, op.Value), nil
		}
		return op.Value, nil
	}
	switch container := at.(type) {
	case nil:
		if op.Kind == "remove" {
			return nil, fmt.Errorf("%q is not there", path[0])
		}
		return op.inObject(map[string]any{}, path)
	case map[string]any:
		return op.inObject(container, path)
	case []any:
		return op.inList(container, path)
	default:
		return nil, fmt.Errorf("%q is below a value that is neither an object nor a list", path[0])
	}
}

func (op Operation) inObject(container map[string]any, path []string) (any, error) {
	out := make(map[string]any, len(container)+1)
	maps.Copy(out, container)
	child, there := out[path[0]]
	if op.Kind == "remove" && !there {
		return nil, fmt.Errorf("%q is not there", path[0])
	}
	if op.Kind == "remove" && len(path) == 1 {
		delete(out, path[0])
		return out, nil
	}
	next, err := op.apply(child, path[1:])
	if err != nil {
		return nil, err
	}
	out[path[0]] = next
	return out, nil
}

func (op Operation) inList(container []any, path []string) (any, error) {
	i, err := strconv.Atoi(path[0])
	if path[0] == "-" && op.Kind != "remove" {
		i, err = len(container), nil
	}
	if err != nil || i < 0 || i > len(container) || i == len(container) && op.Kind == "remove" {
		return nil, fmt.Errorf("%q is no place in a list of %d", path[0], len(container))
	}
	if op.Kind == "remove" && len(path) == 1 {
		return slices.Delete(slices.Clone(container), i, i+1), nil
	}
	out := slices.Clone(container)
	if i == len(out) {
		out = append(out, nil)
	}
	out[i], err = op.apply(out[i], path[1:])
	return out, err
}

// merge merges an object into another, member by member; any other value replaces.
func merge(under, over any) any {
	a, ok1 := under.(map[string]any)
	b, ok2 := over.(map[string]any)
	if !ok1 || !ok2 {
		return over
	}
	out := make(map[string]any, len(a)+len(b))
	maps.Copy(out, a)
	for k, v := range b {
		out[k] = merge(out[k], v)
	}
	return out
}

// Same reports whether two documents are equal, in any order of their members. Absent and empty
// differ.
func Same(a, b Document) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
