// Package stream is the log of spans: what a record is, how it is written to
// Kafka, and how it is read back in ranges that a restart reproduces. It is the
// only package that imports franz-go, but for the embedded broker (deploy/embedded).
//
// Here: the record codec (versioned), Producer, Consumer with one Partition for
// each assigned partition, the dead topic and its Redrive, and the creation of
// the topics. Not here: what a record's value means (write/otlp/wire, write/normalize) and
// what is done with it (write/sink). Callers: write/ingest and write/sink.
//
// Delivery. Publish answers only after all in-sync replicas have the records
// (acks=all, idempotent). A consumer names the range it is about to make
// durable in the metadata of its commit (Intend), makes it durable, and then
// moves the offset (Commit): whoever owns the partition after a crash finds the
// range in Intended and repeats exactly it. Source: design §3.
package stream

import (
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// Operation says what a record asks of the store.
type Operation string

// The operations. Source: design §3.2, §3.7.
const (
	// Upsert writes spans; a span that is already there is replaced.
	Upsert Operation = "upsert"
	// Edit writes the new state of a whole trace: spans it does not hold are removed.
	Edit Operation = "edit"
	// Delete removes the spans its value names, or the whole trace when the value is empty.
	Delete Operation = "delete"
	// Reject reports a span refused at the door; its value is a Rejection.
	Reject Operation = "reject"
)

// HeaderScope bounds what an Edit replaces: with ScopeSpans, the spans that its
// value holds and no others of their trace.
const (
	HeaderScope = "scope"
	ScopeSpans  = "spans"
)

// valid tells whether the operation is one of the four.
func (o Operation) valid() bool {
	return o == Upsert || o == Edit || o == Delete || o == Reject
}

// Record is one message of the log: spans of one trace from one request.
type Record struct {
	// Partition and Offset are set when consumed.
	Partition int32
	Offset    int64

	Project domain.ProjectID
	User    uuid.UUID
	// Trace is the key, so that a trace lives in one partition. It is zero only
	// for a Reject whose trace id could not be read.
	Trace trace.TraceID
	// Source names the door: otlp, json, simple, invoke ...
	Source    string
	Operation Operation
	// ReceivedAt is when the door took the request; deterministic processing
	// calls it "now". Nanosecond precision, UTC.
	ReceivedAt time.Time
	// Redriven tells that a consumed record comes from the dead topic: much may have
	// been done to its trace since ReceivedAt.
	Redriven bool
	// Headers are additional ones; names that this package uses itself are refused. Nil means none.
	Headers map[string]string
	// Value is an OTLP TracesData holding spans of Trace; for Reject it is a Rejection as JSON.
	Value []byte

	// Err tells why a consumed record's key or headers cannot be decoded; then
	// only Partition, Offset, Value and Raw are set. Such a record belongs in the dead topic.
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

// Rejection is the value of a Reject record: a span refused at the door. The
// ids are hex, empty where they could not be read.
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

// Range is a run of offsets, both ends inclusive.
type Range struct{ First, Last int64 }
