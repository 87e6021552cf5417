package load

import (
	"encoding/binary"
	"encoding/json"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// idDigits is the length of the number in session and user ids.
const idDigits = 10

// template is an encoded trace with the places that differ between traces.
type template struct {
	body     []byte
	spans    []place
	duration int64
}

// place says where a span's ids and times are in the body. Start and end are
// nanoseconds since the trace began; a parent is an index or -1.
type place struct {
	traceID, spanID, parentID int
	startTime, endTime        int
	sessionID, userID         int
	linkTrace, linkSpan       int // 0 without a link
	events                    []int
	parent                    int
	start, end                int64
	digest                    uint64
}

func (p *place) shift(by int) {
	for _, at := range []*int{&p.traceID, &p.spanID, &p.parentID, &p.startTime, &p.endTime, &p.sessionID, &p.userID} {
		*at += by
	}
	if p.linkTrace > 0 {
		p.linkTrace += by
		p.linkSpan += by
	}
	for i := range p.events {
		p.events[i] += by
	}
}

// spanText is what a span says, before it is encoded.
type spanText struct {
	name            string
	spanType        string
	kind            uint64
	parent          int
	start, end      int64
	inputs, outputs any
	parameters      any
	model           string
	prompt, answer  int // tokens
	failure         string
	linkName        string
	references      map[string]string
	application     string
}

// Field numbers of opentelemetry.proto.trace.v1 and common.v1.
const (
	resourceField, scopeSpansField                      = 1, 2
	scopeField, spansField                              = 1, 2
	traceIDField, spanIDField, parentField              = 1, 2, 4
	nameField, kindField, startField, endField          = 5, 6, 7, 8
	attributesField, eventsField, linksField, statusFld = 9, 11, 13, 15
)

// encodeTrace encodes spans as one ResourceSpans field.
func encodeTrace(tag string, spans []spanText) template {
	var t template
	scope := protowire.AppendTag(nil, scopeField, protowire.BytesType)
	scope = protowire.AppendBytes(scope, stringField(stringField(nil, 1, "colonnade.load"), 2, "1.0.0"))
	for i := range spans {
		encoded, p := encodeSpan(tag, &spans[i])
		scope = protowire.AppendTag(scope, spansField, protowire.BytesType)
		scope = protowire.AppendVarint(scope, uint64(len(encoded)))
		p.shift(len(scope))
		scope = append(scope, encoded...)
		t.spans = append(t.spans, p)
		t.duration = max(t.duration, spans[i].end)
	}
	var resource []byte
	resource = attribute(resource, resourceField, "service.name", spans[0].application)
	resource = attribute(resource, resourceField, "deployment.environment.name", "production")
	resource = attribute(resource, resourceField, "telemetry.sdk.language", "python")
	inner := protowire.AppendTag(nil, resourceField, protowire.BytesType)
	inner = protowire.AppendBytes(inner, resource)
	inner = protowire.AppendTag(inner, scopeSpansField, protowire.BytesType)
	inner = protowire.AppendVarint(inner, uint64(len(scope)))
	shift := len(inner)
	inner = append(inner, scope...)

	t.body = protowire.AppendTag(nil, 1, protowire.BytesType)
	t.body = protowire.AppendVarint(t.body, uint64(len(inner)))
	shift += len(t.body)
	t.body = append(t.body, inner...)
	for i := range t.spans {
		t.spans[i].shift(shift)
	}
	return t
}

func encodeSpan(tag string, s *spanText) (b []byte, p place) {
	p = place{parent: s.parent, start: s.start, end: s.end, digest: digest(s)}
	b, p.traceID = hole(b, traceIDField, 16)
	b, p.spanID = hole(b, spanIDField, 8)
	if s.parent >= 0 {
		b, p.parentID = hole(b, parentField, 8)
	}
	b = stringField(b, nameField, s.name)
	b = protowire.AppendTag(b, kindField, protowire.VarintType)
	b = protowire.AppendVarint(b, s.kind)
	b, p.startTime = timeHole(b, startField)
	b, p.endTime = timeHole(b, endField)
	b = attribute(b, attributesField, "ag.type.span", s.spanType)
	b = attribute(b, attributesField, "ag.tags.load", tag)
	b, p.sessionID = idAttribute(b, "ag.session.id", "session-")
	b, p.userID = idAttribute(b, "ag.user.id", "user-")
	b = jsonAttribute(b, "ag.data.inputs", s.inputs)
	b = jsonAttribute(b, "ag.data.outputs", s.outputs)
	b = jsonAttribute(b, "ag.data.parameters", s.parameters)
	if s.model != "" {
		b = attribute(b, attributesField, "ag.meta.response.model", s.model)
		b = attribute(b, attributesField, "ag.meta.system", "openai")
		b = intAttribute(b, "ag.metrics.unit.tokens.prompt", s.prompt)
		b = intAttribute(b, "ag.metrics.unit.tokens.completion", s.answer)
		b = intAttribute(b, "ag.metrics.unit.tokens.total", s.prompt+s.answer)
	}
	for _, key := range []string{"application", "application_variant", "evaluator"} {
		if slug := s.references[key]; slug != "" {
			b = attribute(b, attributesField, "ag.references."+key+".slug", slug)
		}
	}
	if s.failure != "" {
		event, at := timeHole(nil, 1)
		event = stringField(event, 2, "exception")
		event = attribute(event, 3, "exception.type", "TimeoutError")
		event = attribute(event, 3, "exception.message", s.failure)
		b = protowire.AppendTag(b, eventsField, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(event)))
		p.events = []int{len(b) + at}
		b = append(b, event...)
	}
	if s.linkName != "" {
		link, traceAt := hole(nil, 1, 16)
		link, spanAt := hole(link, 2, 8)
		link = attribute(link, 4, "key", s.linkName)
		b = protowire.AppendTag(b, linksField, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(link)))
		p.linkTrace, p.linkSpan = len(b)+traceAt, len(b)+spanAt
		b = append(b, link...)
	}
	status, code := []byte(nil), uint64(1)
	if s.failure != "" {
		status, code = stringField(nil, 2, s.failure), 2
	}
	status = protowire.AppendVarint(protowire.AppendTag(status, 3, protowire.VarintType), code)
	b = protowire.AppendTag(b, statusFld, protowire.BytesType)
	b = protowire.AppendBytes(b, status)
	return b, p
}

