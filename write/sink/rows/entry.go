// Package rows turns spans into blocks of rows, one block for each table that the
// sink fills: spans, their payloads and n-grams, the indexes of traces and
// annotations, attribute keys, rejected spans and the sink's progress.
//
// It is pure: it neither reads nor writes ClickHouse, and equal spans make equal
// rows, so that a batch that is repeated inserts what it inserted before. Content is
// one span rendered; Entry adds what the sink decides about it (its version, its
// creation); Buffer gathers the rows of a batch.
//
// Not here: what a span means (write/normalize), which spans are written
// (write/sink), the tables (migrations).
package rows

import (
	"math"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// The bounds of a plausible start, relative to the time of receipt. A span beyond
// them is stored in the partition of 1970, so that wrong clocks create no
// partitions. Source: design §4.
const (
	maxPast   = 400 * 24 * time.Hour
	maxFuture = 7 * 24 * time.Hour
)

// SortHash returns the number that orders spans of equal start. Source: design §4.
func SortHash(s *trace.Span) uint64 {
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

// PartitionWeek returns the partition of a span as days since 1970: the Monday of
// its start, or 0 if the start is implausible.
func PartitionWeek(start int64, receivedAt time.Time) uint16 {
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

// SplitTime splits a time into microseconds and the remaining nanoseconds.
func SplitTime(nano int64) (micros int64, rest uint16) {
	nano = max(nano, 0) // the columns begin with 1970
	return nano / 1000, uint16(nano % 1000)
}

// TraceKey names a trace in ClickHouse.
type TraceKey struct {
	Project domain.ProjectID
	Trace   trace.TraceID
}

// Entry is one span with what the sink adds to its rows: the type that it declares,
// its version (the place in the topic), and when and by whom it was created.
type Entry struct {
	Key           TraceKey
	Span          *trace.Span
	Declared      trace.Type
	Version       uint64
	ContentHash   uint64
	SortHash      uint64
	Start         int64 // microseconds
	StartNS       uint16
	PartitionWeek uint16

	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy uuid.UUID
}

// SetTraceType sets the type of a span's trace, in its attributes too.
func SetTraceType(s *trace.Span, t trace.Type) {
	s.Type = t
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	if types, ok := ag[semconv.Type].(map[string]any); ok {
		types[semconv.TypeTrace] = t.String()
	}
}
