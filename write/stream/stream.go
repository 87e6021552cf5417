// Package stream writes spans to Kafka. Only it, its sub-packages and the embedded broker
// (deploy/embedded) import franz-go.
//
// Here: records and their versioned encoding, the Producer with the dead-letter topic, the
// creation of the topics, and what the clients of the sub-packages have in common. Not here:
// reading (write/stream/consumer), sending dead-lettered records again (write/stream/redrive),
// and the meaning of a record's value (write/otlp/wire, write/normalize).
//
// Publish returns after all in-sync replicas have the records (acks=all, idempotent).
// Source: design §3.
package stream

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// Operation is how a record changes the stored spans.
type Operation string

// The operations. Source: design §3.2, §3.7.
const (
	// Upsert writes spans; a span that is already there is replaced.
	Upsert Operation = "upsert"
	// Edit writes the new state of a whole trace: spans it does not hold are removed.
	Edit Operation = "edit"
	// Delete removes the spans its value names, or the whole trace when the value is empty.
	Delete Operation = "delete"
	// Reject reports a span that a receiver refused; its value is a Rejection.
	Reject Operation = "reject"
)

// HeaderScope bounds what an Edit replaces: with ScopeSpans, the spans that its
// value holds and no others of their trace.
const (
	HeaderScope = "scope"
	ScopeSpans  = "spans"
)

// valid reports whether the operation is one of the four.
func (o Operation) valid() bool {
	return o == Upsert || o == Edit || o == Delete || o == Reject
}

// Record is one message of the topic: spans of one trace from one request.
type Record struct {
	// Partition and Offset are set when consumed.
	Partition int32
	Offset    int64

	Project domain.ProjectID
	User    uuid.UUID
	// Trace is the key, so that a trace lives in one partition. It is zero only
	// for a Reject whose trace id could not be read.
	Trace trace.TraceID
	// Source names the receiver: otlp, json, simple, invoke ...
	Source    string
	Operation Operation
	// ReceivedAt is when the request was received, in UTC with nanoseconds. Processing takes
	// it for the current time, so that a repetition has the same result.
	ReceivedAt time.Time
	// Redriven reports that a consumed record comes from the dead-letter topic: its trace may
	// have changed since ReceivedAt.
	Redriven bool
	// Headers are additional ones; names that this package uses itself are refused. Nil means none.
	Headers map[string]string
	// Value is an OTLP TracesData holding spans of Trace; for Reject it is a Rejection as JSON.
	Value []byte

	// Err is why a consumed record's key or headers cannot be decoded; then only Partition,
	// Offset, Value and Raw are set. Such a record belongs in the dead-letter topic.
	Err error
	// Raw is the record's envelope as it came, kept only beside Err.
	Raw *Raw
}

// Raw is a record's undecoded envelope.
type Raw struct {
	Key     []byte
	Headers []Header
}

// Header is a record header as Kafka has it.
type Header struct {
	Key   string
	Value []byte
}

// Rejection is the value of a Reject record: a span that a receiver refused. The ids are
// hex, empty where they could not be read.
type Rejection struct {
	// Stage is where it was refused: "scan" or "json".
	Stage    string `json:"stage"`
	Reason   string `json:"reason"`
	TraceID  string `json:"trace_id"`
	SpanID   string `json:"span_id"`
	SpanName string `json:"span_name"`
	// Raw is the beginning of the span as it came; bounded.
	Raw []byte `json:"raw"`
}

// Range is a range of offsets, both ends inclusive.
type Range struct{ First, Last int64 }
