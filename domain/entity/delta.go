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
	// Path leads to a member; numbers index lists.
	Path []string
	// Value is what is set or merged.
	Value any
}

// Delta is a change of a revision's data. Source: contract §5.2.
type Delta struct {
	// Operations are applied in order, all or none.
	Operations []Operation
}

const (
	maxOperations = 1000
	// maxPath is how deep a path may lead: a delta makes what is missing on its
	// way, and who walks that recurses.
	maxPath = 100
)

// ReadDelta reads `{set, remove}` or `{operations}`. In set, objects merge into
// what is there and a top-level name may be a dotted path; remove lists dotted
// paths; an operation is {op: set|merge|remove, path or target, value}, its
// path dotted, a JSON Pointer, or a list of names.
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

// splitPath reads a dotted path or a JSON Pointer (RFC 6901).
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

// Apply gives the document with the delta applied; the given one is not
// touched. A path that leads through something else than an object or a list
// is Rejected, and so is removing what is not there.
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

// apply copies every container on the way, so that a failed delta leaves the base whole.
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

// merge lays an object over another, member by member; anything else replaces.
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

// Same tells whether two documents say the same, whatever the order of their
// members. Absent and empty differ.
func Same(a, b Document) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}
