//go:build embedded

package e2e_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/registry/accounts"
)

// An application that uses the Langfuse SDK switches by its host setting and its keys alone.
func TestLangfuseByItsHostAlone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("pk-lf-public:"+s.keys["ours owner"]))
	call := func(status int, method, path, body string) reply {
		r := s.as("", method, path, body, "Authorization", basic)
		require.Equal(t, status, r.Code, "%s: %s", path, r.Text)
		return r
	}
	id := newTraceID()
	call(http.StatusAccepted, "POST", "/api/public/otel/v1/traces", `{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"langfuse-sdk"},"spans":[{"traceId":"`+id+`","spanId":"1000000000000001","name":"call",
		"startTimeUnixNano":"1793527200000000000","endTimeUnixNano":"1793527201000000000","attributes":[{"key":"langfuse.observation.type","value":{"stringValue":"generation"}},
		{"key":"langfuse.observation.model.name","value":{"stringValue":"gpt-4o-mini"}},{"key":"langfuse.observation.usage_details","value":{"stringValue":"{\"input\":10,\"output\":5}"}}]}]}]}]}`)
	score := func(value int) string {
		return fmt.Sprintf(`{"batch":[{"id":"e1","type":"score-create","timestamp":"2026-11-01T10:00:00Z","body":{"id":"score-1","traceId":"%s","observationId":"1000000000000001","name":"user feedback","value":%d,"dataType":"NUMERIC","comment":"so so"}},
			{"id":"e2","type":"generation-create","body":{}},{"id":"e3","type":"score-create","body":{"traceId":"none","name":"x","value":1}}],"metadata":{"sdk":"python"}}`, id, value)
	}
	first := call(http.StatusMultiStatus, "POST", "/api/public/ingestion", score(1))
	require.Len(t, first.at("successes"), 1)
	require.Len(t, first.at("errors"), 2, first.Text)
	require.Contains(t, first.Text, "/api/public/otel/v1/traces", "it says where spans go")
	call(http.StatusMultiStatus, "POST", "/api/public/ingestion", score(2))
	whole := call(http.StatusOK, "POST", "/api/public/scores", `{"traceId":"`+id+`","name":"helpful","value":1,"dataType":"BOOLEAN"}`)
	require.NotEmpty(t, whole.at("id"))

	var annotations []any
	eventually(t, "both scores are stored, the second value of the first", func() bool {
		r := s.ok(http.StatusOK, "POST", "/annotations/query", `{}`)
		annotations, _ = r.at("annotations").([]any)
		return len(annotations) == 2 && strings.Contains(r.Text, `"score":2`)
	})
	byValue := map[string]any{}
	for _, a := range annotations {
		byValue[fmt.Sprint(at(a, "references", "evaluator", "slug"))] = at(a, "data", "outputs")
	}
	require.Equal(t, map[string]any{
		"user-feedback": map[string]any{"score": 2.0, "comment": "so so"},
		"helpful":       map[string]any{"score": true},
	}, byValue)
	evaluators := s.ok(http.StatusOK, "POST", "/simple/evaluators/query", `{}`)
	require.Contains(t, evaluators.Text, `"user-feedback"`)

	projects := call(http.StatusOK, "GET", "/api/public/projects", "")
	require.Contains(t, projects.Text, s.accounts["ours"].Project.ID.String())
	other := call(http.StatusNotFound, "GET", "/api/public/v2/prompts/x", "")
	require.Contains(t, other.Text, "POST /api/public/otel/v1/traces")

	// A key that can be read off a page makes no evaluator.
	key, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: s.accounts["ours"].Project.ID, User: s.accounts["ours"].User.ID, Purpose: domain.PurposeIngest})
	require.NoError(t, err)
	r := s.as("", "POST", "/api/public/scores", `{"traceId":"`+id+`","name":"from-a-page","value":"good","dataType":"CATEGORICAL"}`, "Authorization", "Bearer "+key.Reveal())
	require.Equal(t, http.StatusOK, r.Code, r.Text)
	require.NotContains(t, s.ok(http.StatusOK, "POST", "/simple/evaluators/query", `{}`).Text, "from-a-page")
}

