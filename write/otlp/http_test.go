package otlp_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"colonnade/domain"
	"colonnade/write/ingest"
	"colonnade/write/otlp"
	"colonnade/write/stream"
)

func pbSpan(traceN, spanN byte, edit ...func(*tracepb.Span)) *tracepb.Span {
	s := &tracepb.Span{
		TraceId: append(make([]byte, 15), traceN), SpanId: append(make([]byte, 7), spanN), Name: fmt.Sprintf("span %d", spanN),
		Kind: tracepb.Span_SPAN_KIND_SERVER, StartTimeUnixNano: 1_700_000_000_123_456_789, EndTimeUnixNano: 1_700_000_001_000_000_001,
		Attributes: []*commonpb.KeyValue{
			{Key: "s", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "tëxt \" \\ \n"}}},
			{Key: "i", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: -9007199254740993}}},
			{Key: "d", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.1}}},
			{Key: "b", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}},
			{Key: "y", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte{0xfb, 0xff, 1}}}},
			{Key: "l", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{
				{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{{Key: "k", Value: &commonpb.AnyValue{}}}}}},
			}}}}},
		},
		Events: []*tracepb.Span_Event{{Name: "e", TimeUnixNano: 17}},
		Links:  []*tracepb.Span_Link{{TraceId: append(make([]byte, 15), 9), SpanId: append(make([]byte, 7), 9), Flags: 3}},
		Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK, Message: "m"},
	}
	for _, e := range edit {
		e(s)
	}
	return s
}

func request(spans ...*tracepb.Span) *collectorpb.ExportTraceServiceRequest {
	return &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "shop"}}}}},
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope: &commonpb.InstrumentationScope{Name: "lib", Version: "1"}, Spans: spans, SchemaUrl: "u",
		}},
	}}}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zlibbed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zstded(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	return w.EncodeAll(data, nil)
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (h *fixture) post(t testing.TB, body io.Reader, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, h.http.URL+"/otlp/v1/traces", body)
	require.NoError(t, err)
	req.Header.Set("Authorization", goodKey)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.http.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header, data}
}

func TestEveryEncodingMeansTheSame(t *testing.T) {
	t.Parallel()
	h := open(t)
	want := request(pbSpan(1, 1), pbSpan(1, 2))
	data := marshal(t, want)
	text, err := protojson.Marshal(want)
	require.NoError(t, err)
	// protojson writes ids in base64, OTLP/JSON in hex.
	otlpJSON := []byte(strings.NewReplacer(
		`"AAAAAAAAAAAAAAAAAAAAAQ=="`, `"00000000000000000000000000000001"`, `"AAAAAAAAAAAAAAAAAAAACQ=="`, `"00000000000000000000000000000009"`,
		`"AAAAAAAAAAE="`, `"0000000000000001"`, `"AAAAAAAAAAI="`, `"0000000000000002"`, `"AAAAAAAAAAk="`, `"0000000000000009"`,
	).Replace(string(text)))
	const json, pb = "application/json", "application/x-protobuf"
	tests := []struct {
		name    string
		body    []byte
		headers []string
	}{
		{"protobuf", data, []string{"Content-Type", pb}},
		{"protobuf without a type", data, nil},
		{"gzip", gzipped(t, data), []string{"Content-Encoding", "gzip", "Content-Type", pb}},
		{"gzip without a header", gzipped(t, data), nil},
		{"gzip in two members", append(gzipped(t, data[:40]), gzipped(t, data[40:])...), nil},
		{"header without gzip", data, []string{"Content-Encoding", "gzip"}},
		{"zlib", zlibbed(t, data), []string{"Content-Encoding", "deflate"}},
		{"zstd", zstded(t, data), []string{"Content-Encoding", "zstd"}},
		{"zstd in two frames", append(zstded(t, data[:40]), zstded(t, data[40:])...), nil},
		{"json", otlpJSON, []string{"Content-Type", json}},
		{"json without a type", otlpJSON, nil},
		{"json with a charset", otlpJSON, []string{"Content-Type", json + "; charset=utf-8"}},
		{"json, gzip", gzipped(t, otlpJSON), []string{"Content-Type", json, "Content-Encoding", "gzip"}},
	}
	for _, tt := range tests {
		r := h.post(t, bytes.NewReader(tt.body), tt.headers...)
		require.Equal(t, http.StatusAccepted, r.status, "%s: %s", tt.name, r.body)
		require.JSONEq(t, `{"count":2,"links":[
			{"trace_id":"00000000000000000000000000000001","span_id":"0000000000000001"},
			{"trace_id":"00000000000000000000000000000001","span_id":"0000000000000002"}]}`, string(r.body), tt.name)
		token, err := domain.ParseToken(r.header.Get(domain.TokenHeader))
		require.NoError(t, err)
		require.Len(t, token, 1)
	}
	for i, rec := range h.records(t, len(tests)) {
		var got collectorpb.ExportTraceServiceRequest
		require.NoError(t, proto.Unmarshal(rec.Value, &got))
		require.Empty(t, cmp.Diff(want, &got, protocmp.Transform()), tests[i].name)
		require.Equal(t, "otlp", rec.Source)
		require.Equal(t, stream.Upsert, rec.Operation)
		require.WithinDuration(t, time.Now(), rec.ReceivedAt, time.Minute)
	}
}

