package wire

import (
	"cmp"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// MaxSpans bounds the spans of one request, the bad ones and what else is bad
// included. It is far above what exporters batch, and with MaxRefused it bounds
// what a hostile body can make us allocate: a good span has more bytes than what
// is kept of it, and resources and scopes are kept only with a good span.
const MaxSpans = 1 << 17

// MaxRefused is how many refused spans of one body are kept one by one; the
// others are counted. A bad span may have two bytes.
const MaxRefused = 1000

// Refusal is a span that was found bad. The ids are zero and the name empty
// where they could not be read.
type Refusal struct {
	Trace  trace.TraceID
	Span   trace.SpanID
	Name   string
	Reason string
	// Raw are the span's bytes as they came; it shares the body's memory.
	Raw string
}

// Refusals are the refused spans of one body.
type Refusals struct {
	// First are those that came first, at most MaxRefused.
	First []Refusal
	// Count is how many there are.
	Count int
}

// Add adds one.
func (r *Refusals) Add(f Refusal) {
	const most = 512
	r.Count++
	if len(r.First) >= MaxRefused {
		return
	}
	if len(f.Reason) > most {
		f.Reason = f.Reason[:most]
	}
	r.First = append(r.First, f)
}

// Located is a good span: where it stands in the body.
type Located struct {
	Trace trace.TraceID
	Span  trace.SpanID
	// data is the Span message, scope its ScopeSpans message, previous the span
	// of the same trace before it (-1: none).
	data            string
	scope, previous int32
}

// Batch is a scanned request body: its good spans, its bad ones, and the good
// ones by trace. It is meant to be used again and again; everything in it shares
// the memory of the last scanned body. It is not safe for concurrent use.
type Batch struct {
	// Spans are the good spans in the order of the body.
	Spans []Located
	// Refused are the bad ones.
	Refused Refusals

	scopes    []wrapper
	resources []wrapper
	groups    []group
	byTrace   map[trace.TraceID]int32
	parts     []Part
}

// wrapper is a ResourceSpans or ScopeSpans message without its children.
type wrapper struct {
	data   string
	parent int32
}

// pending is a wrapper that is kept once it has a good span; at is where, -1 before.
type pending struct {
	data, fault string
	at          int32
}

// group is the spans of one trace, linked from the last to the first.
type group struct {
	last int32
}

// Scan slices the spans out of an ExportTraceServiceRequest or TracesData
// message (same layout) without decoding them, and looks at every field on the
// way down: what proto.Unmarshal would refuse, and what no reader could use, is
// refused here, each span alone. An error means that the body as a whole is
// unusable (Rejected) or has more than MaxSpans spans (TooLarge).
func (b *Batch) Scan(body string) error {
	b.reset()
	m := message{data: body}
	for m.next() {
		if m.tag != 1<<3|lengthWire {
			continue
		}
		if err := b.resourceSpans(m.text); err != nil {
			return err
		}
	}
	return m.err
}

func (b *Batch) reset() {
	clear(b.Spans)
	clear(b.Refused.First)
	clear(b.scopes)
	clear(b.resources)
	clear(b.byTrace)
	b.Spans, b.Refused, b.scopes, b.resources = b.Spans[:0], Refusals{First: b.Refused.First[:0]}, b.scopes[:0], b.resources[:0]
	b.groups, b.parts = b.groups[:0], b.parts[:0]
	if b.byTrace == nil {
		b.byTrace = make(map[trace.TraceID]int32)
	}
}

func (b *Batch) resourceSpans(data string) error {
	rest, err := without(data, 2)
	if err != nil {
		return err
	}
	resource := pending{data: rest, fault: checkResourceSpans(rest), at: -1}
	before := b.Refused.Count
	m := message{data: data}
	for m.next() {
		if m.tag != 2<<3|lengthWire {
			continue
		}
		if err := b.scopeSpans(m.text, &resource); err != nil {
			return err
		}
	}
	if err := b.unnamed(&resource, before); err != nil {
		return err
	}
	return m.err
}

// scopeSpans adds the spans of one scope.
func (b *Batch) scopeSpans(data string, resource *pending) error {
	rest, err := without(data, 2)
	if err != nil {
		return err
	}
	scope := pending{data: rest, fault: checkScopeSpans(rest), at: -1}
	before := b.Refused.Count
	m := message{data: data}
	for m.next() {
		if m.tag != 2<<3|lengthWire {
			continue
		}
		if err := b.room(); err != nil {
			return err
		}
		b.span(m.text, &scope, resource)
	}
	if err := b.unnamed(&scope, before); err != nil {
		return err
	}
	return m.err
}

// unnamed refuses a bad wrapper that had no span to name: nothing is dropped
// silently. before is how many were refused when it began.
func (b *Batch) unnamed(w *pending, before int) error {
	if w.fault == "" || b.Refused.Count > before {
		return nil
	}
	if err := b.room(); err != nil {
		return err
	}
	b.Refused.Add(Refusal{Reason: w.fault, Raw: w.data})
	return nil
}

// room tells whether there may be one more.
func (b *Batch) room() error {
	if len(b.Spans)+b.Refused.Count >= MaxSpans {
		return domain.E(domain.TooLarge, "A request may hold at most %d spans.", MaxSpans)
	}
	return nil
}

func (b *Batch) span(data string, scope, resource *pending) {
	s := checked{Refusal: Refusal{Raw: data}}
	reason := cmp.Or(resource.fault, scope.fault)
	if fault := s.check(data); reason == "" {
		reason = fault
	}
	if reason != "" {
		s.Reason = reason
		b.Refused.Add(s.Refusal)
		return
	}
	b.keep(scope, resource)
	at := int32(len(b.Spans)) //nolint:gosec // at most MaxSpans
	g := b.groupOf(s.Trace)
	b.Spans = append(b.Spans, Located{
		Trace: s.Trace, Span: s.Span, data: data,
		scope: scope.at, previous: b.groups[g].last,
	})
	b.groups[g].last = at
}

// keep keeps the wrappers of a good span, each once.
func (b *Batch) keep(scope, resource *pending) {
	if resource.at < 0 {
		resource.at = int32(len(b.resources)) //nolint:gosec // at most MaxSpans
		b.resources = append(b.resources, wrapper{data: resource.data})
	}
	if scope.at < 0 {
		scope.at = int32(len(b.scopes)) //nolint:gosec // at most MaxSpans
		b.scopes = append(b.scopes, wrapper{data: scope.data, parent: resource.at})
	}
}

// groupOf gives the group of a trace. Most spans follow one of their own trace.
func (b *Batch) groupOf(id trace.TraceID) int32 {
	if n := len(b.Spans); n > 0 && b.Spans[n-1].Trace == id {
		return b.byTrace[id]
	}
	g, ok := b.byTrace[id]
	if !ok {
		g = int32(len(b.groups)) //nolint:gosec // at most MaxSpans
		b.groups = append(b.groups, group{last: -1})
		b.byTrace[id] = g
	}
	return g
}

// without gives the fields of a message other than one: the wrapper without its
// children. It copies only where they stand apart.
func without(data string, field uint64) (string, error) {
	m := message{data: data}
	var joined []byte
	start, end := 0, 0 // the run of kept bytes that is not in joined
	for at := 0; m.next(); {
		next := len(data) - len(m.data)
		if m.tag != field<<3|lengthWire {
			if at != end {
				joined = append(joined, data[start:end]...)
				start = at
			}
			end = next
		}
		at = next
	}
	if joined == nil {
		return data[start:end], m.err
	}
	return string(append(joined, data[start:end]...)), m.err
}

// quoteKey shows an attribute's key in a reason.
func quoteKey(key string) string {
	const most = 64
	if len(key) > most {
		key = key[:most]
	}
	return strconv.Quote(key)
}
