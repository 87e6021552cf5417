// Package otlpjson brings OTLP/JSON to OTLP protobuf, byte by byte and without
// a tree of objects, so that one scan serves both encodings and memory stays in
// proportion to the body. A bad span is refused alone.
//
// Not here: what a span must be beyond what JSON and protobuf ask (write/otlp/wire).
// The only caller is write/otlp. Source: OTLP specification, "JSON Protobuf encoding".
package otlpjson

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
)

// Convert brings an OTLP/JSON body to protobuf: ids in hex, enums as numbers or
// names, 64-bit integers as text or numbers, names in camel or snake case,
// unknown members ignored. A span that does not convert is refused alone, a
// resource or scope that does not with its spans; what is no JSON at all, or holds
// members but no resourceSpans, is Rejected, and more bad spans than a request may
// hold are TooLarge.
func Convert(body string) (data []byte, refused *wire.Refusals, err error) {
	c := converter{reader: reader{s: body}}
	dst := make([]byte, 0, len(body)/2)
	known, members := false, 0
	err = c.object(func(key string) error {
		members++
		if key != "resourceSpans" && key != "resource_spans" {
			_, err := c.skip()
			return err
		}
		known = true
		return c.array(func() error {
			dst, err = c.part(dst, 1, c.resourceSpans, c.refuseResource)
			return err
		})
	})
	if err == nil && c.peek() != 0 {
		err = c.fail("something follows the end")
	}
	if err == nil && !known && members > 0 {
		err = errors.New("there is no member resourceSpans")
	}
	if c.refused.Count > wire.MaxSpans {
		return nil, nil, domain.E(domain.TooLarge, "A request may hold at most %d spans.", wire.MaxSpans)
	}
	if err != nil {
		return nil, nil, domain.E(domain.Rejected, "Failed to parse OTLP stream. %s.", upperFirst(err.Error()))
	}
	return dst, &c.refused, nil
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// converter appends protobuf for the JSON it reads.
type converter struct {
	reader
	refused wire.Refusals
}

// appender is what a message's converter looks like: it consumes an object.
type appender func(dst []byte) ([]byte, error)

// message appends a length-delimited field.
func (c *converter) message(dst []byte, field uint64, content appender) ([]byte, error) {
	return wire.AppendMessage(dst, field, content)
}

// messages appends a repeated message field from an array.
func (c *converter) messages(dst []byte, field uint64, content appender) ([]byte, error) {
	err := c.array(func() (err error) {
		dst, err = c.message(dst, field, content)
		return err
	})
	return dst, err
}

// members reads an object; each gives false for a key it does not know, whose value is then ignored.
func (c *converter) members(dst []byte, each func(dst []byte, key string) ([]byte, bool, error)) ([]byte, error) {
	err := c.object(func(key string) error {
		if c.null() {
			return nil // a field that is null is a field that is not there
		}
		var known bool
		var err error
		dst, known, err = each(dst, key)
		if err != nil {
			return named(key, err)
		}
		if !known {
			_, err = c.skip()
		}
		return err
	})
	return dst, err
}

// named puts a member's name before what is wrong with it.
func named(key string, err error) error {
	if _, ok := errors.AsType[*syntaxError](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", key, err)
}

func (c *converter) resourceSpans(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "resource":
			dst, err = c.message(dst, 1, c.resource)
		case "scopeSpans", "scope_spans":
			err = c.array(func() error {
				dst, err = c.part(dst, 2, c.scopeSpans, c.refuseScope)
				return err
			})
		case "schemaUrl", "schema_url":
			dst, err = c.string(dst, 3)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) resource(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "attributes":
			dst, err = c.messages(dst, 1, c.attribute)
		case "droppedAttributesCount", "dropped_attributes_count":
			dst, err = c.integer(dst, 2, 32)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) scopeSpans(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "scope":
			dst, err = c.message(dst, 1, c.scope)
		case "spans":
			err = c.array(func() error {
				dst, err = c.isolated(dst)
				return err
			})
		case "schemaUrl", "schema_url":
			dst, err = c.string(dst, 3)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) scope(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "name":
			dst, err = c.string(dst, 1)
		case "version":
			dst, err = c.string(dst, 2)
		case "attributes":
			dst, err = c.messages(dst, 3, c.attribute)
		case "droppedAttributesCount", "dropped_attributes_count":
			dst, err = c.integer(dst, 4, 32)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

// isolated converts one span; a bad one is refused and leaves no trace in dst.
func (c *converter) isolated(dst []byte) ([]byte, error) {
	text, err := c.skip() // first its extent: what follows a bad span is found whatever is wrong with it
	if err != nil {
		return dst, err
	}
	before := len(dst)
	s := converter{reader: reader{s: text}}
	dst, err = s.message(dst, 2, s.span)
	if err != nil {
		c.refuse(text, err)
		return dst[:before], nil
	}
	return dst, nil
}

// part converts an element with spans in it. One that does not convert leaves
// nothing in dst, as if it were protobuf: refuse refuses its spans for the reason.
func (c *converter) part(dst []byte, field uint64, content appender, refuse func(text string, why error)) ([]byte, error) {
	c.peek()
	start, depth, before, refused := c.at, c.depth, len(dst), c.refused
	dst, err := c.message(dst, field, content)
	if err == nil {
		return dst, nil
	}
	c.at, c.depth = start, depth
	text, bad := c.skip()
	if bad != nil {
		return dst, bad
	}
	c.refused = refused // all of its spans are refused for one reason
	if refuse(text, err); c.refused.Count == refused.Count {
		c.refused.Add(wire.Refusal{Reason: err.Error(), Raw: text}) // no span to name, and still nothing is dropped silently
	}
	return dst[:before], nil
}

// refuseResource refuses the spans of a ResourceSpans element whose syntax is good.
func (c *converter) refuseResource(text string, why error) {
	each(text, "scopeSpans", "scope_spans", func(scope string) { c.refuseScope(scope, why) })
}

// refuseScope refuses those of a ScopeSpans element.
func (c *converter) refuseScope(text string, why error) {
	each(text, "spans", "spans", func(span string) { c.refuse(span, why) })
}

// each calls element with those of an object's member of either name, as far as
// they are what they should be.
func each(text, name, other string, element func(text string)) {
	r := reader{s: text}
	_ = r.object(func(key string) error {
		if key != name && key != other || r.peek() != '[' {
			_, err := r.skip()
			return err
		}
		return r.array(func() error {
			text, err := r.skip()
			element(text)
			return err
		})
	})
}

// refuse refuses a span, named as far as it can be read.
func (c *converter) refuse(text string, why error) {
	f := wire.Refusal{Reason: why.Error(), Raw: text}
	if c.refused.Count < wire.MaxRefused {
		readIDs(&f, text)
	}
	c.refused.Add(f)
}

// readIDs names a bad span as far as it can be read.
func readIDs(f *wire.Refusal, text string) {
	r := reader{s: text}
	_ = r.object(func(key string) error { // its syntax is known to be good
		value, err := r.skip()
		if err != nil || !strings.HasPrefix(value, `"`) {
			return err
		}
		word, _ := (&reader{s: value}).text()
		switch key {
		case "traceId", "trace_id":
			if id, err := trace.ParseTraceID(word); err == nil {
				f.Trace = id
			}
		case "spanId", "span_id":
			if id, err := trace.ParseSpanID(word); err == nil {
				f.Span = id
			}
		case "name":
			f.Name = strings.ToValidUTF8(word, "\uFFFD")
		}
		return nil
	})
}

func (c *converter) span(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "traceId", "trace_id":
			dst, err = c.id(dst, 1, 16)
		case "spanId", "span_id":
			dst, err = c.id(dst, 2, 8)
		case "traceState", "trace_state":
			dst, err = c.string(dst, 3)
		case "parentSpanId", "parent_span_id":
			dst, err = c.id(dst, 4, 8)
		case "name":
			dst, err = c.string(dst, 5)
		case "kind":
			dst, err = c.enum(dst, 6, func(word string) (uint64, bool) { k, ok := trace.ParseKind(word); return uint64(k), ok })
		case "startTimeUnixNano", "start_time_unix_nano":
			dst, err = c.fixed64(dst, 7)
		case "endTimeUnixNano", "end_time_unix_nano":
			dst, err = c.fixed64(dst, 8)
		case "attributes":
			dst, err = c.messages(dst, 9, c.attribute)
		case "droppedAttributesCount", "dropped_attributes_count":
			dst, err = c.integer(dst, 10, 32)
		case "events":
			dst, err = c.messages(dst, 11, c.event)
		case "droppedEventsCount", "dropped_events_count":
			dst, err = c.integer(dst, 12, 32)
		case "links":
			dst, err = c.messages(dst, 13, c.link)
		case "droppedLinksCount", "dropped_links_count":
			dst, err = c.integer(dst, 14, 32)
		case "status":
			dst, err = c.message(dst, 15, c.status)
		case "flags":
			dst, err = c.fixed32(dst, 16)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) status(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "message":
			dst, err = c.string(dst, 2)
		case "code":
			dst, err = c.enum(dst, 3, func(word string) (uint64, bool) { s, ok := trace.ParseStatus(word); return uint64(s), ok })
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) event(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "timeUnixNano", "time_unix_nano":
			dst, err = c.fixed64(dst, 1)
		case "name":
			dst, err = c.string(dst, 2)
		case "attributes":
			dst, err = c.messages(dst, 3, c.attribute)
		case "droppedAttributesCount", "dropped_attributes_count":
			dst, err = c.integer(dst, 4, 32)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) link(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "traceId", "trace_id":
			dst, err = c.id(dst, 1, 16)
		case "spanId", "span_id":
			dst, err = c.id(dst, 2, 8)
		case "traceState", "trace_state":
			dst, err = c.string(dst, 3)
		case "attributes":
			dst, err = c.messages(dst, 4, c.attribute)
		case "droppedAttributesCount", "dropped_attributes_count":
			dst, err = c.integer(dst, 5, 32)
		case "flags":
			dst, err = c.fixed32(dst, 6)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

func (c *converter) attribute(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "key":
			dst, err = c.string(dst, 1)
		case "value":
			dst, err = c.message(dst, 2, c.anyValue)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

// value converts an AnyValue; without a member it is null.
func (c *converter) anyValue(dst []byte) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		var err error
		switch key {
		case "stringValue", "string_value":
			dst, err = c.string(dst, 1)
		case "boolValue", "bool_value":
			dst, err = c.boolean(dst, 2)
		case "intValue", "int_value":
			dst, err = c.integer(dst, 3, 64)
		case "doubleValue", "double_value":
			dst, err = c.double(dst, 4)
		case "arrayValue", "array_value":
			dst, err = c.message(dst, 5, func(dst []byte) ([]byte, error) { return c.values(dst, c.anyValue) })
		case "kvlistValue", "kvlist_value":
			dst, err = c.message(dst, 6, func(dst []byte) ([]byte, error) { return c.values(dst, c.attribute) })
		case "bytesValue", "bytes_value":
			dst, err = c.bytes(dst, 7)
		default:
			return dst, false, nil
		}
		return dst, true, err
	})
}

// values converts ArrayValue and KeyValueList, which both have one member.
func (c *converter) values(dst []byte, content appender) ([]byte, error) {
	return c.members(dst, func(dst []byte, key string) ([]byte, bool, error) {
		if key != "values" {
			return dst, false, nil
		}
		dst, err := c.messages(dst, 1, content)
		return dst, true, err
	})
}

func (c *converter) string(dst []byte, field protowire.Number) ([]byte, error) {
	if c.peek() != '"' {
		return dst, errors.New("must be text")
	}
	s, err := c.text()
	if err != nil {
		return dst, err
	}
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), s), nil
}

