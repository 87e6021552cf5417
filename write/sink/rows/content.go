package rows

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
)

// The payloads of a span, in the order in which they are hashed.
const (
	payloadInputs = iota
	payloadOutputs
	payloadParameters
	payloadInternals
	payloadAttributes
	payloadEvents
	payloadLinks
	payloadResource
	payloadScope
	payloadCount
)

// Content is one span rendered: its payloads, its flattened attributes, and the hash
// of everything that its client sent. One walk over the attributes produces all
// three; the result equals that of jsonvalue.Append and trace.Flatten, which a test
// verifies. A Content is reused from span to span.
type Content struct {
	payloads   [payloadCount][]byte
	attributes []attribute
	Hash       uint64

	paths []byte // of the attributes
	path  []byte // of the current value
	pairs []pair // of the objects being walked, the outermost first
	// typeStart and typeEnd are the position of ag.type in the payload of attributes.
	typeStart, typeEnd int

	// Spans of one record share their resource, which is rendered once.
	resource     map[string]any
	resourceText []byte
}

// attribute is one attribute value as trace.Leaves has it.
type attribute struct {
	kind       uint8
	start, end int // in paths
	text       string
	number     float64 // 1 for true
}

type pair struct {
	key   string
	value any
}

// location is the part of the attributes in which an object is.
type location uint8

const (
	elsewhere location = iota
	atRoot
	atAg
	atData
)

func (d *Content) pathOf(l *attribute) []byte { return d.paths[l.start:l.end] }

// size returns the length of all payloads.
func (d *Content) size() (n int) {
	for _, text := range d.payloads {
		n += len(text)
	}
	return n
}

// Render renders a span. The hash leaves out ag.type, which other spans of the
// trace may decide (the type that this span declares is hashed instead), and what the
// server adds: times of receipt, users, versions. So a client's retry has the hash of
// the first attempt.
func (d *Content) Render(s *trace.Span, declared trace.Type) {
	for i := range d.payloads {
		d.payloads[i] = d.payloads[i][:0]
	}
	d.attributes, d.paths, d.path, d.pairs = d.attributes[:0], d.paths[:0], d.path[:0], d.pairs[:0]
	d.typeStart, d.typeEnd = 0, 0
	d.payloads[payloadAttributes] = d.object(d.payloads[payloadAttributes], s.Attributes, atRoot, true)
	if len(s.Events) > 0 {
		d.payloads[payloadEvents] = tracejson.AppendEvents(d.payloads[payloadEvents], s.Events)
	}
	if len(s.Links) > 0 {
		d.payloads[payloadLinks] = tracejson.AppendLinks(d.payloads[payloadLinks], s.Links)
	}
	d.payloads[payloadResource] = append(d.payloads[payloadResource], d.resourceOf(s.Resource)...)
	if s.Scope != nil {
		d.payloads[payloadScope] = tracejson.AppendScope(d.payloads[payloadScope], s.Scope)
	}
	d.Hash = d.digest(s, declared)
}

// Release drops the references to the last span: the text of an attribute value
// shares the memory of all records that were fetched with its own.
func (d *Content) Release() {
	clear(d.attributes[:cap(d.attributes)])
	clear(d.pairs[:cap(d.pairs)])
	d.resource = nil
}

func (d *Content) resourceOf(resource map[string]any) []byte {
	if resource == nil {
		return nil
	}
	if reflect.ValueOf(resource).Pointer() != reflect.ValueOf(d.resource).Pointer() {
		d.resource = resource // keeps the map alive, because its address is compared
		d.resourceText = jsonvalue.Append(d.resourceText[:0], resource)
	}
	return d.resourceText
}

