package sink

import (
	"encoding/binary"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// The bounds of a plausible start beside the time of receipt; a span beyond
// them is kept in the partition of 1970, so that lying clocks make no
// partitions. Source: design §4.
const (
	maxPast   = 400 * 24 * time.Hour
	maxFuture = 7 * 24 * time.Hour
)

// previewRunes is the length of a preview. Source: design §4.
const previewRunes = 200

// The texts of a span, in the order in which they are rendered and of their
// columns in span_payloads.
const (
	textInputs = iota
	textOutputs
	textParameters
	textInternals
	textAttributes
	textEvents
	textLinks
	textResource
	textScope
	texts
)

// document is one span rendered: the columns of span_payloads and a hash of
// all that its sender said. It is reused from span to span.
type document struct {
	buf  []byte
	ends [texts]int
	hash uint64

	// Spans of one record share their resource: it is rendered once.
	resource     map[string]any
	resourceText []byte
}

// text is one rendered member; empty means that the span has none.
func (d *document) text(member int) []byte {
	start := 0
	if member > 0 {
		start = d.ends[member-1]
	}
	return d.buf[start:d.ends[member]]
}

// render renders a span. The hash leaves out ag.type.trace, which other spans
// of the trace may decide, and what the house itself adds (times of receipt,
// users, versions): a retry has the hash of the first attempt.
func (d *document) render(s *trace.Span) {
	d.buf = d.buf[:0]
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	data, _ := ag[semconv.Data].(map[string]any)
	for member := textInputs; member <= textInternals; member++ {
		if value, ok := data[dataMember(member)]; ok {
			d.buf = trace.AppendJSON(d.buf, value)
		}
		d.ends[member] = len(d.buf)
	}
	typeStart, typeEnd := d.attributes(s.Attributes, ag, data)
	d.ends[textAttributes] = len(d.buf)
	if len(s.Events) > 0 {
		d.buf = trace.AppendEvents(d.buf, s.Events)
	}
	d.ends[textEvents] = len(d.buf)
	if len(s.Links) > 0 {
		d.buf = trace.AppendLinks(d.buf, s.Links)
	}
	d.ends[textLinks] = len(d.buf)
	d.buf = append(d.buf, d.resourceOf(s.Resource)...)
	d.ends[textResource] = len(d.buf)
	if s.Scope != nil {
		d.buf = trace.AppendScope(d.buf, s.Scope)
	}
	d.ends[textScope] = len(d.buf)
	d.hash = d.sum(s, typeStart, typeEnd)
}

func dataMember(member int) string {
	switch member {
	case textInputs:
		return semconv.Inputs
	case textOutputs:
		return semconv.Outputs
	case textParameters:
		return semconv.Parameters
	default:
		return semconv.Internals
	}
}

func (d *document) resourceOf(resource map[string]any) []byte {
	if resource == nil {
		return nil
	}
	if reflect.ValueOf(resource).Pointer() != reflect.ValueOf(d.resource).Pointer() {
		d.resource = resource // held, so that its address stays its name
		d.resourceText = trace.AppendJSON(d.resourceText[:0], resource)
	}
	return d.resourceText
}

// attributes renders the tree without the four members that have columns of
// their own, and tells where ag.type stands in it.
func (d *document) attributes(tree, ag, data map[string]any) (typeStart, typeEnd int) {
	if ag == nil {
		d.buf = trace.AppendJSON(d.buf, tree)
		return 0, 0
	}
	d.object(tree, func(key string, value any) {
		if key != semconv.Root {
			d.buf = trace.AppendJSON(d.buf, value)
			return
		}
		d.object(ag, func(key string, value any) {
			switch key {
			case semconv.Data:
				if data == nil {
					d.buf = trace.AppendJSON(d.buf, value)
					return
				}
				d.rest(data)
			case semconv.Type:
				typeStart = len(d.buf)
				d.buf = trace.AppendJSON(d.buf, value)
				typeEnd = len(d.buf)
			default:
				d.buf = trace.AppendJSON(d.buf, value)
			}
		})
	})
	return typeStart, typeEnd
}

// object renders an object, its values by way of each.
func (d *document) object(object map[string]any, each func(key string, value any)) {
	d.buf = append(d.buf, '{')
	first := true
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !first {
			d.buf = append(d.buf, ',')
		}
		first = false
		d.buf = trace.AppendString(d.buf, key)
		d.buf = append(d.buf, ':')
		each(key, object[key])
	}
	d.buf = append(d.buf, '}')
}

// rest renders ag.data without the members that have columns of their own; the
// schema leaves it none, but a tree that was not fitted loses nothing here.
func (d *document) rest(data map[string]any) {
	left := make(map[string]any, len(data))
	for key, value := range data {
		switch key {
		case semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals:
		default:
			left[key] = value
		}
	}
	d.buf = trace.AppendJSON(d.buf, left)
}

