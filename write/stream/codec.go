package stream

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/domain"
	"colonnade/domain/trace"
)

// codecVersion is the version of the envelope: key and headers. A reader
// refuses what it does not know, so that the records of a newer writer
// wait in the dead-letter topic instead of being misread.
const codecVersion = "1"

// HeaderDeadReason is the header with the reason why a record was dead-lettered.
const HeaderDeadReason = "dead_reason"

// The other headers. They are text, so that any Kafka tool shows them.
const (
	headerVersion    = "colonnade-version"
	headerProject    = "project"
	headerUser       = "user"
	headerSource     = "source"
	headerOperation  = "operation"
	headerReceivedAt = "received_at" // Unix nanoseconds, decimal

	headerDeadPartition = "dead_partition"
	headerDeadOffset    = "dead_offset"

	// headerRedriven marks a record that was sent again from the dead-letter topic; its value is
	// the position there, partition:offset.
	headerRedriven = "redriven"
)

// envelopeBytes bounds what key, headers and Kafka's own framing add to a
// value; it is kept free below every message limit.
const envelopeBytes = 2 << 10

// reserved reports whether a header name is this package's own.
func reserved(name string) bool {
	switch name {
	case headerVersion, headerProject, headerUser, headerSource, headerOperation, headerReceivedAt,
		HeaderDeadReason, headerDeadPartition, headerDeadOffset, headerRedriven:
		return true
	default:
		return false
	}
}

// encode returns the Kafka record. The key is the trace id as 32 hex digits, the
// form in which OpenTelemetry's own Kafka exporter keys by trace.
func encode(r *Record, topic string) (*kgo.Record, error) {
	if !r.Operation.valid() {
		return nil, fmt.Errorf("stream: unknown operation %q", r.Operation)
	}
	if r.Project.IsZero() {
		return nil, errors.New("stream: record without a project")
	}
	var key []byte
	if !r.Trace.IsZero() {
		key = hex.AppendEncode(make([]byte, 0, 32), r.Trace[:])
	} else if r.Operation != Reject {
		return nil, errors.New("stream: record without a trace")
	}
	// One buffer for all values: a record costs few allocations.
	b := make([]byte, 0, 160)
	headers := make([]kgo.RecordHeader, 0, 6+len(r.Headers))
	add := func(name string, value []byte) {
		b = append(b, value...)
		headers = append(headers, kgo.RecordHeader{Key: name, Value: b[len(b)-len(value) : len(b) : len(b)]})
	}
	var scratch [40]byte
	add(headerVersion, []byte(codecVersion))
	project, _ := uuid.UUID(r.Project).MarshalText()
	add(headerProject, project)
	user, _ := r.User.MarshalText()
	add(headerUser, user)
	add(headerSource, []byte(r.Source))
	add(headerOperation, []byte(r.Operation))
	add(headerReceivedAt, strconv.AppendInt(scratch[:0], r.ReceivedAt.UnixNano(), 10))
	for name, value := range r.Headers {
		if reserved(name) {
			return nil, fmt.Errorf("stream: header %q is reserved", name)
		}
		headers = append(headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return &kgo.Record{Topic: topic, Key: key, Value: r.Value, Headers: headers}, nil
}

// Decode returns the record of a Kafka record. One that cannot be decoded has its Err.
func Decode(k *kgo.Record) Record {
	r := Record{Partition: k.Partition, Offset: k.Offset, Value: k.Value}
	if err := decodeEnvelope(&r, k); err != nil {
		raw := &Raw{Key: k.Key}
		for _, h := range k.Headers {
			raw.Headers = append(raw.Headers, Header(h))
		}
		return Record{Partition: k.Partition, Offset: k.Offset, Value: k.Value, Err: err, Raw: raw}
	}
	return r
}

func decodeEnvelope(r *Record, k *kgo.Record) error {
	var version string
	for _, h := range k.Headers {
		var err error
		switch h.Key {
		case headerVersion:
			version = string(h.Value)
		case headerProject:
			var id uuid.UUID
			id, err = uuid.ParseBytes(h.Value)
			r.Project = domain.ProjectID(id)
		case headerUser:
			r.User, err = uuid.ParseBytes(h.Value)
		case headerSource:
			r.Source = string(h.Value)
		case headerOperation:
			r.Operation = Operation(h.Value)
		case headerReceivedAt:
			var nanos int64
			nanos, err = strconv.ParseInt(string(h.Value), 10, 64)
			r.ReceivedAt = time.Unix(0, nanos).UTC()
		case headerRedriven:
			r.Redriven = true
		case HeaderDeadReason, headerDeadPartition, headerDeadOffset:
			// They name the record's position in a topic that it has left.
		default:
			if r.Headers == nil {
				r.Headers = make(map[string]string, 1)
			}
			r.Headers[h.Key] = string(h.Value)
		}
		if err != nil {
			return fmt.Errorf("stream: header %s: %w", h.Key, err)
		}
	}
	switch {
	case version == "":
		return fmt.Errorf("stream: record without a %s header", headerVersion)
	case version != codecVersion:
		return fmt.Errorf("stream: record of version %q, this reader knows %q", version, codecVersion)
	case r.Project.IsZero():
		return errors.New("stream: record without a project")
	case !r.Operation.valid():
		return fmt.Errorf("stream: unknown operation %q", r.Operation)
	case r.ReceivedAt.IsZero():
		return errors.New("stream: record without a time of receipt")
	case len(k.Key) == 0 && r.Operation == Reject:
		return nil
	case len(k.Key) != 32:
		return fmt.Errorf("stream: key of %d bytes is no trace id", len(k.Key))
	}
	var err error
	if r.Trace, err = trace.ParseTraceID(string(k.Key)); err != nil {
		return fmt.Errorf("stream: key: %w", err)
	}
	return nil
}

// maxValueBytes returns the largest value that fits a message limit.
func maxValueBytes(limit int) int { return max(min(limit, math.MaxInt32)-envelopeBytes, 0) }

// Revive returns a record of the dead-letter topic as it was before, for a topic.
func Revive(k *kgo.Record, topic string) *kgo.Record {
	alive := &kgo.Record{Topic: topic, Key: k.Key, Value: k.Value}
	for _, h := range k.Headers {
		switch h.Key {
		case HeaderDeadReason, headerDeadPartition, headerDeadOffset, headerRedriven:
		default:
			alive.Headers = append(alive.Headers, h)
		}
	}
	position := strconv.AppendInt(nil, int64(k.Partition), 10)
	position = append(position, ':')
	position = strconv.AppendInt(position, k.Offset, 10)
	alive.Headers = append(alive.Headers, kgo.RecordHeader{Key: headerRedriven, Value: position})
	return alive
}
