package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"colonnade/domain"
)

// Request is what the document says of an operation's body. It tells members of
// the interface from data of the caller, in which any name may occur (those of
// the arguments of a recorded tool call).
type Request struct {
	root       any
	components map[string]any
}

// RequestOf returns a function that describes an operation's body when it is first needed.
func RequestOf(op domain.Operation) func() (Request, error) {
	return sync.OnceValues(func() (Request, error) {
		if op.Request == nil {
			return Request{}, nil
		}
		made := newSchemas()
		root := made.of(op.Request, ofRequest)
		text, err := json.Marshal(object{"root": root, "components": made.components})
		if err != nil {
			return Request{}, fmt.Errorf("openapi: writing a schema: %w", err)
		}
		var s struct {
			Root       any
			Components map[string]any
		}
		err = json.Unmarshal(text, &s)
		return Request{s.Root, s.Components}, err
	})
}

// Node is what the schema says of one value: it is data of the caller, or
// it has one of the alternatives. Without either, it is not described at all.
type Node struct {
	// Data is whether the value is the caller's: its members are not described.
	Data         bool
	alternatives []map[string]any
}

const componentPrefix = "#/components/schemas/"

// Root returns the node of the whole body.
func (s Request) Root() Node {
	var root Node
	if s.root != nil {
		s.resolve(s.root, &root)
	}
	return root
}

// resolve adds a schema to a node, following references and alternatives.
func (s Request) resolve(schema any, to *Node) {
	of, ok := schema.(map[string]any)
	if !ok || len(of) == 0 {
		to.Data = true
		return
	}
	if ref, ok := of["$ref"].(string); ok {
		s.resolve(s.components[ref[len(componentPrefix):]], to)
		return
	}
	nested := false
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := of[word].([]any)
		for _, e := range list {
			nested = true
			s.resolve(e, to)
		}
	}
	if nested {
		return
	}
	_, properties := of["properties"]
	extra, given := of["additionalProperties"]
	if mayBeObject(of["type"]) && !properties && !given || extra == true {
		to.Data = true
		return
	}
	to.alternatives = append(to.alternatives, of)
}

func mayBeObject(types any) bool {
	list, _ := types.([]any)
	return types == "object" || slices.Contains(list, any("object"))
}

// Member returns the node of a member and whether the schema names it.
func (s Request) Member(of Node, name string) (Node, bool) {
	var node Node
	known := false
	for _, schema := range of.alternatives {
		properties, _ := schema["properties"].(map[string]any)
		inner, ok := properties[name]
		if !ok {
			inner, ok = schema["additionalProperties"].(map[string]any)
		}
		if ok {
			known = true
			s.resolve(inner, &node)
		}
	}
	return node, known
}

// Element returns the node of a list's elements. Where a described value is
// sent as a list although it is none, the decoder of the handler decides.
func (s Request) Element(of Node) Node {
	node, listed := Node{}, false
	for _, schema := range of.alternatives {
		if items, ok := schema["items"]; ok {
			listed = true
			s.resolve(items, &node)
		}
	}
	node.Data = node.Data || !listed && len(of.alternatives) > 0
	return node
}