// object renders an object. flatten reports that its members are flattened too;
// d.path is then the object's path.
func (d *Content) object(dst []byte, object map[string]any, at location, flatten bool) []byte {
	from := len(d.pairs)
	for k, v := range object {
		d.pairs = append(d.pairs, pair{k, v})
	}
	to := len(d.pairs)
	slices.SortFunc(d.pairs[from:to], func(a, b pair) int { return strings.Compare(a.key, b.key) })
	base := len(d.path)
	dst = append(dst, '{')
	open := len(dst)
	for i := from; i < to; i++ {
		p := d.pairs[i] // a copy: the slice grows below
		if flatten {
			d.path = appendKey(d.path[:base], at == atRoot, p.key)
		}
		if at == atData {
			if member, ok := dataMember(p.key); ok {
				d.payloads[member] = d.value(d.payloads[member], p.value, elsewhere, flatten)
				continue
			}
		}
		if len(dst) > open {
			dst = append(dst, ',')
		}
		dst = jsonvalue.AppendString(dst, p.key)
		dst = append(dst, ':')
		start := len(dst)
		dst = d.value(dst, p.value, below(at, p.key), flatten)
		if at == atAg && p.key == semconv.Type {
			d.typeStart, d.typeEnd = start, len(dst)
		}
	}
	d.pairs, d.path = d.pairs[:from], d.path[:base]
	return append(dst, '}')
}

// below returns the location of a key's value.
func below(at location, key string) location {
	switch {
	case at == atRoot && key == semconv.Root:
		return atAg
	case at == atAg && key == semconv.Data:
		return atData
	default:
		return elsewhere
	}
}

// dataMember returns the payload that a member of ag.data has, if it has one.
func dataMember(key string) (member int, ok bool) {
	switch key {
	case semconv.Inputs:
		return payloadInputs, true
	case semconv.Outputs:
		return payloadOutputs, true
	case semconv.Parameters:
		return payloadParameters, true
	case semconv.Internals:
		return payloadInternals, true
	default:
		return 0, false
	}
}

// value renders a value; trace.Flatten's rules decide which values are attributes.
func (d *Content) value(dst []byte, value any, at location, flatten bool) []byte {
	switch v := value.(type) {
	case map[string]any:
		if flatten && len(v) == 0 {
			d.addAttribute(KindUnindexed, "", 0)
		}
		return d.object(dst, v, at, flatten)
	case []any:
		return d.array(dst, v, flatten)
	case string:
		if flatten {
			d.text(v)
		}
		return jsonvalue.AppendString(dst, v)
	case jsonvalue.Raw:
		if flatten {
			s := jsonvalue.Scan(v)
			d.scan(&s)
		}
		return append(dst, v...)
	case bool:
		if flatten {
			d.bool(v)
		}
	default:
		if flatten {
			d.number(v)
		}
	}
	return jsonvalue.Append(dst, value)
}

func (d *Content) array(dst []byte, array []any, flatten bool) []byte {
	inline := flatten && isIndexedArray(array)
	if flatten && !inline {
		d.addAttribute(KindUnindexed, "", 0)
	}
	base := len(d.path)
	dst = append(dst, '[')
	for i, e := range array {
		if i > 0 {
			dst = append(dst, ',')
		}
		if inline {
			d.path = strconv.AppendInt(append(d.path[:base], '.'), int64(i), 10)
		}
		dst = d.value(dst, e, elsewhere, inline)
	}
	d.path = d.path[:base]
	return append(dst, ']')
}

