package simple

import (
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Words are the origin, kind and channel that a span's record reads as under
// the face Trace, whether or not it holds a record.
func Words(s *trace.Span) (Origin, Kind, Channel) {
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	flags, _ := ag[semconv.Flags].(map[string]any)
	ours, _ := s.Attributes[own].(map[string]any)
	return originOf(Trace, flags), kindOf(flags, ours), channelOf(flags, ours)
}
