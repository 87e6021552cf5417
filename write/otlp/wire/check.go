package wire

import (
	"math"
	"unicode/utf8"

	"colonnade/domain/trace"
)

// The faults a span can have. They are shown to whoever sent it.
const (
	notUTF8     = "text is not UTF-8"
	tooDeep     = "a value nests too deep"
	badTraceID  = "trace_id is not 16 bytes that are not all zero"
	badSpanID   = "span_id is not 8 bytes that are not all zero"
	badParentID = "parent_span_id is not 8 bytes"
	badKind     = "kind is out of range"
	badStatus   = "status code is out of range"
	lateTime    = "a time is after the year 2262"
	tooMuch     = "the span holds too many attributes, values, events or links"
	badLink     = "a link's trace_id is not 16 bytes or its span_id not 8"
)

// checked is a span under examination: what could be read of it.
type checked struct{ Refusal }

// check walks a Span message to its full depth and gives the first fault, or
// "". It allocates nothing for a good span.
func (s *checked) check(data string) (fault string) {
	var traceID, spanID, parentID string
	kind, code := int32(0), int32(0)
	keep := func(reason string) {
		if fault == "" {
			fault = reason
		}
	}
	m := message{data: data}
	for m.next() {
		switch m.tag {
		case 1<<3 | lengthWire:
			traceID = m.text
		case 2<<3 | lengthWire:
			spanID = m.text
		case 3<<3 | lengthWire:
			keep(checkText(m.text))
		case 4<<3 | lengthWire:
			parentID = m.text
		case 5<<3 | lengthWire:
			if s.Name = m.text; !utf8.ValidString(m.text) {
				s.Name = valid(m.text)
				keep("name: " + notUTF8)
			}
		case 6<<3 | varintWire:
			kind = int32(m.number) //nolint:gosec // protobuf truncates an enum to 32 bits
		case 7<<3 | fixed64Wire, 8<<3 | fixed64Wire:
			keep(checkTime(m.number))
		case 9<<3 | lengthWire:
			keep(checkAttribute(m.text, 0))
		case 11<<3 | lengthWire:
			keep(checkEvent(m.text))
		case 13<<3 | lengthWire:
			keep(checkLink(m.text))
		case 15<<3 | lengthWire:
			var reason string
			code, reason = checkStatus(m.text, code)
			keep(reason)
		}
	}
	keep(malformed(&m))
	if len(traceID) == len(s.Trace) {
		copy(s.Trace[:], traceID)
	}
	if len(spanID) == len(s.Span) {
		copy(s.Span[:], spanID)
	}
	switch {
	case fault != "":
	case s.Trace.IsZero():
		fault = badTraceID
	case s.Span.IsZero():
		fault = badSpanID
	case len(parentID) != 0 && len(parentID) != len(trace.SpanID{}):
		fault = badParentID
	case kind < 0 || kind > int32(trace.KindConsumer):
		fault = badKind
	case code < 0 || code > int32(trace.StatusError):
		fault = badStatus
	case tooHeavy(data):
		fault = tooMuch
	}
	return fault
}

func checkText(s string) string {
	if !utf8.ValidString(s) {
		return notUTF8
	}
	return ""
}

func checkTime(nanos uint64) string {
	if nanos > math.MaxInt64 {
		return lateTime
	}
	return ""
}

// malformed is the walker's own complaint, if any.
func malformed(m *message) string {
	if m.err != nil {
		return m.err.Error()
	}
	return ""
}

func checkStatus(data string, code int32) (int32, string) {
	m := message{data: data}
	for m.next() {
		switch m.tag {
		case 2<<3 | lengthWire:
			if fault := checkText(m.text); fault != "" {
				return code, "status message: " + fault
			}
		case 3<<3 | varintWire:
			code = int32(m.number) //nolint:gosec // protobuf truncates an enum to 32 bits
		}
	}
	return code, malformed(&m)
}

