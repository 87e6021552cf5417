package ingest

import (
	"context"
	"fmt"
	"strings"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/stream"
)

// Logs publishes log records that hold events of model calls to a topic of their own, under
// the key of their trace; write/logevents joins them to their spans. It is safe for
// concurrent use.
type Logs struct {
	producer *stream.Producer
	now      func() time.Time
}

// NewLogs returns a Logs that publishes through a producer of the topic of logs.
func NewLogs(producer *stream.Producer, now func() time.Time) *Logs {
	return &Logs{producer: producer, now: now}
}

// LogsReceipt is the result of a request with log records.
type LogsReceipt struct {
	// Count is the number of records that Kafka acknowledged, Ignored that of the others.
	Count, Ignored int
}

// logRecordBytes is about how large a record of several log records gets.
const logRecordBytes = 1 << 20

// Publish publishes the log records that hold an event of a model call and name its span. It
// returns after Kafka has acknowledged them. Errors are TooLarge and Unavailable; then the
// caller should send the whole request again.
func (l *Logs) Publish(ctx context.Context, source string, logs *logspb.LogsData) (LogsReceipt, error) {
	caller := domain.PrincipalFrom(ctx)
	if caller.Project.IsZero() {
		return LogsReceipt{}, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	var receipt LogsReceipt
	groups := logGroups{last: map[trace.TraceID]*logGroup{}}
	for _, resource := range logs.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				id, ok := spanEvent(record)
				if !ok {
					receipt.Ignored++
					continue
				}
				receipt.Count++
				groups.add(id, resource, scope, record)
			}
		}
	}
	records := make([]stream.Record, 0, len(groups.all))
	for _, g := range groups.all {
		value, err := proto.Marshal(&g.data)
		if err != nil {
			return LogsReceipt{}, fmt.Errorf("ingest: encode log records: %w", err)
		}
		records = append(records, stream.Record{
			Project: caller.Project, User: caller.User, Trace: g.trace, Source: source, Operation: stream.Upsert, ReceivedAt: l.now().UTC(), Value: value,
		})
	}
	if len(records) > 0 {
		if _, err := l.producer.Publish(ctx, records); err != nil {
			return LogsReceipt{}, err
		}
	}
	return receipt, nil
}

// spanEvent returns the trace of a log record that holds an event of a model call; ok is
// false for every other record.
func spanEvent(r *logspb.LogRecord) (id trace.TraceID, ok bool) {
	var span trace.SpanID
	if len(r.GetTraceId()) != len(id) || len(r.GetSpanId()) != len(span) || !strings.HasPrefix(EventName(r), "gen_ai.") {
		return id, false
	}
	copy(id[:], r.GetTraceId())
	copy(span[:], r.GetSpanId())
	return id, !id.IsZero() && !span.IsZero()
}

// EventName returns the name of the event that a log record holds; older senders have it as
// an attribute. It is empty for a record without one.
func EventName(r *logspb.LogRecord) string {
	if r.GetEventName() != "" {
		return r.GetEventName()
	}
	for _, a := range r.GetAttributes() {
		if a.GetKey() == "event.name" {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// logGroup holds log records of one trace that become one record of the topic.
type logGroup struct {
	trace trace.TraceID
	data  logspb.LogsData
	size  int
	// resource and scope are those of the last log record, as they came.
	resource *logspb.ResourceLogs
	scope    *logspb.ScopeLogs
}

// logGroups collects log records by trace, in the order in which they came.
type logGroups struct {
	all  []*logGroup
	last map[trace.TraceID]*logGroup
}

func (s *logGroups) add(id trace.TraceID, resource *logspb.ResourceLogs, scope *logspb.ScopeLogs, record *logspb.LogRecord) {
	size := proto.Size(record)
	g := s.last[id]
	if g == nil || g.size+size > logRecordBytes {
		g = &logGroup{trace: id}
		s.all, s.last[id] = append(s.all, g), g
	}
	if g.resource != resource {
		g.resource, g.scope = resource, nil
		g.data.ResourceLogs = append(g.data.ResourceLogs, &logspb.ResourceLogs{Resource: resource.GetResource(), SchemaUrl: resource.GetSchemaUrl()})
		g.size += proto.Size(resource.GetResource())
	}
	in := g.data.ResourceLogs[len(g.data.ResourceLogs)-1]
	if g.scope != scope {
		g.scope = scope
		in.ScopeLogs = append(in.ScopeLogs, &logspb.ScopeLogs{Scope: scope.GetScope(), SchemaUrl: scope.GetSchemaUrl()})
	}
	of := in.ScopeLogs[len(in.ScopeLogs)-1]
	of.LogRecords = append(of.LogRecords, record)
	g.size += size
}
