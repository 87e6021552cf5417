package wire

import (
	"math/bits"
	"slices"

	"colonnade/domain/trace"
)

// Part is spans of one trace that become one record. It is valid until the
// batch scans again.
type Part struct {
	Trace trace.TraceID
	// Spans is how many there are.
	Spans int
	// MaxBytes bounds what Encode writes, closely.
	MaxBytes int
	last     int32
}

// Split puts the good spans into parts of about target bytes, one trace each,
// in the order of the body. A single span may exceed the target but not most:
// such a span moves from Spans to Refused. The result is valid until the batch
// scans again.
func (b *Batch) Split(target, most int) []Part {
	b.refuseLarge(most)
	b.parts = b.parts[:0]
	for _, g := range b.groups {
		first := len(b.parts)
		b.parts = b.splitGroup(b.parts, g, min(target, most))
		slices.Reverse(b.parts[first:]) // a group is linked from its end
	}
	return b.parts
}

func (b *Batch) splitGroup(parts []Part, g group, target int) []Part {
	var p Part
	scope := int32(-1)
	for i := g.last; i >= 0; i = b.Spans[i].previous {
		s := &b.Spans[i]
		size := len(s.data) + fieldOverhead
		if s.scope != scope {
			size += b.wrapperBytes(s.scope)
		}
		if p.Spans > 0 && p.MaxBytes+size > target {
			parts = append(parts, p)
			p = Part{}
			size = len(s.data) + fieldOverhead + b.wrapperBytes(s.scope)
		}
		if p.Spans == 0 {
			p.Trace, p.last = s.Trace, i
		}
		p.Spans++
		p.MaxBytes += size
		scope = s.scope
	}
	if p.Spans > 0 {
		parts = append(parts, p)
	}
	return parts
}

// fieldOverhead bounds a tag below 16 and the length of what is no longer than 4 GiB.
const fieldOverhead = 1 + 5

// wrapperBytes bounds what a span needs around it.
func (b *Batch) wrapperBytes(scope int32) int {
	w := b.scopes[scope]
	return len(w.data) + fieldOverhead + len(b.resources[w.parent].data) + fieldOverhead
}

// RowBytes bounds what the good spans come to where each is kept with its resource and scope.
func (b *Batch) RowBytes() (n int) {
	for i := range b.Spans {
		n += len(b.Spans[i].data) + b.wrapperBytes(b.Spans[i].scope)
	}
	return n
}

// refuseLarge refuses the spans that would not fit a record even alone. They
// are rare, so their groups are simply made again.
func (b *Batch) refuseLarge(most int) {
	large := func(s Located) bool { return len(s.data)+fieldOverhead+b.wrapperBytes(s.scope) > most }
	if !slices.ContainsFunc(b.Spans, large) {
		return
	}
	all := b.Spans
	b.Spans = make([]Located, 0, len(all))
	b.groups = b.groups[:0]
	clear(b.byTrace)
	for _, s := range all {
		if large(s) {
			c := checked{Refusal: Refusal{Raw: s.data}}
			c.check(s.data)
			c.Reason = "span is larger than the stream takes"
			b.Refused.Add(c.Refusal)
			continue
		}
		g := b.groupOf(s.Trace)
		s.previous = b.groups[g].last
		b.groups[g].last = int32(len(b.Spans)) //nolint:gosec // at most MaxSpans
		b.Spans = append(b.Spans, s)
	}
}

// Encode writes a part as a TracesData message into buf, which has room for
// p.MaxBytes, and gives the piece of buf that holds it: its spans in the order
// of the body within the wrappers they came in. Each span is copied once.
func (b *Batch) Encode(buf []byte, p Part) []byte {
	// Messages are written from their end, so that a length is known when it is written.
	w := backwards{buf: buf, at: len(buf)}
	scope, resource := int32(-1), int32(-1)
	scopeEnd, resourceEnd := w.at, w.at
	i := p.last
	for range p.Spans {
		s := &b.Spans[i]
		if parent := b.scopes[s.scope].parent; s.scope != scope {
			w.closeScope(b, scope, scopeEnd)
			if parent != resource {
				w.closeResource(b, resource, resourceEnd)
				resource, resourceEnd = parent, w.at
			}
			scope, scopeEnd = s.scope, w.at
		}
		end := w.at
		w.prepend(s.data)
		w.head(2, end)
		i = s.previous
	}
	w.closeScope(b, scope, scopeEnd)
	w.closeResource(b, resource, resourceEnd)
	return buf[w.at:len(buf):len(buf)]
}

// backwards writes a message from its end to its beginning.
type backwards struct {
	buf []byte
	at  int
}

func (w *backwards) prepend(s string) {
	w.at -= len(s)
	copy(w.buf[w.at:], s)
}

// head writes tag and length in front of what was written since end.
func (w *backwards) head(field byte, end int) {
	n := uint(end - w.at)
	size := max((bits.Len(n)+6)/7, 1)
	w.at -= size
	for i := range size {
		c := byte(n >> (7 * i) & 0x7f)
		if i < size-1 {
			c |= 0x80
		}
		w.buf[w.at+i] = c
	}
	w.at--
	w.buf[w.at] = field<<3 | lengthWire
}

// closeScope completes a ScopeSpans message that ends at end.
func (w *backwards) closeScope(b *Batch, scope int32, end int) {
	if scope >= 0 {
		w.prepend(b.scopes[scope].data)
		w.head(2, end)
	}
}

// closeResource completes a ResourceSpans message that ends at end.
func (w *backwards) closeResource(b *Batch, resource int32, end int) {
	if resource >= 0 {
		w.prepend(b.resources[resource].data)
		w.head(1, end)
	}
}
