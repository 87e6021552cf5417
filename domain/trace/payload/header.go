package payload

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
)

// Header is the part of a span that is not in its payloads, stored next to them, so that
// a trace is read from one table.
type Header struct {
	// Span has every field except the type of the trace, attributes, events, links,
	// resource, scope, the fields derived from them, and Version. Times have the
	// precision of the columns: none is before 1970; CreatedAt and UpdatedAt are in
	// microseconds, zero if unknown.
	Span trace.Span
	// Declared is the trace type that this span itself declared, 0 if it declared none.
	Declared trace.Type
	// Hash is the id of the span's hash, zero without one.
	Hash uuid.UUID
	// Metrics are the incremental metrics in the order of spanmetrics.Sum, NaN for an absent one.
	Metrics [spanmetrics.Count]float64
	// Traits are those of the span; its type is that of Span.
	Traits spanmetrics.Traits
}

// format is the first byte of a header. Another layout gets another number.
const format = 1

// fixedBytes is the length of the fixed part: the format, parent, four times, two users and the
// hash, four enums, five lengths.
const fixedBytes = 1 + 8 + 4*8 + 3*16 + 4 + 5*4

// AppendHeader appends a header to dst. The layout, numbers little-endian:
// format u8, 1; parent 8 bytes; start and end i64, Unix nanoseconds; created
// and updated i64, Unix microseconds, 0 if unknown; created by, updated by, hash, 16
// bytes each; declared trace type, span type (0 if none was declared), kind
// and status u8; five lengths u32; the strings of those lengths: name, status
// message, session, user, agent; a byte that has bit k set if metric k is present and
// bit 7 if a trait is; those metrics, f64, ascending; the response and the failure of
// the traits, u64 each.
func AppendHeader(dst []byte, h *Header) []byte {
	s := &h.Span
	dst = append(dst, format)
	dst = append(dst, s.ParentID[:]...)
	for _, n := range [...]int64{max(s.Start, 0), max(s.End, 0), microsOf(s.CreatedAt), microsOf(s.UpdatedAt)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n)) //nolint:gosec // the bits are the value
	}
	dst = append(dst, s.CreatedBy[:]...)
	dst = append(dst, s.UpdatedBy[:]...)
	dst = append(dst, h.Hash[:]...)
	dst = append(dst, byte(h.Declared), byte(s.SpanType), byte(s.Kind), byte(s.Status))
	for _, text := range [...]string{s.Name, s.StatusMessage, s.SessionID, s.UserID, s.AgentID} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text))) //nolint:gosec // a span is at most megabytes
	}
	for _, text := range [...]string{s.Name, s.StatusMessage, s.SessionID, s.UserID, s.AgentID} {
		dst = append(dst, text...)
	}
	at := len(dst)
	dst = append(dst, 0)
	for k, v := range h.Metrics {
		if !math.IsNaN(v) {
			dst[at] |= 1 << k
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	}
	if t := h.Traits; t.Response != 0 || t.Failure != 0 {
		dst[at] |= hasTraits
		dst = binary.LittleEndian.AppendUint64(dst, t.Response)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(t.Failure))
	}
	return dst
}

// hasTraits is the bit of the presence byte for traits.
const hasTraits = 1 << spanmetrics.Count

func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

var errHeader = domain.Wrap(domain.Internal, errors.New("payload: a header is cut off or of an unknown format"), "A stored span cannot be read.")

// ParseHeader parses what AppendHeader wrote. Enums out of their range are kept as
// they are. It shares no memory with text but that of its strings.
func ParseHeader(text string) (h Header, err error) {
	if len(text) < fixedBytes || text[0] != format {
		return h, errHeader
	}
	s, rest := &h.Span, text[1:]
	take := func(n int) string {
		taken := rest[:n]
		rest = rest[n:]
		return taken
	}
	number := func() int64 {
		return int64(binary.LittleEndian.Uint64([]byte(take(8)))) //nolint:gosec // the bits are the value
	}
	copy(s.ParentID[:], take(8))
	s.Start, s.End = number(), number()
	s.CreatedAt, s.UpdatedAt = timeOf(number()), timeOf(number())
	copy(s.CreatedBy[:], take(16))
	copy(s.UpdatedBy[:], take(16))
	copy(h.Hash[:], take(16))
	enums := take(4)
	h.Declared, s.SpanType, s.Kind, s.Status = trace.Type(enums[0]), trace.SpanType(enums[1]), trace.Kind(enums[2]), trace.Status(enums[3])
	var lengths [5]int
	for i := range lengths {
		lengths[i] = int(binary.LittleEndian.Uint32([]byte(take(4))))
	}
	for i, to := range [...]*string{&s.Name, &s.StatusMessage, &s.SessionID, &s.UserID, &s.AgentID} {
		if lengths[i] > len(rest) {
			return Header{}, errHeader
		}
		*to = take(lengths[i])
	}
	if !h.parseNumbers(rest) {
		return Header{}, errHeader
	}
	h.Traits.Type = s.SpanType
	return h, nil
}

// parseNumbers parses the metrics and traits of a header. It reports false if they are
// cut off, followed by more, or AppendHeader would not write them.
func (h *Header) parseNumbers(text string) bool {
	if text == "" {
		return false
	}
	present, rest, ok := text[0], text[1:], true
	number := func() (n uint64) {
		if len(rest) < 8 {
			ok = false
			return 0
		}
		n, rest = binary.LittleEndian.Uint64([]byte(rest[:8])), rest[8:]
		return n
	}
	for k := range h.Metrics {
		h.Metrics[k] = math.NaN()
		if present&(1<<k) != 0 {
			h.Metrics[k] = math.Float64frombits(number())
			ok = ok && !math.IsNaN(h.Metrics[k])
		}
	}
	if present&hasTraits != 0 {
		h.Traits.Response, h.Traits.Failure = number(), spanmetrics.Failure(number())
		ok = ok && (h.Traits.Response != 0 || h.Traits.Failure != 0)
	}
	return ok && rest == ""
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