// id converts an id of size bytes from hex. An empty one is left out.
func (c *converter) id(dst []byte, field protowire.Number, size int) ([]byte, error) {
	bad := fmt.Errorf("must be %d hex digits", 2*size)
	if c.peek() != '"' {
		return dst, bad
	}
	s, err := c.text()
	if err != nil || s == "" {
		return dst, err
	}
	id, err := hex.DecodeString(s)
	if err != nil || len(id) != size {
		return dst, bad
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), id), nil
}

// bytes converts base64 of either alphabet, padded or not.
func (c *converter) bytes(dst []byte, field protowire.Number) ([]byte, error) {
	if c.peek() != '"' {
		return dst, errors.New("must be base64 text")
	}
	s, err := c.text()
	if err != nil {
		return dst, err
	}
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return dst, errors.New("is not base64")
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), b), nil
}

func (c *converter) boolean(dst []byte, field protowire.Number) ([]byte, error) {
	word, err := c.word()
	if err != nil {
		return dst, err
	}
	switch word {
	case "true":
		return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), 1), nil
	case "false":
		return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), 0), nil
	default:
		return dst, errors.New("must be true or false")
	}
}

// word consumes a number, a word, or either as text: JSON says 64-bit integers as text.
func (c *converter) word() (string, error) {
	switch c.peek() {
	case '"':
		return c.text()
	case '{', '[':
		return "", errors.New("must be a single value")
	default:
		return c.scalar()
	}
}

