package sink

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

// The texts of a span, in the order in which they are hashed.
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

// document is one span rendered: the texts of span_payloads_packed, the leaves of
// its attributes, and a hash of all that its sender said. It is made in one
// walk over the attributes, whose result equals that of jsonvalue.Append and
// trace.Flatten (a test holds it to that), and reused from span to span.
type document struct {
	texts  [texts][]byte
	leaves []leaf
	hash   uint64

	paths []byte // of the leaves
	path  []byte // of the value in hand
	pairs []pair // of the objects being walked, one above the other
	// typeStart and typeEnd are where ag.type stands in the attributes' text.
	typeStart, typeEnd int

	// Spans of one record share their resource: it is rendered once.
	resource     map[string]any
	resourceText []byte
}

// leaf is one leaf as trace.Leaves has it.
type leaf struct {
	kind       uint8
	start, end int // in paths
	text       string
	number     float64 // 1 for true
}

type pair struct {
	key   string
	value any
}

// place is where in the tree an object stands, as far as that matters.
type place uint8

const (
	elsewhere place = iota
	atRoot
	atAg
	atData
)

func (d *document) pathOf(l *leaf) []byte { return d.paths[l.start:l.end] }

// bytes is the length of all texts.
func (d *document) bytes() (n int) {
	for _, text := range d.texts {
		n += len(text)
	}
	return n
}

// render renders a span. The hash leaves out ag.type, which other spans of the
// trace may decide (what this one declared is added), and what the house itself
// adds: times of receipt, users, versions. So a retry has the hash of the first attempt.
func (d *document) render(s *trace.Span, declared trace.Type) {
	for i := range d.texts {
		d.texts[i] = d.texts[i][:0]
	}
	d.leaves, d.paths, d.path, d.pairs = d.leaves[:0], d.paths[:0], d.path[:0], d.pairs[:0]
	d.typeStart, d.typeEnd = 0, 0
	d.texts[textAttributes] = d.object(d.texts[textAttributes], s.Attributes, atRoot, true)
	if len(s.Events) > 0 {
		d.texts[textEvents] = tracejson.AppendEvents(d.texts[textEvents], s.Events)
	}
	if len(s.Links) > 0 {
		d.texts[textLinks] = tracejson.AppendLinks(d.texts[textLinks], s.Links)
	}
	d.texts[textResource] = append(d.texts[textResource], d.resourceOf(s.Resource)...)
	if s.Scope != nil {
		d.texts[textScope] = tracejson.AppendScope(d.texts[textScope], s.Scope)
	}
	d.hash = d.sum(s, declared)
}

// forget lets go of the memory of what was rendered: a leaf's text is a piece of
// all that was fetched with its record.
func (d *document) forget() {
	clear(d.leaves[:cap(d.leaves)])
	clear(d.pairs[:cap(d.pairs)])
	d.resource = nil
}

func (d *document) resourceOf(resource map[string]any) []byte {
	if resource == nil {
		return nil
	}
	if reflect.ValueOf(resource).Pointer() != reflect.ValueOf(d.resource).Pointer() {
		d.resource = resource // held, so that its address stays its name
		d.resourceText = jsonvalue.Append(d.resourceText[:0], resource)
	}
	return d.resourceText
}

// object renders an object. leafing tells that what it holds is a leaf or
// leads to leaves; d.path is then the object's.
func (d *document) object(dst []byte, object map[string]any, at place, leafing bool) []byte {
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
		if leafing {
			d.path = appendKey(d.path[:base], at == atRoot, p.key)
		}
		if at == atData {
			if member, ok := dataMember(p.key); ok {
				d.texts[member] = d.value(d.texts[member], p.value, elsewhere, leafing)
				continue
			}
		}
		if len(dst) > open {
			dst = append(dst, ',')
		}
		dst = jsonvalue.AppendString(dst, p.key)
		dst = append(dst, ':')
		start := len(dst)
		dst = d.value(dst, p.value, below(at, p.key), leafing)
		if at == atAg && p.key == semconv.Type {
			d.typeStart, d.typeEnd = start, len(dst)
		}
	}
	d.pairs, d.path = d.pairs[:from], d.path[:base]
	return append(dst, '}')
}

// below is where the value of a key stands.
func below(at place, key string) place {
	switch {
	case at == atRoot && key == semconv.Root:
		return atAg
	case at == atAg && key == semconv.Data:
		return atData
	default:
		return elsewhere
	}
}