func hole(b []byte, field protowire.Number, size int) ([]byte, int) {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size)) //nolint:gosec // a constant
	at := len(b)
	return append(b, make([]byte, size)...), at
}

func timeHole(b []byte, field protowire.Number) ([]byte, int) {
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	at := len(b)
	return protowire.AppendFixed64(b, 0), at
}

func stringField(b []byte, field protowire.Number, s string) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func attribute(b []byte, field protowire.Number, key, value string) []byte {
	return keyValue(b, field, key, stringField(nil, 1, value))
}

func intAttribute(b []byte, key string, value int) []byte {
	v := protowire.AppendTag(nil, 3, protowire.VarintType)
	return keyValue(b, attributesField, key, protowire.AppendVarint(v, uint64(value))) //nolint:gosec // a count
}

func jsonAttribute(b []byte, key string, value any) []byte {
	if value == nil {
		return b
	}
	return attribute(b, attributesField, key, "@ag.type=json:"+string(canonical(value)))
}

// idAttribute leaves the digits of an id to be filled in; they end the value.
func idAttribute(b []byte, key, prefix string) ([]byte, int) {
	b = attribute(b, attributesField, key, prefix+"0000000000")
	return b, len(b) - idDigits
}

func keyValue(b []byte, field protowire.Number, key string, value []byte) []byte {
	kv := stringField(nil, 1, key)
	kv = protowire.AppendTag(kv, 2, protowire.BytesType)
	kv = protowire.AppendBytes(kv, value)
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, kv)
}

// canonical is JSON with sorted keys; a decoded reply encodes to the same bytes.
func canonical(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil // strings, numbers, lists and objects of them always encode
	}
	return raw
}

// digest hashes what a span says, in the words that a reply repeats it.
func digest(s *spanText) uint64 {
	status := "STATUS_CODE_OK"
	if s.failure != "" {
		status = "STATUS_CODE_ERROR"
	}
	return contentDigest(s.name, s.spanType, status, s.inputs, s.outputs, uint64(s.prompt+s.answer)) //nolint:gosec // a count
}

func contentDigest(name, spanType, status string, inputs, outputs any, tokens uint64) uint64 {
	h := xxhash.New()
	for _, part := range [][]byte{[]byte(name), []byte(spanType), []byte(status), canonical(inputs), canonical(outputs)} {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part)))) //nolint:gosec // far below 4 GiB
		_, _ = h.Write(part)                                                     // a hash takes everything
	}
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, tokens))
	return h.Sum64()
}
