package sink

import (
	"math"
	"time"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
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
		if value, ok := jsonvalue.Lookup(tree, path); ok {
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