func TestPartialSuccessAndRejects(t *testing.T) {
	t.Parallel()
	h := open(t)
	bad := func(s *tracepb.Span) { s.Kind = 99 }
	body := marshal(t, request(pbSpan(1, 1), pbSpan(1, 2, bad), pbSpan(2, 3)))
	r := h.post(t, bytes.NewReader(body))
	require.Equal(t, http.StatusAccepted, r.status)
	var got struct {
		Count          int
		PartialSuccess struct {
			RejectedSpans int
			ErrorMessage  string
		}
	}
	require.NoError(t, json.Unmarshal(r.body, &got))
	require.Equal(t, 2, got.Count)
	require.Equal(t, 1, got.PartialSuccess.RejectedSpans)
	require.Equal(t, `1 of 3 spans refused: span 0000000000000002 of trace 00000000000000000000000000000001 ("span 2") kind is out of range`, got.PartialSuccess.ErrorMessage)

	r = h.post(t, bytes.NewReader(body), "Accept", "application/x-protobuf")
	require.Equal(t, "application/x-protobuf", r.header.Get("Content-Type"))
	var response collectorpb.ExportTraceServiceResponse
	require.NoError(t, proto.Unmarshal(r.body, &response))
	require.EqualValues(t, 1, response.GetPartialSuccess().GetRejectedSpans())

	r = h.post(t, bytes.NewReader(marshal(t, request(pbSpan(1, 4, bad)))))
	require.Equal(t, http.StatusBadRequest, r.status)
	require.Contains(t, string(r.body), "kind is out of range")

	var rejected []stream.Rejection
	for _, rec := range h.records(t, 2+1+2+1+1) {
		if rec.Operation != stream.Reject {
			continue
		}
		var v stream.Rejection
		require.NoError(t, json.Unmarshal(rec.Value, &v))
		require.NotEmpty(t, v.Raw)
		v.Raw = nil
		rejected = append(rejected, v)
	}
	two := stream.Rejection{Stage: "scan", Reason: "kind is out of range", TraceID: "00000000000000000000000000000001", SpanID: "0000000000000002", SpanName: "span 2"}
	four := two
	four.SpanID, four.SpanName = "0000000000000004", "span 4"
	require.Equal(t, []stream.Rejection{two, two, four}, rejected)
}

// The reply is protobuf where a client wants it more than JSON.
func TestAccept(t *testing.T) {
	t.Parallel()
	h := open(t)
	const json, pb = "application/json", "application/x-protobuf"
	for accept, want := range map[string]string{
		"": json, "*/*": json, "text/html": json, json: json, pb: pb, json + ", " + pb: json, pb + ", " + json: json, pb + ";q=0": json,
		pb + ", " + json + ";q=0.5": pb, pb + ";q=0.5, " + json + ";q=0.9": json, json + ";q=0.1," + pb + "; q=0.2": pb,
		pb + ", */*;q=0.8": pb, pb + ";q=0.5, */*": json, "*/*, " + json + ";q=0.3": pb, "application/*;q=0.5, " + pb: pb, "a/b/c, " + pb: pb,
	} {
		r := h.post(t, bytes.NewReader(marshal(t, request(pbSpan(1, 1)))), "Accept", accept)
		require.Equal(t, http.StatusAccepted, r.status, accept)
		require.Equal(t, want, r.header.Get("Content-Type"), accept)
	}
}

