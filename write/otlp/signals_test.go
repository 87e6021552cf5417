package otlp_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/write/stream"
)

// send posts a body and returns the reply.
func (h *fixture) send(t *testing.T, path string, body []byte, headers ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.http.URL+path, bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", goodKey)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	reply, err := h.http.Client().Do(r)
	require.NoError(t, err)
	defer reply.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return reply, data
}

func metrics(n int) *collectormetrics.ExportMetricsServiceRequest {
	list := make([]*metricspb.Metric, n)
	for i := range list {
		list[i] = &metricspb.Metric{Name: "m"}
	}
	return &collectormetrics.ExportMetricsServiceRequest{ResourceMetrics: []*metricspb.ResourceMetrics{{ScopeMetrics: []*metricspb.ScopeMetrics{{Metrics: list}}}}}
}

func logRecord(traceN, spanN byte, event string) *logspb.LogRecord {
	return &logspb.LogRecord{
		TimeUnixNano: 1_700_000_000_500_000_000, TraceId: append(make([]byte, 15), traceN), SpanId: append(make([]byte, 7), spanN), EventName: event,
		Body: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "hi"}},
	}
}

func logs(records ...*logspb.LogRecord) *collectorlogs.ExportLogsServiceRequest {
	return &collectorlogs.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{ScopeLogs: []*logspb.ScopeLogs{{LogRecords: records}}}}}
}

func TestSignalsBesideTraces(t *testing.T) {
	t.Parallel()
	h := open(t)
	attribute := logRecord(2, 1, "")
	attribute.Attributes = []*commonpb.KeyValue{{Key: "event.name", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "gen_ai.user.message"}}}}
	kept := logs(logRecord(1, 1, "gen_ai.choice"), attribute, logRecord(1, 2, "gen_ai.choice"))
	ignored := logs(logRecord(1, 1, "exception"), logRecord(0, 1, "gen_ai.choice"), logRecord(1, 0, "gen_ai.choice"))
	tests := []struct {
		name, path, contentType string
		body                    []byte
		status                  int
		want                    string
	}{
		{"metrics", "/v1/metrics", "application/x-protobuf", marshal(t, metrics(3)), 200, ""},
		{"metrics as JSON", "/otlp/v1/metrics", "application/json", []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a"},{"name":"b","sum":{}}]}]}]}`), 200, "{}"},
		{"no metrics", "/public/otel/v1/metrics", "application/x-protobuf", nil, 200, ""},
		{"metrics that are none", "/v1/metrics", "application/x-protobuf", []byte{0x0a, 0xff}, 400, ""},
		{"metrics that are no JSON", "/v1/metrics", "application/json", []byte(`{"resourceMetrics":[`), 400, ""},
		{"logs", "/v1/logs", "application/x-protobuf", marshal(t, kept), 200, ""},
		{"other logs", "/public/otel/v1/logs", "application/x-protobuf", marshal(t, ignored), 200, ""},
		{
			"logs as JSON", "/otlp/v1/logs", "application/json",
			[]byte(`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeLogs":[{"scope":{"name":"l"},"logRecords":[
				{"timeUnixNano":"17","severityNumber":"SEVERITY_NUMBER_INFO","severityText":"INFO","body":{"kvlistValue":{"values":[{"key":"content","value":{"stringValue":"yo"}}]}},
				"attributes":[],"traceId":"00000000000000000000000000000003","spanId":"0000000000000001","eventName":"gen_ai.choice","flags":1}]}]}]}`),
			200, "{}",
		},
		{"logs that are none", "/v1/logs", "application/x-protobuf", []byte{0x0a, 0xff}, 400, ""},
		{"logs that are no JSON", "/v1/logs", "application/json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"x"}]}]}]}`), 400, ""},
	}
	for _, tt := range tests {
		reply, body := h.send(t, tt.path, tt.body, "Content-Type", tt.contentType) //nolint:bodyclose // send closes it
		require.Equal(t, tt.status, reply.StatusCode, "%s: %s", tt.name, body)
		if tt.status == http.StatusOK {
			require.Equal(t, tt.want, string(body), tt.name)
			require.Equal(t, tt.contentType, reply.Header.Get("Content-Type"), tt.name)
		}
	}
	conn := dial(t, h)
	_, err := collectormetrics.NewMetricsServiceClient(conn).Export(as(t, goodKey), metrics(2))
	require.NoError(t, err)
	_, err = collectorlogs.NewLogsServiceClient(conn).Export(as(t, goodKey), logs(logRecord(4, 1, "gen_ai.system.message"), logRecord(4, 1, "")))
	require.NoError(t, err)

	require.NoError(t, testutil.GatherAndCompare(h.reg, strings.NewReader(`
# HELP colonnade_otlp_ignored_total Metrics and log records that were received and not kept, by signal.
# TYPE colonnade_otlp_ignored_total counter
colonnade_otlp_ignored_total{signal="logs"} 4
colonnade_otlp_ignored_total{signal="metrics"} 7
`), "colonnade_otlp_ignored_total"))
	h.requireNothingInFlight(t)

	byTrace := map[byte]int{}
	for _, r := range consume(t, h.logs, 4) {
		require.NoError(t, r.Err)
		require.Equal(t, stream.Upsert, r.Operation)
		var data logspb.LogsData
		require.NoError(t, proto.Unmarshal(r.Value, &data))
		for _, resource := range data.GetResourceLogs() {
			for _, scope := range resource.GetScopeLogs() {
				for _, l := range scope.GetLogRecords() {
					require.Equal(t, r.Trace[:], l.GetTraceId())
					byTrace[r.Trace[15]]++
				}
			}
		}
	}
	require.Equal(t, map[byte]int{1: 2, 2: 1, 3: 1, 4: 1}, byTrace)
}

// A client that reports an error for a JSON reply gets protobuf. Source: contract §0 row 43.
func TestFormOfTheReceipt(t *testing.T) {
	t.Parallel()
	h := open(t)
	const exporter = "OTel-OTLP-Exporter-JavaScript/0.223.0"
	body := marshal(t, request(pbSpan(1, 1)))
	tests := []struct {
		name, agent, accept, contentType string
		body                             []byte
		protobuf                         bool
	}{
		{"any client", "curl/8", "", "application/x-protobuf", body, false},
		{"the exporter of JavaScript", exporter, "", "application/x-protobuf", body, true},
		{"with JSON", exporter, "", "application/json", []byte(`{"resourceSpans":[]}`), false},
		{"that name later", "x " + exporter, "", "application/x-protobuf", body, false},
		{"asked for", "curl/8", "application/x-protobuf", "application/x-protobuf", body, true},
	}
	for _, tt := range tests {
		reply, data := h.send(t, "/v1/traces", tt.body, "User-Agent", tt.agent, "Accept", tt.accept, "Content-Type", tt.contentType) //nolint:bodyclose // send closes it
		require.Equal(t, http.StatusAccepted, reply.StatusCode, tt.name)
		if !tt.protobuf {
			require.Contains(t, string(data), `{"count":`, tt.name)
			require.Empty(t, reply.Header.Get("Colonnade-Count"), tt.name)
			continue
		}
		require.Equal(t, "1", reply.Header.Get("Colonnade-Count"), tt.name)
		require.Equal(t, "application/x-protobuf", reply.Header.Get("Content-Type"))
		require.NoError(t, proto.Unmarshal(data, new(collectorpb.ExportTraceServiceResponse)))
	}
}
