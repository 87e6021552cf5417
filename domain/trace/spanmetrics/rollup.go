package spanmetrics

import (
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// below is what lies below a span in its tree.
type below struct {
	// sums are the sums of the cumulative metrics of the children.
	sums metrics
	// calls are the prompt and completion tokens of the model calls, each call once;
	// hasCall reports whether there is one.
	calls   usage
	hasCall bool
	// sameResponse reports whether a model call names the response of this span, and
	// sameFailure whether a failed span has its status message.
	sameResponse, sameFailure bool
}

// usage is the prompt and the completion of model calls.
type usage [total]jsonvalue.Number

// cumulative returns the cumulative metrics of a span from its incremental ones and
// from what lies below it, and the usage of the model calls down from it. It is the
// one rule of the roll-up; the functions that sum whole traces walk the tree.
//
// What a span that is no model call reports is a sum of what lies below it: each part
// of its tokens and costs is the larger of its own and the sum below. A model call
// adds its own, unless what lies below is the same call recorded twice: a model call
// there names the same response, or the calls there have exactly its prompt and
// completion in total. Then the calls below count, and its own values only for parts
// that these lack. Tokens are prompt and completion in total wherever either is known.
//
// Errors add up, but an error that is nothing but the status of a span yields to
// a failed span below with the same message. Source: contract §0 rows 32 and 39.
func cumulative(t Traits, own *metrics, b *below) (sums metrics, calls usage) {
	combine := larger
	calls = b.calls
	if t.Type.IsModelCall() {
		combine = add
		if b.repeats(own) {
			combine = orElse
		}
		for i := range calls {
			calls[i] = combine(own.tokens[i], b.calls[i])
		}
	}
	for i := range partCount {
		sums.tokens[i] = combine(own.tokens[i], b.sums.tokens[i])
		sums.costs[i] = combine(own.costs[i], b.sums.costs[i])
	}
	if !isZero(sums.tokens[prompt]) || !isZero(sums.tokens[completion]) {
		sums.tokens[total] = add(sums.tokens[prompt], sums.tokens[completion])
	}
	sums.errors = b.sums.errors
	if t.Failure&statusAlone == 0 || !b.sameFailure {
		sums.errors = add(own.errors, b.sums.errors)
	}
	return sums, calls
}

// repeats reports whether the model calls below are the call that reports own.
func (b *below) repeats(own *metrics) bool {
	if b.sameResponse {
		return true
	}
	in, out := own.tokens[prompt], own.tokens[completion]
	return b.hasCall && (!isZero(in) || !isZero(out)) && asFloat(in) == asFloat(b.calls[prompt]) && asFloat(out) == asFloat(b.calls[completion])
}

// larger returns the larger of two numbers, of equal ones the first; 0 is no number.
func larger(a, b jsonvalue.Number) jsonvalue.Number {
	if isZero(b) || !isZero(a) && asFloat(a) >= asFloat(b) {
		return a
	}
	return b
}

// orElse returns b, or a if b is 0.
func orElse(a, b jsonvalue.Number) jsonvalue.Number {
	if isZero(b) {
		return a
	}
	return b
}

// rollUp turns the incremental metrics of the spans of one trace into their cumulative
// ones, and returns the totals of the trace and its tops. The spans may
// come in any order: numbers are added in the order of the tree, because sums of
// floating-point numbers depend on it.
func rollUp(edges []trace.Edge, traits []Traits, sums []metrics) (totals metrics, tops []int32) {
	w := walk{
		tree: trace.NewSkeleton(edges, nil), traits: traits, sums: sums, below: make([]below, len(edges)),
		responses: map[uint64]int32{}, failures: map[uint64]int32{},
	}
	var all below
	for _, root := range w.tree.Roots {
		w.enter(root)
		for len(w.path) > 0 {
			w.step(&all)
		}
	}
	totals, _ = cumulative(Traits{}, &metrics{}, &all)
	return totals, w.tree.Roots
}

// walk visits the spans of a trace, each after all spans below it.
type walk struct {
	tree   *trace.Skeleton
	traits []Traits
	sums   []metrics
	below  []below
	// path leads from a root to the span at hand. responses and failures hold the
	// innermost span of the path that names a response or failed with a message.
	path                []visit
	responses, failures map[uint64]int32
}

// visit is a span of the path: next is the first child that was not visited yet;
// response and failure are the spans that it replaced in the maps of the walk, -1 for none.
type visit struct {
	span              int32
	next              int
	response, failure int32
}

func (w *walk) enter(span int32) {
	v := visit{span: span, response: -1, failure: -1}
	t := &w.traits[span]
	if t.Response != 0 {
		if outer, ok := w.responses[t.Response]; ok {
			v.response, w.below[outer].sameResponse = outer, true
		}
		w.responses[t.Response] = span
	}
	if t.Failure != 0 {
		if outer, ok := w.failures[t.Failure.message()]; ok {
			v.failure, w.below[outer].sameFailure = outer, true
		}
		w.failures[t.Failure.message()] = span
	}
	w.path = append(w.path, v)
}

// step visits the next child of the last span of the path, or sums that span if there
// is none; top takes the sums of roots.
func (w *walk) step(top *below) {
	v := &w.path[len(w.path)-1]
	if children := w.tree.Children(v.span); v.next < len(children) {
		v.next++
		w.enter(children[v.next-1])
		return
	}
	i := v.span
	t, b := w.traits[i], &w.below[i]
	sums, calls := cumulative(t, &w.sums[i], b)
	w.sums[i] = sums
	if t.Response != 0 {
		restore(w.responses, t.Response, v.response)
	}
	if t.Failure != 0 {
		restore(w.failures, t.Failure.message(), v.failure)
	}
	w.path = w.path[:len(w.path)-1]
	if n := len(w.path); n > 0 {
		top = &w.below[w.path[n-1].span]
	}
	top.sums.add(&sums)
	top.hasCall = top.hasCall || b.hasCall || t.Type.IsModelCall()
	for k := range calls {
		top.calls[k] = add(top.calls[k], calls[k])
	}
}

// restore puts a span back into a map of the innermost spans, or removes the key for -1.
func restore(innermost map[uint64]int32, key uint64, outer int32) {
	if outer < 0 {
		delete(innermost, key)
		return
	}
	innermost[key] = outer
}
