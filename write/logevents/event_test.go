package logevents

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"

	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/normalize"
)

type members = map[string]any

func text(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func pair(key string, v *commonpb.AnyValue) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: v}
}

func TestEventsOfLogRecords(t *testing.T) {
	t.Parallel()
	list := &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{
		pair("content", text("hi")), pair("nothing", nil),
		pair("n", &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{{Value: &commonpb.AnyValue_IntValue{IntValue: 7}}}}}}),
	}}}}
	tests := []struct {
		name string
		in   *logspb.LogRecord
		want trace.Event
	}{
		{"the members of the body", &logspb.LogRecord{TimeUnixNano: 5, EventName: "gen_ai.choice", Body: list}, trace.Event{Name: "gen_ai.choice", Time: 5, Attributes: members{"content": "hi", "n": []any{int64(7)}}}},
		{"a text as the body", &logspb.LogRecord{TimeUnixNano: 5, EventName: "gen_ai.choice", Body: text("hi")}, trace.Event{Name: "gen_ai.choice", Time: 5, Attributes: members{"body": "hi"}}},
		{"attributes win over the body", &logspb.LogRecord{TimeUnixNano: 5, EventName: "gen_ai.choice", Body: list, Attributes: []*commonpb.KeyValue{pair("content", text("yo"))}}, trace.Event{Name: "gen_ai.choice", Time: 5, Attributes: members{"content": "yo", "n": []any{int64(7)}}}},
		{"the name as an attribute, the time of observation", &logspb.LogRecord{ObservedTimeUnixNano: 6, Attributes: []*commonpb.KeyValue{pair("event.name", text("gen_ai.user.message"))}}, trace.Event{Name: "gen_ai.user.message", Time: 6, Attributes: members{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, eventOf(tt.in)); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

// What the client states of inputs and outputs itself stands; what earlier events stated
// yields to what all of them state.
func TestEventsBecomeInputsAndOutputs(t *testing.T) {
	t.Parallel()
	normalizer, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
	require.NoError(t, err)
	message := func(at int64, role, content string) event {
		return event{Event: trace.Event{Name: "gen_ai." + role + ".message", Time: at, Attributes: members{"content": content}}}
	}
	choice := event{Event: trace.Event{Name: "gen_ai.choice", Time: 9, Attributes: members{"message": members{"role": "assistant", "content": "sunny"}}}}
	prompt := func(pairs ...string) members {
		var list []any
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, members{"role": pairs[i], "content": pairs[i+1]})
		}
		return members{"prompt": list}
	}
	completion := members{"completion": []any{members{"role": "assistant", "content": "sunny"}}}
	tests := []struct {
		name    string
		data    any
		batches [][]event
		want    members
		events  int
	}{
		{"all at once, in the order of their times", nil, [][]event{{choice, message(2, "user", "weather?"), message(1, "system", "be brief")}}, members{"inputs": prompt("system", "be brief", "user", "weather?"), "outputs": completion}, 3},
		{"one after the other", nil, [][]event{{message(1, "system", "be brief")}, {message(2, "user", "weather?")}, {choice}}, members{"inputs": prompt("system", "be brief", "user", "weather?"), "outputs": completion}, 3},
		{"once more", nil, [][]event{{choice}, {choice, choice}}, members{"outputs": completion}, 1},
		{"inputs of the client stand", members{"inputs": members{"q": "mine"}}, [][]event{{message(2, "user", "weather?"), choice}}, members{"inputs": members{"q": "mine"}, "outputs": completion}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			span := trace.Span{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Name: "chat", Start: 1_700_000_000_000_000_000, End: 1_700_000_001_000_000_000,
				Attributes: members{"gen_ai": members{"operation": members{"name": "chat"}, "request": members{"model": "gpt-4o"}}, "ag": members{}},
			}
			if tt.data != nil {
				span.Attributes["ag"] = members{"data": tt.data}
			}
			for i, batch := range tt.batches {
				changed, err := addEvents(normalizer.Spans, &span, batch)
				require.NoError(t, err)
				require.Equal(t, i == 0 || len(span.Events) > 1, changed)
			}
			require.Len(t, span.Events, tt.events)
			got := span.Attributes["ag"].(members)["data"]
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ag.data (-want +got):\n%s", diff)
			}
		})
	}
}