// sum hashes the content. Every text is preceded by its length, so that no two
// contents run together.
func (d *document) sum(s *trace.Span, typeStart, typeEnd int) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	var few [96]byte
	head := append(few[:0], s.ParentID[:]...)
	head = binary.LittleEndian.AppendUint64(head, uint64(s.Start)) //nolint:gosec // the bits are the value
	head = binary.LittleEndian.AppendUint64(head, uint64(s.End))   //nolint:gosec // the bits are the value
	head = append(head, byte(s.SpanType), byte(s.Kind), byte(s.Status))
	head = binary.AppendUvarint(head, uint64(len(s.Name)))
	head = binary.AppendUvarint(head, uint64(len(s.StatusMessage)))
	for member := range d.ends {
		length := len(d.text(member))
		if member == textAttributes {
			length -= typeEnd - typeStart
		}
		head = binary.AppendUvarint(head, uint64(length)) //nolint:gosec // a length is never negative
	}
	_, _ = digest.Write(head) // a digest never fails
	_, _ = digest.WriteString(s.Name)
	_, _ = digest.WriteString(s.StatusMessage)
	_, _ = digest.Write(d.buf[:typeStart])
	_, _ = digest.Write(d.buf[typeEnd:])
	return digest.Sum64()
}

// preview is the beginning of a member as a person would read it: text as it
// is, anything else as JSON.
func preview(value any, rendered []byte) []byte {
	if s, ok := value.(string); ok {
		return []byte(cut(s))
	}
	return []byte(cut(string(rendered[:min(len(rendered), previewRunes*utf8.UTFMax)])))
}

// cut gives the first previewRunes characters.
func cut(s string) string {
	if len(s) <= previewRunes {
		return s
	}
	n := 0
	for i := range s {
		if n == previewRunes {
			return s[:i]
		}
		n++
	}
	return s
}

// tie orders spans of equal start. Source: design §4.
func tie(s *trace.Span) uint64 {
	var b [24]byte
	copy(b[:], s.TraceID[:])
	copy(b[16:], s.SpanID[:])
	return xxhash.Sum64(b[:])
}

const (
	secondsPerDay = 24 * 60 * 60
	// mondayShift makes Monday the first day: 1970-01-01 was a Thursday.
	mondayShift = 3
)

// weekOf is the partition of a span as days since 1970: the Monday of its
// start, or 0 where the start is implausible.
func weekOf(start int64, receivedAt time.Time) uint16 {
	received := receivedAt.UnixNano()
	if start < received-int64(maxPast) || start > received+int64(maxFuture) || start < 0 {
		return 0
	}
	days := start / int64(time.Second) / secondsPerDay
	monday := days - (days+mondayShift)%7
	if monday < 0 || monday > math.MaxUint16 {
		return 0
	}
	return uint16(monday)
}

// split gives a time as microseconds and the nanoseconds beyond them.
func split(nano int64) (micros int64, rest uint16) {
	nano = max(nano, 0) // the columns begin with 1970
	return nano / 1000, uint16(nano % 1000)
}

// model and provider are found where the conventions of contract §1.3 leave them.
func model(s *trace.Span) string {
	return first(s.Attributes,
		[]string{semconv.Root, semconv.Meta, "response", "model"},
		[]string{semconv.Root, semconv.Meta, "request", "model"},
		[]string{semconv.Root, semconv.Data, semconv.Parameters, "model"},
		[]string{semconv.Root, semconv.Data, semconv.Parameters, "prompt", "llm_config", "model"},
		[]string{"gen_ai", "response", "model"},
		[]string{"gen_ai", "request", "model"},
	)
}

func provider(s *trace.Span) string {
	return first(s.Attributes,
		[]string{semconv.Root, semconv.Meta, "provider", "name"},
		[]string{semconv.Root, semconv.Meta, "provider"},
		[]string{semconv.Root, semconv.Meta, "system"},
		[]string{"gen_ai", "provider", "name"},
		[]string{"gen_ai", "system"},
	)
}

func service(s *trace.Span) string {
	if s.Resource == nil {
		return ""
	}
	if name, ok := s.Resource["service.name"].(string); ok {
		return name
	}
	return first(s.Resource, []string{"service", "name"})
}

// first gives the first path that leads to a text.
func first(tree map[string]any, paths ...[]string) string {
	for _, path := range paths {
		if value, ok := trace.Lookup(tree, path); ok {
			if text, ok := value.(string); ok && text != "" {
				return text
			}
		}
	}
	return ""
}

// traceKey names a trace in the store.
type traceKey struct {
	project domain.ProjectID
	trace   trace.TraceID
}
