package recent

import (
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
)

// SpanMetrics is what the finalizer needs of a span, in its latest version.
type SpanMetrics struct {
	ID, Parent          trace.SpanID
	TraceType, Declared trace.Type
	Linked              bool
	// Root and NotRoot are whether its stored rows say that it is a root, and that it is
	// none; after a crash of the finalizer one may say this and another that.
	Root, NotRoot          bool
	StartNS, PartitionWeek uint16
	Start, End, Created    int64 // microseconds
	SortHash, Version      uint64
	Traits                 spanmetrics.Traits
	// Own holds the incremental metrics in the order of spanmetrics.Sum, NaN where there is none.
	Own  [spanmetrics.Count]float64
	Name string
}

// Identifiers is the number of ids that are propagated to the root: session, user, agent.
const Identifiers = 3

// NoteIdentifiers notes which identifiers a root does not name itself, and which
// another span names, so that the finalizer can propagate them to the root.
func (k *Trace) NoteIdentifiers(s *trace.Span) {
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	parked, _ := ag[semconv.Unsupported].(map[string]any)
	for i, object := range [Identifiers]any{ag[semconv.Session], ag[semconv.User], parked[semconv.Agent]} {
		members, _ := object.(map[string]any)
		id, _ := members[semconv.ID].(string)
		switch bit := uint8(1) << i; {
		case s.IsRoot() && id == "":
			k.lacking |= bit
		case !s.IsRoot() && id != "":
			k.naming |= bit
		default: // nothing to propagate
		}
	}
}

// MayPromote reports whether a trace, first stored at created, may have ids that its
// roots lack. If it was stored before it was recent, either may be stored.
func (k *Trace) MayPromote(created int64) bool {
	return k.lacking&k.naming != 0 || k.Restored || k.lacking|k.naming != 0 && k.OlderThan(created)
}
