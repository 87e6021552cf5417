package wire

import (
	"strings"

	"colonnade/domain"
)

// The wire types of protobuf that OTLP uses. Source: protobuf encoding.
const (
	varintWire  = 0
	fixed64Wire = 1
	lengthWire  = 2
	groupWire   = 3
	endWire     = 4
	fixed32Wire = 5
)

// maxGroupDepth bounds nested groups, which OTLP does not have and a scanner must still skip.
const maxGroupDepth = 32

// message walks the fields of a protobuf message without decoding what is in
// them. The zero value with data set stands before the first field.
type message struct {
	data string
	// tag is field number and wire type as they stand on the wire.
	tag uint64
	// number is the value of a varint or fixed field.
	number uint64
	// text is the content of a length-delimited field.
	text string
	err  error
}

// next reads one field; false at the end and on malformed wire, which err tells apart.
func (m *message) next() bool {
	if m.data == "" || m.err != nil {
		return false
	}
	return m.field(0)
}

func (m *message) field(depth int) bool {
	if !m.varint() {
		return false
	}
	const maxField = 1<<29 - 1
	m.tag = m.number
	if f := m.tag >> 3; f == 0 || f > maxField {
		return m.fail("a field number is out of range")
	}
	switch m.tag & 7 {
	case varintWire:
		return m.varint()
	case fixed64Wire:
		return m.fixed(8)
	case fixed32Wire:
		return m.fixed(4)
	case lengthWire:
		if !m.varint() {
			return false
		}
		if m.number > uint64(len(m.data)) {
			return m.fail("a field is longer than its message")
		}
		m.text, m.data = m.data[:m.number], m.data[m.number:]
		return true
	case groupWire:
		return m.group(depth)
	default:
		return m.fail("an unknown wire type")
	}
}

// group skips to the matching end; nothing in OTLP is a group.
func (m *message) group(depth int) bool {
	if depth >= maxGroupDepth {
		return m.fail("groups nest too deep")
	}
	tag := m.tag
	for {
		rest := m.data
		if !m.varint() {
			return false
		}
		if m.number&7 == endWire {
			if m.number>>3 != tag>>3 {
				return m.fail("a group ends that never began")
			}
			m.tag = tag
			return true
		}
		m.data = rest
		if !m.field(depth + 1) {
			return false
		}
	}
}

func (m *message) varint() bool {
	if len(m.data) > 0 && m.data[0] < 0x80 {
		m.number, m.data = uint64(m.data[0]), m.data[1:]
		return true
	}
	var v uint64
	for i := range min(len(m.data), 10) {
		b := m.data[i]
		if i == 9 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			m.number, m.data = v, m.data[i+1:]
			return true
		}
	}
	return m.fail("a varint is cut or too long")
}

func (m *message) fixed(n int) bool {
	if len(m.data) < n {
		return m.fail("a fixed field is cut")
	}
	var v uint64
	for i := range n {
		v |= uint64(m.data[i]) << (8 * i)
	}
	m.number, m.data = v, m.data[n:]
	return true
}

func (m *message) fail(why string) bool {
	m.err = domain.E(domain.Rejected, "Malformed protobuf: %s.", why)
	return false
}

// Walk calls visit for each span of a TracesData message (or of an export
// request: same layout) with the bytes of its resource, scope and span
// messages. It stops at the first error of visit. Malformed outer wire is
// Rejected, possibly after some spans were visited.
func Walk(data string, visit func(resource, scope, span string) error) error {
	m := message{data: data}
	for m.next() {
		if m.tag != 1<<3|lengthWire {
			continue
		}
		if err := walkResource(m.text, visit); err != nil {
			return err
		}
	}
	return m.err
}

// Count tells how many spans Walk visits. An error is Walk's; then it is those before it.
func Count(data string) (n int, err error) {
	err = Walk(data, func(_, _, _ string) error {
		n++
		return nil
	})
	return n, err
}

func walkResource(data string, visit func(resource, scope, span string) error) error {
	resource, err := only(data, 1)
	if err != nil {
		return err
	}
	m := message{data: data}
	for m.next() {
		if m.tag != 2<<3|lengthWire {
			continue
		}
		scope, err := only(m.text, 1)
		if err != nil {
			return err
		}
		spans := message{data: m.text}
		for spans.next() {
			if spans.tag != 2<<3|lengthWire {
				continue
			}
			if err := visit(resource, scope, spans.text); err != nil {
				return err
			}
		}
		if spans.err != nil {
			return spans.err
		}
	}
	return m.err
}

// only gives the content of a singular message field that may stand anywhere
// in its message. Parts of a repeated one are joined, which is how protobuf
// merges them.
func only(data string, field uint64) (string, error) {
	var text string
	var joined strings.Builder
	m := message{data: data}
	for m.next() {
		switch {
		case m.tag != field<<3|lengthWire || m.text == "":
		case text == "":
			text = m.text
		default:
			if joined.Len() == 0 {
				joined.WriteString(text)
			}
			joined.WriteString(m.text)
		}
	}
	if joined.Len() > 0 {
		text = joined.String()
	}
	return text, m.err
}
