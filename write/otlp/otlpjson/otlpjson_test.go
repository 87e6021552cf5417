package otlpjson_test

import (
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/write/otlp/otlpjson"
	"colonnade/write/otlp/wire"
)

// FuzzJSON: whatever is accepted becomes protobuf whose spans the scan can tell
// good from bad, and good ones are what proto.Unmarshal reads.
func FuzzJSON(f *testing.F) {
	f.Add(`{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"b"}}]},"scopeSpans":[{"scope":{"name":"n"},"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","name":"é\n","kind":3,"startTimeUnixNano":"17","attributes":[{"key":"k","value":{"kvlistValue":{"values":[{"key":"x","value":{"arrayValue":{"values":[{"doubleValue":1e3},{"intValue":"-1"},{"boolValue":true},{"bytesValue":"AQ=="},{}]}}}]}}}],"events":[{"timeUnixNano":1}],"links":[{"traceId":"","flags":1}],"status":{"code":"STATUS_CODE_OK"}}]}]}]}`)
	f.Add(`{"resource_spans":[{"scope_spans":[{"spans":[{"traceId":1},null,"x"]}]}]}`)
	f.Add(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"\`)
	f.Fuzz(func(t *testing.T, body string) {
		data, _, err := otlpjson.Convert(body)
		if err != nil {
			return
		}
		var b wire.Batch
		if err := b.Scan(string(data)); err != nil {
			t.Fatalf("what was converted is malformed: %v", err)
		}
		if b.Refused.Count > 0 {
			return
		}
		if err := proto.Unmarshal(data, new(tracepb.TracesData)); err != nil {
			t.Fatalf("the oracle refuses what was converted: %v", err)
		}
	})
}
