package sink

import (
	"colonnade/domain/trace"
)

// edgeBytes is a span's id and its parent's, one after the other.
const edgeBytes = 2 * len(trace.SpanID{})

// oneTree tells whether spans are a single tree: one root, every parent among
// them, no cycle. Then what the root sums is the trace's totals. The spans are
// given as edges, joined.
func oneTree(edges string) bool {
	n := len(edges) / edgeBytes
	parents := make(map[trace.SpanID]trace.SpanID, n)
	roots := 0
	for i := range n {
		var id, parent trace.SpanID
		copy(id[:], edges[i*edgeBytes:])
		copy(parent[:], edges[i*edgeBytes+len(id):])
		parents[id] = parent
		if parent.IsZero() {
			roots++
		}
	}
	if roots != 1 || len(parents) != n {
		return false
	}
	// Every span's way up ends at the root; ways that were walked are cut short.
	for id := range parents {
		if !endsAtRoot(parents, id) {
			return false
		}
	}
	return true
}

func endsAtRoot(parents map[trace.SpanID]trace.SpanID, id trace.SpanID) bool {
	var way []trace.SpanID
	for at := id; !parents[at].IsZero(); {
		next := parents[at]
		if _, stored := parents[next]; !stored || len(way) > len(parents) {
			return false
		}
		way = append(way, at)
		at = next
	}
	// Of a deep trace each way would be as long as the trace: hang them below a child of the root.
	if len(way) > 1 {
		top := way[len(way)-1]
		for _, at := range way[:len(way)-1] {
			parents[at] = top
		}
	}
	return true
}
