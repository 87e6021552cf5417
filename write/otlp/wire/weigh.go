package wire

import (
	"strings"

	"colonnade/domain"
)

// MaxSpanWeight bounds the parts of one span: its attributes with their values, its events
// and links, each in units of about 32 bytes of memory after decoding. Two bytes on the wire
// may become hundreds in memory, and a reader of the span needs all of them at once. The
// receiver refuses such a span, and the sink refuses one that is in Kafka already.
const MaxSpanWeight = 8 << 20

// lightBytes is the encoded size in bytes up to which no span exceeds MaxSpanWeight.
const lightBytes = 256 << 10

// The weights of the parts.
const (
	valueWeight     = 1
	entryWeight     = 2
	objectWeight    = 10
	attributeWeight = 6
	segmentWeight   = 12
	eventWeight     = 4
	linkWeight      = 14
)

// tooHeavy reports whether a Span message exceeds MaxSpanWeight.
func tooHeavy(data string) bool {
	if len(data) <= lightBytes {
		return false
	}
	w := scale{left: MaxSpanWeight}
	w.span(data)
	return w.left < 0
}

func errHeavy() error {
	return domain.E(domain.Rejected, "The span holds too many attributes, values, events or links.")
}

// scale subtracts the weight of a message's parts from what remains of MaxSpanWeight.
type scale struct{ left int }

// each subtracts weight for each field with one of the tags, and visits its content.
func (w *scale) each(data string, tag uint64, weight int, into func(string)) {
	m := message{data: data}
	for w.left >= 0 && m.next() {
		if m.tag == tag<<3|lengthWire {
			w.left -= weight
			into(m.text)
		}
	}
}

func (w *scale) span(data string) {
	m := message{data: data}
	for w.left >= 0 && m.next() {
		switch m.tag {
		case 9<<3 | lengthWire:
			w.left -= attributeWeight
			w.attribute(m.text, true, 0)
		case 11<<3 | lengthWire:
			w.left -= eventWeight
			w.object(m.text, 3)
		case 13<<3 | lengthWire:
			w.left -= linkWeight
			w.object(m.text, 4)
		}
	}
}

// object subtracts the weight of the attributes of an event or link.
func (w *scale) object(data string, tag uint64) {
	first := true
	w.each(data, tag, entryWeight, func(text string) {
		if first {
			w.left -= objectWeight
			first = false
		}
		w.attribute(text, false, 0)
	})
}

func (w *scale) attribute(data string, dotted bool, depth int) {
	m := message{data: data}
	for w.left >= 0 && m.next() {
		switch m.tag {
		case 1<<3 | lengthWire:
			if dotted { // its parts become nested objects
				const deepest = 31
				w.left -= segmentWeight * min(strings.Count(m.text, "."), deepest)
			}
		case 2<<3 | lengthWire:
			w.value(m.text, depth)
		}
	}
}

func (w *scale) value(data string, depth int) {
	if depth >= MaxValueDepth {
		return
	}
	m := message{data: data}
	for w.left >= 0 && m.next() {
		switch m.tag {
		case 5<<3 | lengthWire:
			w.left -= valueWeight
			w.each(m.text, 1, valueWeight, func(text string) { w.value(text, depth+1) })
		case 6<<3 | lengthWire:
			w.left -= objectWeight
			w.each(m.text, 1, entryWeight, func(text string) { w.attribute(text, false, depth+1) })
		}
	}
}
