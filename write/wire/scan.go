package wire

import (
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// MaxSpans bounds the spans of one request. It is far above what exporters
// batch and keeps what a hostile body can make us allocate in proportion to it.
const MaxSpans = 1 << 17

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
	Refused []Refusal

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
	clear(b.Refused)
	clear(b.scopes)
	clear(b.resources)
	clear(b.byTrace)
	b.Spans, b.Refused, b.scopes, b.resources = b.Spans[:0], b.Refused[:0], b.scopes[:0], b.resources[:0]
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
	fault := checkResourceSpans(rest)
	b.resources = append(b.resources, wrapper{data: rest})
	before := len(b.Refused)
	m := message{data: data}
	for m.next() {
		if m.tag != 2<<3|lengthWire {
			continue
		}
		if err := b.scopeSpans(m.text, fault); err != nil {
			return err
		}
	}
	if fault != "" && len(b.Refused) == before {
		b.refuse(Refusal{Reason: fault, Raw: rest}) // no span to name, and still nothing is dropped silently
	}
	return m.err
}

// scopeSpans adds the spans of one scope; fault is what is wrong with their resource.
func (b *Batch) scopeSpans(data, fault string) error {
	rest, err := without(data, 2)
	if err != nil {
		return err
	}
	own := checkScopeSpans(rest)
	if fault == "" {
		fault = own
	}
	b.scopes = append(b.scopes, wrapper{data: rest, parent: int32(len(b.resources) - 1)}) //nolint:gosec // bounded by the body's size
	before := len(b.Refused)
	m := message{data: data}
	for m.next() {
		if m.tag != 2<<3|lengthWire {
			continue
		}
		if len(b.Spans)+len(b.Refused) >= MaxSpans {
			return domain.E(domain.TooLarge, "A request may hold at most %d spans.", MaxSpans)
		}
		b.span(m.text, fault)
	}
	if own != "" && len(b.Refused) == before {
		b.refuse(Refusal{Reason: own, Raw: rest})
	}
	return m.err
}

func (b *Batch) span(data, fault string) {
	s := checked{Refusal: Refusal{Raw: data}}
	reason := s.check(data)
	if fault != "" {
		reason = fault
	}
	if reason != "" {
		s.Reason = reason
		b.refuse(s.Refusal)
		return
	}
	at := int32(len(b.Spans)) //nolint:gosec // at most MaxSpans
	g := b.groupOf(s.Trace)
	b.Spans = append(b.Spans, Located{
		Trace: s.Trace, Span: s.Span, data: data,
		scope: int32(len(b.scopes) - 1), previous: b.groups[g].last, //nolint:gosec // bounded by the body's size
	})
	b.groups[g].last = at
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

func (b *Batch) refuse(r Refusal) {
	const most = 512
	if len(r.Reason) > most {
		r.Reason = r.Reason[:most]
	}
	b.Refused = append(b.Refused, r)
}

// Traces is how many traces the good spans belong to.
func (b *Batch) Traces() int { return len(b.groups) }

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
