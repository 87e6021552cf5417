package trace

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
)

// Head is what is known of a span beside its documents, as the store keeps it
// next to them: who reads a trace needs no other table.
type Head struct {
	// Span has everything but attributes, events, links, resource, scope and what
	// is derived from them; its trace type is not here either, that is the whole
	// trace's. Times are those of the columns: nothing before 1970; CreatedAt and
	// UpdatedAt in microseconds, zero for none. Version is not here.
	Span Span
	// Declared is the trace type that this span itself declared, 0 for none.
	Declared Type
	// Hash is the id of the span's hash, zero without one. Source: contract §1.8.
	Hash uuid.UUID
	// Metrics are the incremental metrics in the order of SumUp, NaN for none; nil
	// where the head does not know them.
	Metrics *[MetricCount]float64
}

// The first byte of a head. Another layout gets another number.
const (
	headFormat        = 1 // without metrics
	headFormatMetrics = 2
)

// headBytes is the length of the fixed part: the format, parent, start, end,
// received, updated, by whom, the hash, four enums, five lengths.
const headBytes = 1 + 8 + 4*8 + 3*16 + 4 + 5*4

// AppendHead appends a head to dst. The layout, numbers little-endian:
// format u8, 1 or 2; parent 8 bytes; start and end i64, Unix nanoseconds; created
// and updated i64, Unix microseconds, 0 for none; created by, updated by, hash, 16
// bytes each; declared trace type, span type (0 where none was declared), kind
// and status u8; five lengths u32; the texts of those lengths: name, status
// message, session, user, agent. With format 2 then a byte that has bit k set
// where there is metric k, and those metrics, f64, ascending.
// migrations/clickhouse/0011_documents.sql makes format 1 in SQL.
func AppendHead(dst []byte, h *Head) []byte {
	s := &h.Span
	format := byte(headFormat)
	if h.Metrics != nil {
		format = headFormatMetrics
	}
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
	if h.Metrics == nil {
		return dst
	}
	at := len(dst)
	dst = append(dst, 0)
	for k, v := range h.Metrics {
		if !math.IsNaN(v) {
			dst[at] |= 1 << k
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return dst
}

func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

var errHead = domain.Wrap(domain.Internal, errors.New("trace: a head is cut off or of an unknown format"), "A stored span cannot be read.")

// ParseHead reads what AppendHead wrote. Enums out of their range are kept as
// they are. It shares no memory with text but that of its strings.
func ParseHead(text string) (h Head, err error) {
	if len(text) < headBytes || text[0] != headFormat && text[0] != headFormatMetrics {
		return h, errHead
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
	s.CreatedAt, s.UpdatedAt = momentOf(number()), momentOf(number())
	copy(s.CreatedBy[:], take(16))
	copy(s.UpdatedBy[:], take(16))
	copy(h.Hash[:], take(16))
	enums := take(4)
	h.Declared, s.SpanType, s.Kind, s.Status = Type(enums[0]), SpanType(enums[1]), Kind(enums[2]), Status(enums[3])
	var lengths [5]int
	for i := range lengths {
		lengths[i] = int(binary.LittleEndian.Uint32([]byte(take(4))))
	}
	for i, to := range [...]*string{&s.Name, &s.StatusMessage, &s.SessionID, &s.UserID, &s.AgentID} {
		if lengths[i] > len(rest) {
			return Head{}, errHead
		}
		*to = take(lengths[i])
	}
	if text[0] == headFormatMetrics {
		if h.Metrics, rest = metricsOf(rest); h.Metrics == nil {
			return Head{}, errHead
		}
	}
	if rest != "" {
		return Head{}, errHead
	}
	return h, nil
}

// metricsOf reads the metrics of a head, and gives what follows; nil where they
// are cut off or none that AppendHead writes.
func metricsOf(text string) (*[MetricCount]float64, string) {
	if text == "" || text[0]>>MetricCount != 0 {
		return nil, text
	}
	present, rest := text[0], text[1:]
	out := new([MetricCount]float64)
	for k := range out {
		out[k] = math.NaN()
		if present&(1<<k) == 0 {
			continue
		}
		if len(rest) < 8 {
			return nil, text
		}
		out[k], rest = math.Float64frombits(binary.LittleEndian.Uint64([]byte(rest[:8]))), rest[8:]
		if math.IsNaN(out[k]) {
			return nil, text
		}
	}
	return out, rest
}

func momentOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// TypeOf is the type of a whole trace: what its spans declare, the greatest where
// they differ; else an annotation where one of them has links. Source: contract
// §0 row 7, §1.7.
func TypeOf(declared Type, linked bool) Type {
	switch {
	case declared != 0:
		return declared
	case linked:
		return Annotation
	default:
		return Invocation
	}
}
