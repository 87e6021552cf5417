package trace

import (
	"bytes"
	"cmp"
	"slices"
)

// Node is a span with its children, ascending by start time. Source: interface.md §2.2.
type Node struct {
	Span     *Span
	Children []*Node
}

// BuildTree gives the roots of one trace's spans, ascending by start time.
// Nothing is dropped (contract §0 row 19): a span whose parent is not among
// the spans is a root; of spans that are each other's ancestors the earliest is
// one; a child may start before its parent. The nodes point into spans.
func BuildTree(spans []Span) []*Node {
	edges := make([]Edge, len(spans))
	for i := range spans {
		edges[i] = edge(&spans[i])
	}
	order, parents := forest(edges)
	nodes := make([]Node, len(spans))
	var roots []*Node
	for _, i := range order {
		nodes[i].Span = &spans[i]
		if p := parents[i]; p >= 0 {
			nodes[p].Children = append(nodes[p].Children, &nodes[i])
		} else {
			roots = append(roots, &nodes[i])
		}
	}
	return roots
}

// Edge is a span as far as the tree of its trace looks at it. Start is in Unix nanoseconds.
type Edge struct {
	ID, Parent SpanID
	Start      int64
}

func edge(s *Span) Edge { return Edge{s.SpanID, s.ParentID, s.Start} }

// fewSpans is the number of spans up to which a parent is looked for one by one.
const fewSpans = 16

// forest orders spans by (start, id) and gives for each the index of its
// parent, -1 for a root; following parents always ends.
func forest(edges []Edge) (order, parents []int) {
	order = make([]int, len(edges))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(edges[a].Start, edges[b].Start), bytes.Compare(edges[a].ID[:], edges[b].ID[:]))
	})
	find := finder(edges, order)
	parents = make([]int, len(edges))
	for i := range edges {
		parents[i] = -1
		if edges[i].Parent.IsZero() {
			continue
		}
		if p, ok := find(edges[i].Parent); ok && p != i {
			parents[i] = p
		}
	}
	breakCycles(order, parents)
	return order, parents
}

// finder finds a span by its id: the earliest of equal ids.
func finder(edges []Edge, order []int) func(SpanID) (int, bool) {
	if len(edges) <= fewSpans {
		return func(id SpanID) (int, bool) {
			at := slices.IndexFunc(order, func(i int) bool { return edges[i].ID == id })
			if at < 0 {
				return 0, false
			}
			return order[at], true
		}
	}
	byID := make(map[SpanID]int, len(edges))
	for _, i := range slices.Backward(order) {
		byID[edges[i].ID] = i
	}
	return func(id SpanID) (int, bool) {
		i, ok := byID[id]
		return i, ok
	}
}

// breakCycles makes the earliest span of every cycle a root. Each span is
// walked once: seen holds the number of the walk that met it.
func breakCycles(order, parents []int) {
	seen := make([]int, len(order))
	rank := make([]int, len(order))
	for r, i := range order {
		rank[i] = r
	}
	for walk, start := range order {
		i := start
		for i >= 0 && seen[i] == 0 {
			seen[i] = walk + 1
			i = parents[i]
		}
		if i < 0 || seen[i] != walk+1 {
			continue
		}
		earliest := i
		for j := parents[i]; j != i; j = parents[j] {
			if rank[j] < rank[earliest] {
				earliest = j
			}
		}
		parents[earliest] = -1
	}
}

// AppendTrace appends {"trace_id", "spans"}: the tree of contract §3.5.
func AppendTrace(dst []byte, id TraceID, roots []*Node) []byte {
	dst = append(dst, `{"trace_id":"`...)
	dst = appendHex(dst, id[:])
	dst = append(dst, `","spans":`...)
	return append(AppendTree(dst, roots), '}')
}

// AppendTree appends siblings as an object keyed by span name, in the order of
// their start; siblings of one name are a list under it.
func AppendTree(dst []byte, siblings []*Node) []byte {
	byName := make(map[string][]*Node, len(siblings))
	names := make([]string, 0, len(siblings))
	for _, n := range siblings {
		if _, known := byName[n.Span.Name]; !known {
			names = append(names, n.Span.Name)
		}
		byName[n.Span.Name] = append(byName[n.Span.Name], n)
	}
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, name), ':')
		same := byName[name]
		if len(same) == 1 {
			dst = appendNode(dst, same[0])
			continue
		}
		dst = append(dst, '[')
		for j, n := range same {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendNode(dst, n)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendNode(dst []byte, n *Node) []byte {
	dst = appendOpenSpan(dst, n.Span)
	if len(n.Children) > 0 {
		dst = append(dst, `,"spans":`...)
		dst = AppendTree(dst, n.Children)
	}
	return append(dst, '}')
}