// Events of model calls that come as log records join their spans, whichever comes first.
func TestLogRecordsJoinTheirSpans(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_LOG_EVENTS_POLL_INTERVAL=50ms", "COLONNADE_LOG_EVENTS_MAX_POLL_INTERVAL=200ms")
	atWork(t, s.LogEvents.Run)
	const spanID = "1000000000000001"
	span := func(id string) {
		s.ok(http.StatusAccepted, "POST", "/otlp/v1/traces", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"`+id+`","spanId":"`+spanID+`","name":"chat gpt-4o","kind":3,
			"startTimeUnixNano":"1793527200000000000","endTimeUnixNano":"1793527201000000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},
			{"key":"gen_ai.request.model","value":{"stringValue":"gpt-4o"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"10"}},{"key":"gen_ai.usage.cost","value":{"doubleValue":0.5}}]}]}]}]}`)
	}
	record := func(id, event, at, body string) string {
		return `{"traceId":"` + id + `","spanId":"` + spanID + `","eventName":"` + event + `","timeUnixNano":"` + at + `","body":{"kvlistValue":{"values":[` + body + `]}},"attributes":[{"key":"gen_ai.system","value":{"stringValue":"openai"}}]}`
	}
	logs := func(records string) {
		s.ok(http.StatusOK, "POST", "/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"opentelemetry.instrumentation.openai_v2"},"logRecords":[`+records+`]}]}]}`)
	}
	question := func(id string) string {
		return record(id, "gen_ai.user.message", "1793527200100000000", `{"key":"content","value":{"stringValue":"weather?"}}`)
	}
	answer := func(id string) string {
		return record(id, "gen_ai.choice", "1793527200900000000", `{"key":"finish_reason","value":{"stringValue":"stop"}},{"key":"message","value":{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"assistant"}},{"key":"content","value":{"stringValue":"sunny"}}]}}}`)
	}
	before, after, apart := newTraceID(), newTraceID(), newTraceID()
	logs(question(before) + "," + answer(before))
	span(before)
	span(after)
	eventually(t, "the span is stored", func() bool {
		return s.do("GET", "/spans/"+after+"/"+spanID, "").Code == http.StatusOK
	})
	logs(question(after) + "," + answer(after))
	span(apart)
	logs(question(apart))
	events := func(id string) []any {
		list, _ := at(s.do("GET", "/spans/"+id+"/"+spanID, "").at("span"), "events").([]any)
		return list
	}
	eventually(t, "the first event joined", func() bool { return len(events(apart)) == 1 })
	logs(answer(apart) + "," + answer(apart)) // an exporter may send one again
	for name, id := range map[string]string{"logs first": before, "span first": after, "one after the other": apart} {
		eventually(t, name, func() bool { return len(events(id)) == 2 })
		r := s.ok(http.StatusOK, "GET", "/spans/"+id+"/"+spanID, "")
		ag := at(r.at("span"), "attributes", "ag")
		require.Equal(t, []any{map[string]any{"role": "user", "content": "weather?"}}, at(ag, "data", "inputs", "prompt"), "%s: %s", name, r.Text)
		require.Equal(t, []any{map[string]any{"role": "assistant", "content": "sunny", "finish_reason": "stop"}}, at(ag, "data", "outputs", "completion"), name)
		require.Equal(t, "chat", at(ag, "type", "span"), name)
		require.InDelta(t, 0.5, at(ag, "metrics", "costs", "incremental", "total"), 1e-12, "%s: the cost stays what the sender reported", name)
		require.Equal(t, "gen_ai.user.message", at(events(id)[0], "name"))
	}
}

// An event whose span does not come in time is recorded as rejected.
func TestLateLogRecords(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_LOG_EVENTS_POLL_INTERVAL=20ms", "COLONNADE_LOG_EVENTS_MAX_POLL_INTERVAL=20ms", "COLONNADE_LOG_EVENTS_JOIN_WINDOW=1ms")
	atWork(t, s.LogEvents.Run)
	id := newTraceID()
	s.ok(http.StatusOK, "POST", "/otlp/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"`+id+`","spanId":"1000000000000001","eventName":"gen_ai.choice","body":{"stringValue":"alone"}}]}]}]}`)
	eventually(t, "it is rejected", func() bool {
		r := s.ok(http.StatusOK, "GET", "/rejected-spans?stage=late_event", "")
		list, _ := r.at("rejected_spans").([]any)
		return len(list) == 1 && at(list[0], "trace_id") == id && at(list[0], "name") == "gen_ai.choice"
	})
}

// An event with which its span is larger than a record may be is rejected, and the ones after
// it join their spans: it would hold up its partition for good.
func TestLogRecordThatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_KAFKA_PARTITIONS=1", "COLONNADE_KAFKA_MAX_RECORD_BYTES=65536",
		"COLONNADE_LOG_EVENTS_POLL_INTERVAL=20ms", "COLONNADE_LOG_EVENTS_MAX_POLL_INTERVAL=20ms", "COLONNADE_LOG_EVENTS_MAX_PENDING_BYTES=65536")
	atWork(t, s.LogEvents.Run)
	const spanID = "1000000000000001"
	send := func(id, text string) {
		s.ok(http.StatusAccepted, "POST", "/otlp/v1/traces", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"`+id+`","spanId":"`+spanID+`","name":"chat","startTimeUnixNano":"1793527200000000000",
			"endTimeUnixNano":"1793527201000000000","attributes":[{"key":"note","value":{"stringValue":"`+text+`"}}]}]}]}]}`)
		s.ok(http.StatusOK, "POST", "/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"`+id+`","spanId":"`+spanID+`","eventName":"gen_ai.choice","timeUnixNano":"1793527200900000000","body":{"stringValue":"`+text+`"}}]}]}]}`)
	}
	large, small := newTraceID(), newTraceID()
	send(large, strings.Repeat("x", 40_000))
	eventually(t, "the large one is rejected", func() bool {
		list, _ := s.ok(http.StatusOK, "GET", "/rejected-spans?stage=event", "").at("rejected_spans").([]any)
		return len(list) == 1 && at(list[0], "trace_id") == large
	})
	send(small, "short")
	eventually(t, "the small one joins its span", func() bool {
		list, _ := at(s.do("GET", "/spans/"+small+"/"+spanID, "").at("span"), "events").([]any)
		return len(list) == 1
	})
}
