package wire

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"

	"colonnade/domain"
)

// MaxValueDepth bounds how deep arrays and lists of an attribute value nest.
// A deeper span is refused: readers could not parse what was stored of it. It
// is half of trace.MaxDepth, since dotted keys nest too and JSON text within
// values is decoded.
const MaxValueDepth = 128

// Attribute is one key with its decoded value, as sent: the key is not split,
// the value is nil, bool, int64, float64 (finite), string, []any or
// map[string]any.
type Attribute struct {
	Key   string
	Value any
}

// Span is one OTLP span as sent, nothing interpreted. It is meant to be
// decoded into again and again: Decode reuses the slices, while the values in
// them are always new and never change afterwards. Source: OTLP trace.proto.
type Span struct {
	// TraceID, SpanID and ParentID are the raw bytes, of any length.
	TraceID, SpanID, ParentID string
	Name                      string
	Kind                      int32
	// Start and End are Unix nanoseconds; zero means absent.
	Start, End    uint64
	StatusCode    int32
	StatusMessage string
	// Attributes are in the order of the wire, keys possibly repeated.
	Attributes []Attribute
	Events     []Event
	Links      []Link
}

// Event is something that happened during the span. Attributes is nil where
// there are none; of a repeated key the last value stands.
type Event struct {
	Time       uint64
	Name       string
	Attributes map[string]any
}

// Link points at another span; its ids are raw bytes of any length.
type Link struct {
	TraceID, SpanID string
	Attributes      map[string]any
}

// Scope is the instrumentation library of a group of spans.
type Scope struct {
	Name, Version string
	Attributes    []Attribute
}

// Decode reads the bytes of one Span message. All strings of the result share
// the memory of data, so one conversion of a record's value to a string is the
// only copy of its text. Bytes values become base64 text; NaN and the
// infinities become "NaN", "Infinity" and "-Infinity", which JSON can say;
// bytes that are not UTF-8 become U+FFFD. Malformed wire, and what exceeds
// MaxSpanWeight, is Rejected.
func (s *Span) Decode(data string) error {
	s.Reset()
	if tooHeavy(data) {
		return errHeavy()
	}
	m := message{data: data}
	for m.next() {
		var err error
		switch m.tag {
		case 1<<3 | lengthWire:
			s.TraceID = m.text
		case 2<<3 | lengthWire:
			s.SpanID = m.text
		case 4<<3 | lengthWire:
			s.ParentID = m.text
		case 5<<3 | lengthWire:
			s.Name = valid(m.text)
		case 6<<3 | varintWire:
			s.Kind = int32(m.number) //nolint:gosec // protobuf truncates an enum to 32 bits
		case 7<<3 | fixed64Wire:
			s.Start = m.number
		case 8<<3 | fixed64Wire:
			s.End = m.number
		case 9<<3 | lengthWire:
			s.Attributes, err = appendAttribute(s.Attributes, m.text, 0)
		case 11<<3 | lengthWire:
			s.Events, err = appendEvent(s.Events, m.text)
		case 13<<3 | lengthWire:
			s.Links, err = appendLink(s.Links, m.text)
		case 15<<3 | lengthWire:
			err = s.decodeStatus(m.text)
		}
		if err != nil {
			return err
		}
	}
	return m.err
}

// Reset empties the span and lets go of the memory that its values hold.
func (s *Span) Reset() {
	clear(s.Attributes)
	clear(s.Events)
	clear(s.Links)
	*s = Span{Attributes: s.Attributes[:0], Events: s.Events[:0], Links: s.Links[:0]}
}

func (s *Span) decodeStatus(data string) error {
	m := message{data: data}
	for m.next() {
		switch m.tag {
		case 2<<3 | lengthWire:
			s.StatusMessage = valid(m.text)
		case 3<<3 | varintWire:
			s.StatusCode = int32(m.number) //nolint:gosec // protobuf truncates an enum to 32 bits
		}
	}
	return m.err
}

func appendEvent(events []Event, data string) ([]Event, error) {
	var e Event
	m := message{data: data}
	for m.next() {
		var err error
		switch m.tag {
		case 1<<3 | fixed64Wire:
			e.Time = m.number
		case 2<<3 | lengthWire:
			e.Name = valid(m.text)
		case 3<<3 | lengthWire:
			e.Attributes, err = putAttribute(e.Attributes, m.text, 0)
		}
		if err != nil {
			return events, err
		}
	}
	return append(events, e), m.err
}

