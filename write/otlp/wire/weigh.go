package wire

import (
	"strings"

	"colonnade/domain"
)

// MaxSpanWeight bounds the parts of one span: its attributes, the values in
// them, its events and links, each by about how many times 32 bytes it takes once
// it is decoded, placed and written. A part of two bytes may become hundreds, and
// whoever reads the span back must have them all at a time: it is refused at the
// door, and where it is in the log already, by who decodes it.
const MaxSpanWeight = 8 << 20

// lightBytes is the size up to which no span weighs too much.
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

// tooHeavy tells whether a Span message has more parts than one span may.
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

// scale weighs a message, until nothing is left.
type scale struct{ left int }

// each takes weight for each field of a message with one of the tags and goes on in it.
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

// object weighs the attributes of an event or link.
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
			if dotted { // its parts become objects, down to a depth
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
