package normalize

import (
	"maps"
	"slices"
	"strings"

	"colonnade/write/otlp/wire"
)

// maxSegments bounds how deep a dotted key nests; the rest of a longer key
// stays one key, dots and all.
const maxSegments = 32

// listSlack is how many holes a list may have beyond its elements. It keeps
// an attribute such as a.999999999.x from costing more than it weighs: with
// more holes the numbers stay keys of an object.
const listSlack = 16

// mostHoles is how many holes the lists of a span may have together beyond its
// nodes: a.17.17.17 is three lists of eighteen.
const mostHoles = 1 << 10

// wideObject is the number of children from which one is found by an index instead of a walk.
const wideObject = 24

// none is the absence of a node where one is pointed at; node 0 is the root, which nobody points at.
const none = 0

// The source of a node put by the client itself; conventions count from 1.
const fromClient = 0

// node is one place in the tree that dotted keys span: a leaf with a value, or
// a place with children, never both.
type node struct {
	key   string
	value any
	// first and last are children, next a sibling, in order of arrival.
	first, last, next int32
	children          int32
	leaf              bool
	// verbatim marks an object that came whole: its keys are no list positions.
	verbatim bool
	// source tells who put the node here: a list that one convention filled is not continued by another.
	source uint8
}

type childKey struct {
	parent int32
	key    string
}

// tree un-flattens attributes. It is reused from span to span; the values it
// builds are not.
type tree struct {
	nodes []node
	wide  map[childKey]int32
	// refused are the attributes that found their place taken, in order, each
	// under its whole dotted name. Where the client sent two values for one
	// key, the last stands and the earlier one is here.
	refused []wire.Attribute
	// name is the whole name of the value being placed, in parts.
	name []string
	// named is how many bytes names were made of that are longer than a key that
	// was sent, at most mostNamed; crowded tells that there were more.
	named, mostNamed int
	crowded          bool
	// holes is how many holes the lists have that were built.
	holes int
}

// The bounds of what one tree leaves behind for the next.
const (
	maxKeptNodes = 1 << 14
	maxKeptWide  = 1 << 12
)

// reset empties the tree. size is that of what the attributes were sent in: the
// names of what is refused may come to a few times as much.
func (t *tree) reset(size int) {
	const often, least = 4, 64 << 10
	if cap(t.nodes) > maxKeptNodes {
		t.nodes, t.refused = nil, nil
	}
	clear(t.nodes)
	t.nodes = append(t.nodes[:0], node{})
	clear(t.refused)
	t.refused = t.refused[:0]
	switch {
	case len(t.wide) > maxKeptWide: // it would be cleared in full for every span to come
		t.wide = nil
	case len(t.wide) > 0:
		clear(t.wide)
	}
	t.named, t.mostNamed, t.crowded, t.holes = 0, often*size+least, false, 0
}

// put places a value under a dotted key. Objects merge with what is there,
// unless it came whole from another source; a value whose place is taken, or
// lies below another value, is refused. The first to come has the place.
func (t *tree) put(key string, value any, source uint8) {
	t.name = append(t.name[:0], key)
	at, rest := int32(0), key
	for depth := 1; depth < maxSegments; depth++ {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			break
		}
		next, ok := t.enter(at, rest[:dot], source)
		if !ok {
			t.refuse(value)
			return
		}
		at, rest = next, rest[dot+1:]
	}
	t.place(at, rest, value, source)
}

// putPath places a value under these keys; name is what it is called when refused.
func (t *tree) putPath(keys []string, name string, value any, source uint8) {
	t.name = append(t.name[:0], name)
	at, last := int32(0), len(keys)-1
	for _, key := range keys[:last] {
		next, ok := t.enter(at, key, source)
		if !ok {
			t.refuse(value)
			return
		}
		at = next
	}
	t.place(at, keys[last], value, source)
}

// refuse keeps the value under its whole name. The names of what an object
// holds repeat the object's: beyond a bound they are not made.
func (t *tree) refuse(value any) {
	name := t.name[0]
	if len(t.name) > 1 {
		for _, part := range t.name {
			t.named += len(part) + 1
		}
		if t.named > t.mostNamed {
			t.crowded = true
			return
		}
		name = strings.Join(t.name, ".")
	}
	t.refused = append(t.refused, wire.Attribute{Key: name, Value: opened(value)})
}

// enter gives the child of that name as a place with children.
func (t *tree) enter(parent int32, key string, source uint8) (int32, bool) {
	if t.foreign(parent, key, source) {
		return none, false
	}
	at := t.child(parent, key)
	if at == none {
		return t.add(parent, node{key: key, source: source}), true
	}
	n := &t.nodes[at]
	if !n.leaf {
		return at, true
	}
	n.value = opened(n.value)
	object, ok := n.value.(map[string]any)
	if !ok || n.source != source {
		return none, false
	}
	t.open(at, object)
	return at, true
}

// foreign tells whether a key is a position in a list of another source.
func (t *tree) foreign(parent int32, key string, source uint8) bool {
	if t.nodes[parent].source == source || parent == 0 {
		return false
	}
	_, numeric := position(key)
	return numeric
}

