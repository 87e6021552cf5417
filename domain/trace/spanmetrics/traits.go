package spanmetrics

import (
	"hash/fnv"
	"slices"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Traits are what the roll-up reads of a span beside its metrics.
type Traits struct {
	Type trace.SpanType
	// Response is a hash of the id of the response that a model call names
	// (gen_ai.response.id), 0 for none.
	Response uint64
	Failure  Failure
}

// TraitsOf returns the traits of a span.
func TraitsOf(s *trace.Span) Traits {
	t := Traits{Type: s.SpanType}
	if t.Type.IsModelCall() {
		v, _ := jsonvalue.Lookup(s.Attributes, []string{semconv.Root, semconv.Meta, "response", semconv.ID})
		if id, _ := v.(string); id != "" {
			t.Response = max(hashOf(id), 1)
		}
	}
	if s.Status == trace.StatusError {
		t.Failure = failureOf(s.StatusMessage, !slices.ContainsFunc(s.Events, func(e trace.Event) bool { return e.Name == semconv.ExceptionEvent }))
	}
	return t
}

// Failure identifies the message of a span whose status is ERROR; 0 means another status.
// Bit 0 is set if the span has no exception event, so that its one error is its status.
type Failure uint64

const statusAlone Failure = 1

func failureOf(message string, alone bool) Failure {
	f := max(Failure(hashOf(message))&^statusAlone, 2)
	if alone {
		f |= statusAlone
	}
	return f
}

// message returns what failures with the same message share.
func (f Failure) message() uint64 { return uint64(f &^ statusAlone) }

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}