// isIndexedArray reports whether each element of an array is an attribute value.
func isIndexedArray(array []any) bool {
	if len(array) == 0 || len(array) > jsonvalue.MaxIndexedElements {
		return false
	}
	for _, e := range array {
		switch e.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

// scan flattens a value that is JSON already.
func (d *Content) scan(s *jsonvalue.Scanner) {
	base := len(d.path)
	switch s.Kind() {
	case '{':
		more := s.Enter()
		if !more {
			d.addAttribute(KindUnindexed, "", 0)
		}
		for ; more; more = s.Next() {
			d.path = appendKey(d.path[:base], false, s.Key())
			d.scan(s)
		}
	case '[':
		if !isIndexedArrayNext(*s) {
			d.addAttribute(KindUnindexed, "", 0)
			s.Skip()
			break
		}
		more := s.Enter()
		for i := int64(0); more; more = s.Next() {
			d.path = strconv.AppendInt(append(d.path[:base], '.'), i, 10)
			d.scan(s)
			i++
		}
	case '"':
		d.text(s.Text())
	case 't', 'f':
		d.bool(s.Kind() == 't')
		s.Skip()
	case 'n':
		d.addAttribute(KindUnindexed, "", 0)
		s.Skip()
	default:
		d.number(s.Number())
	}
	d.path = d.path[:base]
}

// isIndexedArrayNext reports what isIndexedArray does, of the scanner's next value.
func isIndexedArrayNext(s jsonvalue.Scanner) bool {
	n := 0
	for more := s.Enter(); more; more = s.Next() {
		if c := s.Kind(); c == '{' || c == '[' || n == jsonvalue.MaxIndexedElements {
			return false
		}
		s.Skip()
		n++
	}
	return n > 0
}

func (d *Content) text(text string) {
	if len(text) <= jsonvalue.MaxIndexedBytes {
		d.addAttribute(KindString, text, 0)
		return
	}
	d.addAttribute(KindUnindexed, "", 0)
}

func (d *Content) bool(b bool) {
	number := 0.0
	if b {
		number = 1
	}
	d.addAttribute(KindBool, "", number)
}

// number adds a number; a value of any other type is unindexed.
func (d *Content) number(v any) {
	switch v := v.(type) {
	case int64:
		if -jsonvalue.MaxExactInteger <= v && v <= jsonvalue.MaxExactInteger {
			d.addAttribute(KindNumber, "", float64(v))
			return
		}
	case float64:
		d.addAttribute(KindNumber, "", v)
		return
	}
	d.addAttribute(KindUnindexed, "", 0)
}

func (d *Content) addAttribute(kind uint8, text string, number float64) {
	start := len(d.paths)
	d.paths = append(d.paths, d.path...)
	d.attributes = append(d.attributes, attribute{kind, start, len(d.paths), text, number})
}

// appendKey appends one key to a path as jsonvalue.JoinPath does.
func appendKey(path []byte, first bool, key string) []byte {
	if !first {
		path = append(path, '.')
	}
	for i := range len(key) {
		if key[i] == '.' || key[i] == '\\' {
			path = append(path, '\\')
		}
		path = append(path, key[i])
	}
	return path
}

// digest returns the hash of the content. The length of every payload is hashed too,
// so that equal bytes divided differently have different hashes.
func (d *Content) digest(s *trace.Span, declared trace.Type) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	var few [128]byte
	head := append(few[:0], s.ParentID[:]...)
	head = binary.LittleEndian.AppendUint64(head, uint64(s.Start)) //nolint:gosec // the bits are the value
	head = binary.LittleEndian.AppendUint64(head, uint64(s.End))   //nolint:gosec // the bits are the value
	head = append(head, byte(declared), byte(s.SpanType), byte(s.Kind), byte(s.Status))
	head = binary.AppendUvarint(head, uint64(len(s.Name)))
	head = binary.AppendUvarint(head, uint64(len(s.StatusMessage)))
	for i, text := range d.payloads {
		length := len(text)
		if i == payloadAttributes {
			length -= d.typeEnd - d.typeStart
		}
		head = binary.AppendUvarint(head, uint64(length))
	}
	_, _ = digest.Write(head) // a digest never fails
	_, _ = digest.WriteString(s.Name)
	_, _ = digest.WriteString(s.StatusMessage)
	for i, text := range d.payloads {
		if i == payloadAttributes {
			_, _ = digest.Write(text[:d.typeStart])
			text = text[d.typeEnd:]
		}
		_, _ = digest.Write(text)
	}
	return digest.Sum64()
}