func TestABadJSONSpanIsRefusedAlone(t *testing.T) {
	t.Parallel()
	h := open(t)
	good := `{"traceId":"00000000000000000000000000000001","span_id":"0000000000000001","name":"good","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":1700000000000000001,"unknown":{"a":[1,{}]},"endTimeUnixNano":"1700000000000000002","attributes":null}`
	nested := func(n int) string {
		return `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","attributes":[{"key":"k","value":` +
			strings.Repeat(`{"arrayValue":{"values":[`, n) + strings.Repeat(`]}}`, n) + `}]}`
	}
	tests := []struct{ name, span, want string }{
		{"deep", nested(200), "nests too deep"},
		{"deeper", nested(334), "nested too deep"},
		{"deepest", nested(50_000), "nested too deep"},
		{"half a character", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","name":"a\ud800"}`, "name: text is not UTF-8"},
		{"the halves of a character the wrong way round", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","attributes":[{"key":"k","value":{"stringValue":"\ude00\ud83d"}}]}`, `attribute \"k\": text is not UTF-8`},
		{"hex", `{"traceId":"zz","spanId":"0000000000000002","name":"x"}`, "traceId: must be 32 hex digits"},
		{"base64", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","attributes":[{"key":"k","value":{"bytesValue":"&"}}]}`, "attributes: value: bytesValue: is not base64"},
		{"kind", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","kind":"SERVER"}`, `kind: \"SERVER\" is none of the known names`},
		{"time", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","startTimeUnixNano":"yesterday"}`, "startTimeUnixNano: must be a whole number of 64 bits that is not negative"},
		{"shape", `[1]`, "JSON, byte 0"},
		{"zero id", `{"traceId":"00000000000000000000000000000000","spanId":"0000000000000002"}`, "trace_id is not 16 bytes"},
		{"utf-8", `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","name":"a` + "\xff" + `"}`, "name: text is not UTF-8"},
	}
	for _, tt := range tests {
		body := `{"resourceSpans":[{"scopeSpans":[{"spans":[` + tt.span + `,` + good + `]}]}]}`
		r := h.post(t, strings.NewReader(body))
		require.Equal(t, http.StatusAccepted, r.status, "%s: %s", tt.name, r.body)
		require.Contains(t, string(r.body), `"count":1`, tt.name)
		require.Contains(t, string(r.body), tt.want, tt.name)
	}
}

// A resource or scope that is wrong costs its own spans, as in protobuf.
func TestABadJSONWrapperRefusesItsSpansOnly(t *testing.T) {
	t.Parallel()
	h := open(t)
	span := func(n int) string {
		return fmt.Sprintf(`{"traceId":"00000000000000000000000000000001","spanId":"%016x","name":"span %d"}`, n, n)
	}
	good := `{"resource":{},"scopeSpans":[{"spans":[` + span(1) + `]}]}`
	tests := []struct {
		name, part, want string
		refused          int
	}{
		{"a resource", `{"resource":{"attributes":[{"key":"k","value":{"intValue":"x"}}]},"scopeSpans":[{"spans":[` + span(2) + `]},{"spans":[` + span(3) + `]}]}`, `(\"span 2\") resource: attributes: value: intValue: must be a whole number; span 0000000000000003`, 2},
		{"a resource behind its spans", `{"scopeSpans":[{"spans":[` + span(2) + `,{"traceId":1}]}],"resource":7}`, `(\"span 2\") JSON, byte`, 2},
		{"a resource without spans", `{"resource":{"attributes":7}}`, "1 of 2 spans refused: JSON, byte", 1},
		{"a deep resource", `{"resource":{"attributes":[{"key":"k","value":` + strings.Repeat(`{"arrayValue":{"values":[`, 400) + strings.Repeat(`]}}`, 400) + `}]},"scopeSpans":[{"spans":[` + span(2) + `]}]}`, `(\"span 2\")`, 1},
		{"a scope", `{"scopeSpans":[{"scope":{"name":7},"spans":[` + span(2) + `,` + span(3) + `]},{"spans":[` + span(4) + `]}]}`, `(\"span 2\") scope: name: must be text; span 0000000000000003`, 2},
		{"a scope behind its spans", `{"scope_spans":[{"spans":[` + span(2) + `],"scope":{"attributes":[{"value":{"boolValue":1}}]}}]}`, `(\"span 2\") scope: attributes: value: boolValue: must be true or false`, 1},
		{"a schema's address", `{"schemaUrl":1,"scopeSpans":[{"spans":[` + span(2) + `]}]}`, `(\"span 2\") schemaUrl: must be text`, 1},
		{"no object", `5`, "1 of 2 spans refused: JSON, byte", 1},
	}
	for _, tt := range tests {
		for _, body := range []string{good + `,` + tt.part, tt.part + `,` + good} {
			r := h.post(t, strings.NewReader(`{"resourceSpans":[`+body+`]}`))
			require.Equal(t, http.StatusAccepted, r.status, "%s: %s", tt.name, r.body)
			require.Contains(t, string(r.body), `"span_id":"0000000000000001"`, tt.name)
			require.Contains(t, string(r.body), fmt.Sprintf(`"rejectedSpans":%d`, tt.refused), tt.name)
			require.Contains(t, string(r.body), tt.want, tt.name)
		}
	}
}

func TestUnusableBodies(t *testing.T) {
	t.Parallel()
	h := open(t)
	data := marshal(t, request(pbSpan(1, 1)))
	tests := []struct {
		name    string
		body    []byte
		headers []string
		want    string
	}{
		{"text", []byte("hello"), nil, "Failed to parse OTLP stream."},
		{"cut", data[:len(data)-3], nil, "Failed to parse OTLP stream."},
		{"cut gzip", gzipped(t, data)[:30], nil, "not a valid OTLP stream"},
		{"garbage after gzip", append(gzipped(t, data), "garbage"...), nil, "not a valid OTLP stream"},
		{"garbage after zlib", append(zlibbed(t, data), "garbage"...), nil, "not a valid OTLP stream"},
		{"garbage after zstd", append(zstded(t, data), "garbage"...), nil, "not a valid OTLP stream"},
		{"unknown encoding", data, []string{"Content-Encoding", "br"}, "Content-Encoding"},
		{"cut json", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a\`), nil, "JSON, byte"},
		{"json that is something else", []byte(`{"spans":[]}`), nil, "no member resourceSpans"},
		{"json twice", []byte(`{"resourceSpans":[]}{}`), nil, "something follows the end"},
		{"deep json", []byte(`{"unknown":` + strings.Repeat("[", 100_000)), nil, "expected a value"},
		{"deep resource", []byte(`{"resourceSpans":[{"resource":{"attributes":[{"value":` + strings.Repeat(`{"arrayValue":{"values":[`, 100_000)), nil, "expected a value"},
	}
	for _, tt := range tests {
		r := h.post(t, bytes.NewReader(tt.body), tt.headers...)
		require.Equal(t, http.StatusBadRequest, r.status, tt.name)
		require.Contains(t, string(r.body), tt.want, tt.name)
	}
}

func TestEmptyBatches(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *otlp.Config, _ *ingest.Config, _ *stream.Config) { cfg.SuccessStatus = http.StatusOK })
	for _, body := range []string{"", "{}", `{"resourceSpans":[]}`, string(marshal(t, request()))} {
		r := h.post(t, strings.NewReader(body))
		require.Equal(t, http.StatusOK, r.status, "%q: %s", body, r.body)
		require.JSONEq(t, `{"count":0,"links":[]}`, string(r.body))
		require.Empty(t, r.header.Get(domain.TokenHeader))
	}
	resp, err := h.http.Client().Do(must(t, http.MethodGet, h.http.URL+"/otlp/v1/traces"))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var state map[string]string
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&state))
	require.Equal(t, map[string]string{"status": "ready"}, state)
}

func must(t *testing.T, method, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", goodKey)
	return req
}

// zeros is an endless body; counted tells how much of it was read. The
// transport may still be writing the body when the reply has come.
type zeros struct{ counted atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	z.counted.Add(int64(len(p)))
	clear(p)
	return len(p), nil
}

// TestABombCostsNoMemory sends bodies that grow a thousandfold. It runs alone:
// it measures what the process allocates.
func TestABombCostsNoMemory(t *testing.T) {
	h := open(t, func(cfg *otlp.Config, _ *ingest.Config, _ *stream.Config) { cfg.MaxBodyBytes = 8 << 20 })
	bombs := make(map[string][]byte)
	for name, compress := range map[string]func(testing.TB, []byte) []byte{"gzip": gzipped, "zlib": zlibbed, "zstd": zstded} {
		bombs[name] = compress(t, make([]byte, 96<<20))
	}
	for name, bomb := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := h.post(t, bytes.NewReader(bomb))
		runtime.ReadMemStats(&after)
		require.Equal(t, http.StatusRequestEntityTooLarge, r.status, name)
		require.Contains(t, string(r.body), "once decompressed", name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20), name)
	}
	endless := &zeros{}
	r := h.post(t, io.LimitReader(endless, 1<<30))
	require.Equal(t, http.StatusRequestEntityTooLarge, r.status)
	require.Contains(t, string(r.body), "OTLP batch size exceeds")
	require.Less(t, endless.counted.Load(), int64(32<<20))
	h.requireNothingInFlight(t)
}

// A body over the bound of the wire is refused in the contract's words (§1.1),
// announced or not.
func TestTooLargeOnTheWire(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *otlp.Config, _ *ingest.Config, _ *stream.Config) { cfg.MaxWireBytes = 1 << 20 })
	for name, body := range map[string]io.Reader{"announced": bytes.NewReader(make([]byte, 1<<20+1)), "in pieces": io.LimitReader(&zeros{}, 1<<20+1)} {
		r := h.post(t, body)
		require.Equal(t, http.StatusRequestEntityTooLarge, r.status, name)
		require.JSONEq(t, `{"detail":"OTLP batch size exceeds 1MB limit."}`, string(r.body), name)
		_, own := errors.AsType[*http.MaxBytesError](h.lastError.Load())
		require.False(t, own, "the engine would say it in words of its own")
	}
}

func TestPressureAndOutageAnswer503(t *testing.T) {
	t.Parallel()
	full := open(t, func(_ *otlp.Config, cfg *ingest.Config, _ *stream.Config) { cfg.MaxInFlightBytes = 100 })
	body := marshal(t, request(pbSpan(1, 1)))
	r := full.post(t, bytes.NewReader(body))
	require.Equal(t, http.StatusServiceUnavailable, r.status)
	require.Equal(t, "1", r.header.Get("Retry-After"))
	full.requireNothingInFlight(t)

	down := open(t, func(_ *otlp.Config, _ *ingest.Config, cfg *stream.Config) {
		cfg.Brokers, cfg.PublishTimeout = []string{"127.0.0.1:1"}, 300*time.Millisecond
	})
	r = down.post(t, bytes.NewReader(body))
	require.Equal(t, http.StatusServiceUnavailable, r.status)
	require.Equal(t, "2", r.header.Get("Retry-After"))
}

func TestTracesLargerThanARecordAreSplit(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ *otlp.Config, cfg *ingest.Config, _ *stream.Config) { cfg.RecordBytes = 64 << 10 })
	long := func(s *tracepb.Span) {
		s.Attributes[0].Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.Repeat("x", 30_000)}}
	}
	var spans []*tracepb.Span
	for i := range 10 {
		spans = append(spans, pbSpan(1, byte(i+1), long))
	}
	r := h.post(t, bytes.NewReader(gzipped(t, marshal(t, request(spans...)))))
	require.Equal(t, http.StatusAccepted, r.status)
	n := 0
	for _, rec := range h.records(t, 5) {
		var got tracepb.TracesData
		require.NoError(t, proto.Unmarshal(rec.Value, &got))
		for _, s := range got.ResourceSpans[0].ScopeSpans[0].Spans {
			n++
			require.Equal(t, fmt.Sprintf("%016x", n), hex.EncodeToString(s.SpanId))
		}
	}
	require.Equal(t, 10, n)
}
