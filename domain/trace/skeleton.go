package trace

// Skeleton is the tree of a trace without the content of its spans, which it names
// by their index in the edges that it was created from.
type Skeleton struct {
	// Names are the names of the spans.
	Names []string
	// Roots are the spans without a parent, ascending by start time.
	Roots []int32

	first    []int32 // where the children of a span begin in children; one more than spans
	children []int32
}

// NewSkeleton creates the tree of the spans of one trace, with the rules of BuildTree.
func NewSkeleton(edges []Edge, names []string) *Skeleton {
	order, parents := Forest(edges)
	s := &Skeleton{Names: names, first: make([]int32, len(edges)+1)}
	for _, p := range parents {
		if p >= 0 {
			s.first[p+1]++
		}
	}
	for i := range edges {
		s.first[i+1] += s.first[i]
	}
	s.children = make([]int32, s.first[len(edges)])
	next := append([]int32(nil), s.first...)
	for _, i := range order {
		if p := parents[i]; p >= 0 {
			s.children[next[p]] = int32(i) //nolint:gosec // a trace has fewer spans
			next[p]++
		} else {
			s.Roots = append(s.Roots, int32(i)) //nolint:gosec // a trace has fewer spans
		}
	}
	return s
}

// Children returns the children of a span, ascending by start time.
func (s *Skeleton) Children(span int32) []int32 { return s.children[s.first[span]:s.first[span+1]] }

// Stream is a stored trace that is too large to be in memory at once.
type Stream struct {
	ID       TraceID
	Skeleton *Skeleton
	// Next returns the next span in the order in which tracejson.Walk visits the
	// skeleton. The span is valid until the next call.
	Next func() (*Span, error)
}