// open makes a leaf that holds an object a place with the object's members as
// children, so that others can join them.
func (t *tree) open(at int32, object map[string]any) {
	n := &t.nodes[at]
	n.leaf, n.value, n.verbatim = false, nil, true
	source := n.source
	for _, k := range slices.Sorted(maps.Keys(object)) {
		t.add(at, node{key: k, value: object[k], leaf: true, source: source})
	}
}

// place puts a value at a child.
func (t *tree) place(parent int32, key string, value any, source uint8) {
	if t.foreign(parent, key, source) {
		t.refuse(value)
		return
	}
	at := t.child(parent, key)
	if at == none {
		t.add(parent, node{key: key, value: value, leaf: true, source: source})
		return
	}
	n := &t.nodes[at]
	value, n.value = opened(value), opened(n.value)
	object, isObject := value.(map[string]any)
	before, wasObject := n.value.(map[string]any)
	switch {
	case n.leaf && isObject && wasObject && n.source == source:
		t.open(at, before)
	case n.leaf && !isObject && !wasObject && n.source == source:
		t.refuse(n.value)
		n.value = value
		return
	case n.leaf || !isObject:
		t.refuse(value)
		return
	}
	t.nodes[at].verbatim = true
	for _, k := range slices.Sorted(maps.Keys(object)) {
		t.name = append(t.name, k)
		t.place(at, k, object[k], source)
		t.name = t.name[:len(t.name)-1]
	}
}

// child finds a child by name; none where there is none.
func (t *tree) child(parent int32, key string) int32 {
	p := &t.nodes[parent]
	if p.last == none {
		return none
	}
	if t.nodes[p.last].key == key { // keys of one object mostly come together
		return p.last
	}
	if p.children >= wideObject {
		return t.wide[childKey{parent, key}]
	}
	for at := p.first; at != none; at = t.nodes[at].next {
		if t.nodes[at].key == key {
			return at
		}
	}
	return none
}

func (t *tree) add(parent int32, n node) int32 {
	at := int32(len(t.nodes)) //nolint:gosec // a span has far fewer than 2^31 attributes: its bytes are bounded at the door
	t.nodes = append(t.nodes, n)
	p := &t.nodes[parent]
	if p.last == none {
		p.first = at
	} else {
		t.nodes[p.last].next = at
	}
	p.last = at
	p.children++
	switch {
	case p.children == wideObject:
		t.index(parent)
	case p.children > wideObject:
		t.wide[childKey{parent, n.key}] = at
	}
	return at
}

func (t *tree) index(parent int32) {
	if t.wide == nil {
		t.wide = make(map[childKey]int32, 2*wideObject)
	}
	for at := t.nodes[parent].first; at != none; at = t.nodes[at].next {
		t.wide[childKey{parent, t.nodes[at].key}] = at
	}
}

// object builds the value of a place whose children are members.
func (t *tree) object(at int32) map[string]any {
	object := make(map[string]any, t.nodes[at].children)
	for c := t.nodes[at].first; c != none; c = t.nodes[c].next {
		object[t.nodes[c].key] = t.build(c)
	}
	return object
}

func (t *tree) build(at int32) any {
	n := &t.nodes[at]
	if n.leaf {
		return n.value
	}
	if length, ok := t.list(n); ok {
		return t.elements(n, length)
	}
	return t.object(at)
}

// list tells whether the children are positions in a list, and how long it is.
func (t *tree) list(n *node) (length int, ok bool) {
	if n.verbatim || n.children == 0 {
		return 0, false
	}
	for c := n.first; c != none; c = t.nodes[c].next {
		i, ok := position(t.nodes[c].key)
		if !ok {
			return 0, false
		}
		length = max(length, i+1)
	}
	holes := length - int(n.children)
	if holes > int(n.children)+listSlack || t.holes+holes > len(t.nodes)+mostHoles {
		return 0, false
	}
	t.holes += holes
	return length, true
}

// elements builds a list. A hole in a list of objects or lists is an empty
// one, so that readers find at every position what they expect; any other is null.
func (t *tree) elements(n *node, length int) []any {
	list := make([]any, length)
	for c := n.first; c != none; c = t.nodes[c].next {
		i, _ := position(t.nodes[c].key)
		list[i] = t.build(c)
	}
	if length == int(n.children) {
		return list
	}
	filled := make([]bool, length)
	for c := n.first; c != none; c = t.nodes[c].next {
		i, _ := position(t.nodes[c].key)
		filled[i] = true
	}
	first, _ := position(t.nodes[n.first].key)
	for i := range list {
		if filled[i] {
			continue
		}
		switch list[first].(type) {
		case map[string]any:
			list[i] = map[string]any{}
		case []any:
			list[i] = []any{}
		}
	}
	return list
}

// position reads a list position: decimal digits without leading zeros.
func position(key string) (int, bool) {
	const longest = 7
	if key == "" || len(key) > longest || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	n := 0
	for i := range len(key) {
		c := key[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