// dataMember is the text of a member of ag.data that has a column of its own.
func dataMember(key string) (member int, ok bool) {
	switch key {
	case semconv.Inputs:
		return textInputs, true
	case semconv.Outputs:
		return textOutputs, true
	case semconv.Parameters:
		return textParameters, true
	case semconv.Internals:
		return textInternals, true
	default:
		return 0, false
	}
}

// value renders a value, by the rules of trace.Flatten for what is a leaf.
func (d *document) value(dst []byte, value any, at place, leafing bool) []byte {
	switch v := value.(type) {
	case map[string]any:
		if leafing && len(v) == 0 {
			d.leaf(kindLong, "", 0)
		}
		return d.object(dst, v, at, leafing)
	case []any:
		return d.array(dst, v, leafing)
	case string:
		if leafing {
			d.text(v)
		}
		return jsonvalue.AppendString(dst, v)
	case jsonvalue.Raw:
		if leafing {
			s := jsonvalue.Scan(v)
			d.scan(&s)
		}
		return append(dst, v...)
	case bool:
		if leafing {
			d.bool(v)
		}
	default:
		if leafing {
			d.number(v)
		}
	}
	return jsonvalue.Append(dst, value)
}

func (d *document) array(dst []byte, array []any, leafing bool) []byte {
	inline := leafing && inline(array)
	if leafing && !inline {
		d.leaf(kindLong, "", 0)
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

// inline tells whether an array's elements are leaves of their own.
func inline(array []any) bool {
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

// scan finds the leaves of a value that was rendered before it came here.
func (d *document) scan(s *jsonvalue.Scanner) {
	base := len(d.path)
	switch s.Kind() {
	case '{':
		more := s.Enter()
		if !more {
			d.leaf(kindLong, "", 0)
		}
		for ; more; more = s.Next() {
			d.path = appendKey(d.path[:base], false, s.Key())
			d.scan(s)
		}
	case '[':
		if !inlineAhead(*s) {
			d.leaf(kindLong, "", 0)
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
		d.leaf(kindLong, "", 0)
		s.Skip()
	default:
		d.number(s.Number())
	}
	d.path = d.path[:base]
}

// inlineAhead is inline of the array in hand.
func inlineAhead(s jsonvalue.Scanner) bool {
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

func (d *document) text(text string) {
	if len(text) <= jsonvalue.MaxIndexedBytes {
		d.leaf(kindString, text, 0)
		return
	}
	d.leaf(kindLong, "", 0)
}

func (d *document) bool(b bool) {
	number := 0.0
	if b {
		number = 1
	}
	d.leaf(kindBool, "", number)
}

// number is that of a number; anything else is no leaf that a map holds.
func (d *document) number(v any) {
	switch v := v.(type) {
	case int64:
		if -jsonvalue.MaxExactInteger <= v && v <= jsonvalue.MaxExactInteger {
			d.leaf(kindNumber, "", float64(v))
			return
		}
	case float64:
		d.leaf(kindNumber, "", v)
		return
	}
	d.leaf(kindLong, "", 0)
}

func (d *document) leaf(kind uint8, text string, number float64) {
	start := len(d.paths)
	d.paths = append(d.paths, d.path...)
	d.leaves = append(d.leaves, leaf{kind, start, len(d.paths), text, number})
}

// appendKey adds one key to a path as jsonvalue.JoinPath does.
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

// sum hashes the content. Every text is preceded by its length, so that no two
// contents run together.
func (d *document) sum(s *trace.Span, declared trace.Type) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	var few [128]byte
	head := append(few[:0], s.ParentID[:]...)
	head = binary.LittleEndian.AppendUint64(head, uint64(s.Start)) //nolint:gosec // the bits are the value
	head = binary.LittleEndian.AppendUint64(head, uint64(s.End))   //nolint:gosec // the bits are the value
	head = append(head, byte(declared), byte(s.SpanType), byte(s.Kind), byte(s.Status))
	head = binary.AppendUvarint(head, uint64(len(s.Name)))
	head = binary.AppendUvarint(head, uint64(len(s.StatusMessage)))
	for i, text := range d.texts {
		length := len(text)
		if i == textAttributes {
			length -= d.typeEnd - d.typeStart
		}
		head = binary.AppendUvarint(head, uint64(length))
	}
	_, _ = digest.Write(head) // a digest never fails
	_, _ = digest.WriteString(s.Name)
	_, _ = digest.WriteString(s.StatusMessage)
	for i, text := range d.texts {
		if i == textAttributes {
			_, _ = digest.Write(text[:d.typeStart])
			text = text[d.typeEnd:]
		}
		_, _ = digest.Write(text)
	}
	return digest.Sum64()
}