func checkEvent(data string) string {
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | fixed64Wire:
			fault = checkTime(m.number)
		case 2<<3 | lengthWire:
			fault = checkText(m.text)
		case 3<<3 | lengthWire:
			fault = checkAttribute(m.text, 0)
		}
		if fault != "" {
			return "event: " + fault
		}
	}
	return malformed(&m)
}

func checkLink(data string) string {
	var traceID, spanID string
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | lengthWire:
			traceID = m.text
		case 2<<3 | lengthWire:
			spanID = m.text
		case 3<<3 | lengthWire:
			fault = checkText(m.text)
		case 4<<3 | lengthWire:
			fault = checkAttribute(m.text, 0)
		}
		if fault != "" {
			return "link: " + fault
		}
	}
	// A link without ids is legal (it carries attributes); half an id is not.
	if len(traceID) != 0 && len(traceID) != len(trace.TraceID{}) || len(spanID) != 0 && len(spanID) != len(trace.SpanID{}) {
		return badLink
	}
	return malformed(&m)
}

// checkAttribute walks a KeyValue message.
func checkAttribute(data string, depth int) string {
	key := ""
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | lengthWire:
			key = m.text
			fault = checkText(m.text)
		case 2<<3 | lengthWire:
			fault = checkValue(m.text, depth)
		}
		if fault != "" {
			return "attribute " + quoteKey(key) + ": " + fault
		}
	}
	return malformed(&m)
}

// checkValue walks an AnyValue message to the depth that Decode reads.
func checkValue(data string, depth int) string {
	if depth >= MaxValueDepth {
		return tooDeep
	}
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | lengthWire:
			fault = checkText(m.text)
		case 5<<3 | lengthWire:
			fault = checkArray(m.text, depth+1)
		case 6<<3 | lengthWire:
			fault = checkList(m.text, depth+1)
		}
		if fault != "" {
			return fault
		}
	}
	return malformed(&m)
}

func checkArray(data string, depth int) string {
	m := message{data: data}
	for m.next() {
		if m.tag == 1<<3|lengthWire {
			if fault := checkValue(m.text, depth); fault != "" {
				return fault
			}
		}
	}
	return malformed(&m)
}

func checkList(data string, depth int) string {
	m := message{data: data}
	for m.next() {
		if m.tag == 1<<3|lengthWire {
			if fault := checkAttribute(m.text, depth); fault != "" {
				return fault
			}
		}
	}
	return malformed(&m)
}

// checkResourceSpans walks a ResourceSpans message without its scopes.
func checkResourceSpans(data string) string {
	return checkWrapper(data, "resource: ", checkResource)
}

// checkScopeSpans walks a ScopeSpans message without its spans.
func checkScopeSpans(data string) string {
	return checkWrapper(data, "scope: ", checkScope)
}

func checkWrapper(data, name string, check func(string) string) string {
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | lengthWire:
			fault = check(m.text)
		case 3<<3 | lengthWire:
			fault = checkText(m.text)
		}
		if fault != "" {
			return name + fault
		}
	}
	return malformed(&m)
}

func checkResource(data string) string {
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | lengthWire:
			fault = checkAttribute(m.text, 0)
		case 3<<3 | lengthWire:
			fault = checkEntity(m.text)
		}
		if fault != "" {
			return fault
		}
	}
	return malformed(&m)
}

// checkEntity walks an EntityRef message: all its fields are text.
func checkEntity(data string) string {
	m := message{data: data}
	for m.next() {
		if f := m.tag >> 3; m.tag&7 == lengthWire && 1 <= f && f <= 4 {
			if fault := checkText(m.text); fault != "" {
				return fault
			}
		}
	}
	return malformed(&m)
}

func checkScope(data string) string {
	m := message{data: data}
	for m.next() {
		fault := ""
		switch m.tag {
		case 1<<3 | lengthWire, 2<<3 | lengthWire:
			fault = checkText(m.text)
		case 3<<3 | lengthWire:
			fault = checkAttribute(m.text, 0)
		}
		if fault != "" {
			return fault
		}
	}
	return malformed(&m)
}
