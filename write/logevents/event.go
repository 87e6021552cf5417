package logevents

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/ingest"
	"colonnade/write/normalize"
	"colonnade/write/otlp/wire"
	"colonnade/write/stream"
)

// event is an event of a span that came as a log record.
type event struct {
	trace.Event
	project    domain.ProjectID
	trace      trace.TraceID
	span       trace.SpanID
	user       uuid.UUID
	receivedAt time.Time
	offset     int64
	// raw is the attributes as JSON, for people who look for what was rejected.
	raw string
	// bytes is about what it takes in memory.
	bytes int
}

// eventsOf returns the events of a record.
func eventsOf(r *stream.Record) ([]event, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	var logs logspb.LogsData
	if err := proto.Unmarshal(r.Value, &logs); err != nil {
		return nil, fmt.Errorf("logevents: decode log records: %w", err)
	}
	var events []event
	for _, resource := range logs.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, l := range scope.GetLogRecords() {
				e := event{Event: eventOf(l), project: r.Project, trace: r.Trace, user: r.User, receivedAt: r.ReceivedAt, offset: r.Offset}
				copy(e.span[:], l.GetSpanId())
				e.raw = string(jsonvalue.AppendObject(nil, e.Attributes))
				e.bytes = 2*len(e.raw) + len(e.Name) + 256
				events = append(events, e)
			}
		}
	}
	return events, nil
}

// eventOf returns a log record as the event of a span: its attributes, and the members of
// its body where the body is an object, as the older conventions have it.
func eventOf(l *logspb.LogRecord) trace.Event {
	at := l.GetTimeUnixNano()
	if at == 0 {
		at = l.GetObservedTimeUnixNano()
	}
	attributes := make(map[string]any, len(l.GetAttributes())+2)
	switch body := valueOf(l.GetBody()).(type) {
	case nil:
	case map[string]any:
		maps.Copy(attributes, body)
	default:
		attributes["body"] = body
	}
	for _, a := range l.GetAttributes() {
		if a.GetKey() != "event.name" {
			attributes[a.GetKey()] = valueOf(a.GetValue())
		}
	}
	maps.DeleteFunc(attributes, func(_ string, v any) bool { return v == nil })            // a span keeps none
	return trace.Event{Name: ingest.EventName(l), Time: int64(at), Attributes: attributes} //nolint:gosec // normalizing bounds it
}

// valueOf returns an AnyValue as the values of JSON; bytes are base64.
func valueOf(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return v.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *commonpb.AnyValue_ArrayValue:
		list := make([]any, 0, len(v.ArrayValue.GetValues()))
		for _, e := range v.ArrayValue.GetValues() {
			list = append(list, valueOf(e))
		}
		return list
	case *commonpb.AnyValue_KvlistValue:
		object := make(map[string]any, len(v.KvlistValue.GetValues()))
		for _, a := range v.KvlistValue.GetValues() {
			object[a.GetKey()] = valueOf(a.GetValue())
		}
		return object
	default:
		return nil
	}
}

// addEvents adds to a stored span the events that it does not have, and what they state of its
// inputs and outputs where the client itself stated none. changed is false where
// the span has all of them.
func addEvents(n Normalize, span *trace.Span, events []event) (changed bool, err error) {
	jsonvalue.Expand(span.Attributes)
	known := map[string]bool{}
	for _, e := range span.Events {
		known[keyOf(e)] = true
	}
	all := slices.Clone(span.Events)
	for _, e := range events {
		if e.Time == 0 {
			e.Time = span.Start
		}
		if key := keyOf(e.Event); !known[key] {
			known[key] = true
			all = append(all, e.Event)
		}
	}
	if len(all) == len(span.Events) {
		return false, nil
	}
	slices.SortStableFunc(all, func(a, b trace.Event) int { return int(min(max(a.Time-b.Time, -1), 1)) })
	before, err := dataOf(n, span, span.Events)
	if err != nil {
		return false, err
	}
	after, err := dataOf(n, span, all)
	if err != nil {
		return false, err
	}
	span.Events = all
	data := object(object(span.Attributes, semconv.Root), semconv.Data)
	for _, name := range []string{semconv.Inputs, semconv.Outputs} {
		// What earlier events stated yields to what all of them state.
		if after[name] != nil && (data[name] == nil || same(data[name], before[name])) {
			data[name] = after[name]
		}
	}
	return true, nil
}

// dataOf returns the inputs and outputs that a span would have by its attributes outside ag
// and by some events.
func dataOf(n Normalize, span *trace.Span, events []trace.Event) (map[string]any, error) {
	probe := trace.Span{
		TraceID: span.TraceID, SpanID: span.SpanID, Name: span.Name, Kind: span.Kind, Start: span.Start, End: span.End,
		Scope: span.Scope, Attributes: map[string]any{},
	}
	for _, e := range events {
		if strings.HasPrefix(e.Name, "gen_ai.") {
			probe.Events = append(probe.Events, e)
		}
	}
	for name, value := range span.Attributes {
		if name != semconv.Root {
			flatten(probe.Attributes, name, value)
		}
	}
	body, err := wire.AppendBody(nil, []trace.Span{probe})
	if err != nil {
		return nil, err
	}
	spans, refused, err := n(normalize.Meta{ReceivedAt: time.Unix(0, span.Start)}, body)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 {
		return nil, domain.E(domain.Rejected, "%s", refused[0].Reason)
	}
	jsonvalue.Expand(spans[0].Attributes)
	return object(object(spans[0].Attributes, semconv.Root), semconv.Data), nil
}

// flatten writes the leaves of a tree of attributes under their dotted names.
func flatten(to map[string]any, name string, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		to[name] = value
		return
	}
	for key, member := range members {
		flatten(to, name+"."+key, member)
	}
}

// object returns the object under a key, which is made where there is none.
func object(in map[string]any, key string) map[string]any {
	found, ok := in[key].(map[string]any)
	if !ok {
		found = map[string]any{}
		in[key] = found
	}
	return found
}

// keyOf returns what makes two events the same.
func keyOf(e trace.Event) string {
	return fmt.Sprintf("%d %s %s", e.Time, e.Name, jsonvalue.AppendObject(nil, e.Attributes))
}

func same(a, b any) bool {
	return string(jsonvalue.Append(nil, a)) == string(jsonvalue.Append(nil, b))
}