// integer converts a signed integer of so many bits.
func (c *converter) integer(dst []byte, field protowire.Number, size int) ([]byte, error) {
	word, err := c.word()
	if err != nil {
		return dst, err
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(word, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return dst, errors.New("must be a whole number")
		}
		n = int64(f)
	}
	if size == 32 && (n < math.MinInt32 || n > math.MaxUint32) {
		return dst, errors.New("is out of range")
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), uint64(n)), nil //nolint:gosec // two's complement is protobuf's
}

func (c *converter) unsigned(size int) (uint64, error) {
	word, err := c.word()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(word, 10, size)
	if err != nil {
		f, ferr := strconv.ParseFloat(word, 64)
		if ferr != nil || f != math.Trunc(f) || f < 0 || f > 1<<62 || size == 32 && f > math.MaxUint32 {
			return 0, fmt.Errorf("must be a whole number of %d bits that is not negative", size)
		}
		n = uint64(f)
	}
	return n, nil
}

func (c *converter) fixed64(dst []byte, field protowire.Number) ([]byte, error) {
	n, err := c.unsigned(64)
	if err != nil {
		return dst, err
	}
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), n), nil
}

func (c *converter) fixed32(dst []byte, field protowire.Number) ([]byte, error) {
	n, err := c.unsigned(32)
	if err != nil {
		return dst, err
	}
	return protowire.AppendFixed32(protowire.AppendTag(dst, field, protowire.Fixed32Type), uint32(n)), nil //nolint:gosec // ParseUint bounds it
}

func (c *converter) double(dst []byte, field protowire.Number) ([]byte, error) {
	word, err := c.word()
	if err != nil {
		return dst, err
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return dst, errors.New("must be a number")
	}
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), math.Float64bits(f)), nil
}

// enum converts a number or a name.
func (c *converter) enum(dst []byte, field protowire.Number, byName func(string) (uint64, bool)) ([]byte, error) {
	if c.peek() != '"' {
		return c.integer(dst, field, 32)
	}
	word, err := c.text()
	if err != nil {
		return dst, err
	}
	n, ok := byName(word)
	if !ok {
		number, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return dst, fmt.Errorf("%.64q is none of the known names", word)
		}
		n = uint64(number) //nolint:gosec // two's complement is protobuf's
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n), nil
}