func appendLink(links []Link, data string) ([]Link, error) {
	var l Link
	m := message{data: data}
	for m.next() {
		var err error
		switch m.tag {
		case 1<<3 | lengthWire:
			l.TraceID = m.text
		case 2<<3 | lengthWire:
			l.SpanID = m.text
		case 4<<3 | lengthWire:
			l.Attributes, err = putAttribute(l.Attributes, m.text, 0)
		}
		if err != nil {
			return links, err
		}
	}
	return append(links, l), m.err
}

// AppendResource reads the bytes of a Resource message and appends its attributes.
func AppendResource(attributes []Attribute, data string) ([]Attribute, error) {
	m := message{data: data}
	for m.next() {
		if m.tag != 1<<3|lengthWire {
			continue
		}
		var err error
		if attributes, err = appendAttribute(attributes, m.text, 0); err != nil {
			return attributes, err
		}
	}
	return attributes, m.err
}

// Decode reads the bytes of an InstrumentationScope message, as Span.Decode does.
func (s *Scope) Decode(data string) error {
	clear(s.Attributes)
	*s = Scope{Attributes: s.Attributes[:0]}
	m := message{data: data}
	for m.next() {
		var err error
		switch m.tag {
		case 1<<3 | lengthWire:
			s.Name = valid(m.text)
		case 2<<3 | lengthWire:
			s.Version = valid(m.text)
		case 3<<3 | lengthWire:
			s.Attributes, err = appendAttribute(s.Attributes, m.text, 0)
		}
		if err != nil {
			return err
		}
	}
	return m.err
}

// appendAttribute reads a KeyValue message. An absent value is null.
func appendAttribute(to []Attribute, data string, depth int) ([]Attribute, error) {
	var a Attribute
	m := message{data: data}
	for m.next() {
		switch m.tag {
		case 1<<3 | lengthWire:
			a.Key = valid(m.text)
		case 2<<3 | lengthWire:
			value, err := decodeValue(a.Value, m.text, depth)
			if err != nil {
				return to, err
			}
			a.Value = value
		}
	}
	return append(to, a), m.err
}

func putAttribute(to map[string]any, data string, depth int) (map[string]any, error) {
	var one [1]Attribute
	a, err := appendAttribute(one[:0], data, depth)
	if err != nil {
		return to, err
	}
	if to == nil {
		to = make(map[string]any, 4)
	}
	to[a[0].Key] = a[0].Value
	return to, nil
}

// decodeValue reads an AnyValue message. earlier is what the same field held
// before: protobuf merges a message that is sent in parts.
func decodeValue(earlier any, data string, depth int) (any, error) {
	if depth >= MaxValueDepth {
		return nil, domain.E(domain.Rejected, "An attribute value nests deeper than %d.", MaxValueDepth)
	}
	value := earlier
	m := message{data: data}
	for m.next() {
		var err error
		switch m.tag {
		case 1<<3 | lengthWire:
			value = valid(m.text)
		case 2<<3 | varintWire:
			value = m.number != 0
		case 3<<3 | varintWire:
			value = int64(m.number) //nolint:gosec // two's complement is protobuf's int64
		case 4<<3 | fixed64Wire:
			value = float(math.Float64frombits(m.number))
		case 5<<3 | lengthWire:
			list, _ := value.([]any)
			value, err = appendValues(list, m.text, depth+1)
		case 6<<3 | lengthWire:
			object, _ := value.(map[string]any)
			value, err = putAttributes(object, m.text, depth+1)
		case 7<<3 | lengthWire:
			value = base64.StdEncoding.EncodeToString([]byte(m.text))
		}
		if err != nil {
			return nil, err
		}
	}
	return value, m.err
}

func appendValues(list []any, data string, depth int) (any, error) {
	if list == nil {
		list = make([]any, 0, countFields(data))
	}
	m := message{data: data}
	for m.next() {
		if m.tag != 1<<3|lengthWire {
			continue
		}
		v, err := decodeValue(nil, m.text, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, m.err
}

func putAttributes(object map[string]any, data string, depth int) (any, error) {
	if object == nil {
		object = make(map[string]any, countFields(data))
	}
	m := message{data: data}
	for m.next() {
		if m.tag != 1<<3|lengthWire {
			continue
		}
		var err error
		if object, err = putAttribute(object, m.text, depth); err != nil {
			return nil, err
		}
	}
	return object, m.err
}

// countFields sizes a container before it is filled, so that it is allocated
// once; bounded, because the count comes from outside.
func countFields(data string) int {
	const most = 64
	m := message{data: data}
	n := 0
	for n < most && m.next() {
		n++
	}
	return n
}

func float(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return f
	}
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
