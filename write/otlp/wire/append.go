package wire

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// AppendBody appends canonical spans as a TracesData message, so that spans sent as JSON
// are stored like those of an exporter. Attribute trees become nested values with ordered
// keys: equal spans give equal bytes. Derived columns (references, hashes, promoted ids,
// creation time) are not written. A value that is not canonical is an Internal error.
func AppendBody(dst []byte, spans []trace.Span) ([]byte, error) {
	var e encoder
	for i := 0; i < len(spans); {
		// Consecutive spans with the same resource and scope share their ResourceSpans and ScopeSpans.
		n := i + 1
		for n < len(spans) && sameOrigin(&spans[i], &spans[n]) {
			n++
		}
		dst = e.message(dst, 1, func(dst []byte) []byte { return e.resourceSpans(dst, spans[i:n]) })
		i = n
	}
	return dst, e.err
}

func sameOrigin(a, b *trace.Span) bool {
	return reflect.DeepEqual(a.Resource, b.Resource) && reflect.DeepEqual(a.Scope, b.Scope)
}

// encoder appends messages; err holds the error of the first value that cannot be encoded.
type encoder struct{ err error }

// AppendMessage appends a length-delimited field whose content the function appends. The
// length is known afterwards: space is reserved for it, and short content is moved next to
// it. Large content is not moved, and its length is padded, which protobuf allows:
// otherwise deep nesting moves it once for each level.
func AppendMessage(dst []byte, field uint64, content func([]byte) ([]byte, error)) ([]byte, error) {
	const room, large = 5, 64 << 10
	dst = binary.AppendUvarint(dst, field<<3|lengthWire)
	at := len(dst)
	dst, err := content(append(dst, make([]byte, room)...))
	if err != nil {
		return dst, err
	}
	n := uint64(len(dst) - at - room) //nolint:gosec // content appends
	if n >= large {
		for i := range room {
			dst[at+i] = byte(n>>(7*i)&0x7f) | 0x80
		}
		dst[at+room-1] &= 0x7f
		return dst, nil
	}
	size := binary.PutUvarint(dst[at:], n)
	copy(dst[at+size:], dst[at+room:])
	return dst[:len(dst)-room+size], nil
}

// message is AppendMessage for content that cannot fail.
func (e *encoder) message(dst []byte, field uint64, body func([]byte) []byte) []byte {
	dst, err := AppendMessage(dst, field, func(dst []byte) ([]byte, error) { return body(dst), nil })
	if err != nil {
		e.fail(err)
	}
	return dst
}

func (e *encoder) text(dst []byte, field uint64, s string) []byte {
	dst = binary.AppendUvarint(dst, field<<3|lengthWire)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func (e *encoder) number(dst []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, field<<3|varintWire), n)
}

func (e *encoder) fixed(dst []byte, field, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(dst, field<<3|fixed64Wire), n)
}

func (e *encoder) resourceSpans(dst []byte, spans []trace.Span) []byte {
	if resource := spans[0].Resource; resource != nil {
		dst = e.message(dst, 1, func(dst []byte) []byte { return e.attributes(dst, 1, resource) })
	}
	return e.message(dst, 2, func(dst []byte) []byte {
		if scope := spans[0].Scope; scope != nil {
			dst = e.message(dst, 1, func(dst []byte) []byte {
				dst = e.text(dst, 1, scope.Name)
				dst = e.text(dst, 2, scope.Version)
				return e.attributes(dst, 3, scope.Attributes)
			})
		}
		for i := range spans {
			dst = e.message(dst, 2, func(dst []byte) []byte { return e.span(dst, &spans[i]) })
		}
		return dst
	})
}

func (e *encoder) span(dst []byte, s *trace.Span) []byte {
	dst = e.text(dst, 1, string(s.TraceID[:]))
	dst = e.text(dst, 2, string(s.SpanID[:]))
	if !s.ParentID.IsZero() {
		dst = e.text(dst, 4, string(s.ParentID[:]))
	}
	dst = e.text(dst, 5, s.Name)
	dst = e.number(dst, 6, uint64(s.Kind))
	dst = e.fixed(dst, 7, e.nanos(s.Start))
	dst = e.fixed(dst, 8, e.nanos(s.End))
	dst = e.attributes(dst, 9, s.Attributes)
	for _, event := range s.Events {
		dst = e.message(dst, 11, func(dst []byte) []byte {
			dst = e.fixed(dst, 1, e.nanos(event.Time))
			dst = e.text(dst, 2, event.Name)
			return e.attributes(dst, 3, event.Attributes)
		})
	}
	for _, link := range s.Links {
		dst = e.message(dst, 13, func(dst []byte) []byte {
			dst = e.text(dst, 1, string(link.TraceID[:]))
			dst = e.text(dst, 2, string(link.SpanID[:]))
			return e.attributes(dst, 4, link.Attributes)
		})
	}
	return e.message(dst, 15, func(dst []byte) []byte {
		if s.StatusMessage != "" {
			dst = e.text(dst, 2, s.StatusMessage)
		}
		return e.number(dst, 3, uint64(s.Status))
	})
}

func (e *encoder) nanos(n int64) uint64 {
	if n < 0 {
		e.fail(domain.E(domain.Rejected, "A time is before the year 1970."))
	}
	return uint64(n) //nolint:gosec // checked above
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// attributes appends a repeated KeyValue field.
func (e *encoder) attributes(dst []byte, field uint64, object map[string]any) []byte {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		dst = e.message(dst, field, func(dst []byte) []byte {
			dst = e.text(dst, 1, key)
			return e.message(dst, 2, func(dst []byte) []byte { return e.value(dst, object[key]) })
		})
	}
	return dst
}

// value appends the fields of an AnyValue; null has none.
func (e *encoder) value(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return dst
	case string:
		return e.text(dst, 1, v)
	case bool:
		if v {
			return e.number(dst, 2, 1)
		}
		return e.number(dst, 2, 0)
	case int64:
		return e.number(dst, 3, uint64(v)) //nolint:gosec // two's complement is protobuf's int64
	case float64:
		return e.fixed(dst, 4, math.Float64bits(v))
	case []any:
		return e.message(dst, 5, func(dst []byte) []byte {
			for _, element := range v {
				dst = e.message(dst, 1, func(dst []byte) []byte { return e.value(dst, element) })
			}
			return dst
		})
	case map[string]any:
		return e.message(dst, 6, func(dst []byte) []byte { return e.attributes(dst, 1, v) })
	default:
		e.fail(fmt.Errorf("wire: a %T is no canonical value", value))
		return dst
	}
}
