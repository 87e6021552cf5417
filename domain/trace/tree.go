package trace

import (
	"bytes"
	"cmp"
	"slices"
)

// Node is a span with its children, ascending by start time.
type Node struct {
	Span     *Span
	Children []*Node
}

// BuildTree returns the roots of the spans of one trace, ascending by start time. No span is
// dropped: a span whose parent is not among the spans is a root; in a cycle of parents the
// earliest span is one; a child may start before its parent. The nodes point into spans.
func BuildTree(spans []Span) []*Node {
	edges := make([]Edge, len(spans))
	for i := range spans {
		edges[i] = EdgeOf(&spans[i])
	}
	order, parents := Forest(edges)
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

// Edge is the part of a span that decides its place in the tree. Start is in Unix nanoseconds.
type Edge struct {
	ID, Parent SpanID
	Start      int64
}

// EdgeOf returns the edge of a span.
func EdgeOf(s *Span) Edge { return Edge{s.SpanID, s.ParentID, s.Start} }

// maxScanned is the number of spans up to which parents are found by scanning all spans: a map costs more.
const maxScanned = 16

// Forest orders spans by (start, id) and returns the index of the parent of each,
// -1 for a root; the parents have no cycles.
func Forest(edges []Edge) (order, parents []int) {
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

// finder returns a function that finds a span by its id: the earliest of equal ids.
func finder(edges []Edge, order []int) func(SpanID) (int, bool) {
	if len(edges) <= maxScanned {
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

// breakCycles makes the earliest span of every cycle a root. Each span is visited
// once: seen has the number of the walk that visited it.
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
