package sink

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/cost"
	"colonnade/write/normalize"
	"colonnade/write/sink/rows"
)

// llmTrace makes a trace of n spans as an instrumented LLM application sends
// them, each about 2 KB on the wire.
func llmTrace(t testing.TB, id uint64, n int, start time.Time) []byte {
	t.Helper()
	text := func(v string) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}
	}
	number := func(v int64) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}
	}
	var traceID trace.TraceID
	binary.BigEndian.PutUint64(traceID[:], id*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(traceID[8:], id+1)
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "opentelemetry.instrumentation.openai", Version: "0.40.1"}}
	for i := range n {
		var spanID trace.SpanID
		binary.BigEndian.PutUint64(spanID[:], id*1000+uint64(i)+1)
		s := &tracepb.Span{
			TraceId: traceID[:], SpanId: spanID[:], Name: fmt.Sprintf("openai.chat %d", i), Kind: tracepb.Span_SPAN_KIND_CLIENT,
			StartTimeUnixNano: uint64(start.UnixNano()) + uint64(i)*1e6, EndTimeUnixNano: uint64(start.UnixNano()) + uint64(i)*1e6 + 850e6,
			Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK},
		}
		if i > 0 {
			var parent trace.SpanID
			binary.BigEndian.PutUint64(parent[:], id*1000+1)
			s.ParentSpanId = parent[:]
		}
		add := func(k string, v *commonpb.AnyValue) {
			s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: k, Value: v})
		}
		add("gen_ai.operation.name", text("chat"))
		add("gen_ai.system", text("openai"))
		add("gen_ai.request.model", text("gpt-4o-mini"))
		add("gen_ai.response.model", text("gpt-4o-mini-2024-07-18"))
		add("gen_ai.response.id", text(fmt.Sprintf("chatcmpl-%016x%04d", id, i)))
		add("gen_ai.request.temperature", &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.2}})
		add("gen_ai.request.max_tokens", number(512))
		add("gen_ai.usage.input_tokens", number(int64(300+i)))
		add("gen_ai.usage.output_tokens", number(int64(90+id%50)))
		add("gen_ai.prompt.0.role", text("system"))
		add("gen_ai.prompt.0.content", text("You answer questions about geography, briefly and with the source of each fact."))
		add("gen_ai.prompt.1.role", text("user"))
		add("gen_ai.prompt.1.content", text(fmt.Sprintf("Question %d of user %d: ", i, id)+strings.Repeat("which rivers cross the border and where do they rise? ", 9)))
		add("gen_ai.completion.0.role", text("assistant"))
		add("gen_ai.completion.0.content", text(fmt.Sprintf("Answer %d.%d: ", id, i)+strings.Repeat("The river rises in the mountains and flows to the sea. ", 10)))
		add("gen_ai.completion.0.finish_reason", text("stop"))
		add("ag.session.id", text(fmt.Sprintf("session-%d", id%5000)))
		add("ag.user.id", text(fmt.Sprintf("user-%d", id%997)))
		add("ag.refs.application.slug", text("geo-assistant"))
		add("ag.refs.application_variant.slug", text("production"))
		add("deployment.environment", text("prod"))
		add("http.status_code", number(200))
		add("server.address", text("api.openai.com"))
		scope.Spans = append(scope.Spans, s)
	}
	value, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			{Key: "service.name", Value: text("geo-api")},
			{Key: "service.version", Value: text("1.4.2")},
			{Key: "telemetry.sdk.language", Value: text("python")},
			{Key: "host.name", Value: text("geo-api-7d9f")},
		}},
		ScopeSpans: []*tracepb.ScopeSpans{scope},
	}}})
	require.NoError(t, err)
	return value
}

func normalizer(t testing.TB) *normalize.Normalizer {
	t.Helper()
	f, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
	require.NoError(t, err)
	return f
}

// BenchmarkRows is what a span costs after it is fitted: document, hash, maps, tokens, columns.
func BenchmarkRows(b *testing.B) {
	now := time.Now()
	f := normalizer(b)
	var entries []*entry
	bytes := 0
	for id := range uint64(100) {
		value := llmTrace(b, id, 10, now)
		bytes += len(value)
		spans, _, err := f.Spans(normalize.Meta{Source: "otlp", ReceivedAt: now, User: uuid.New()}, value)
		require.NoError(b, err)
		all := make([]*trace.Span, len(spans))
		for i := range spans {
			all[i] = &spans[i]
		}
		normalize.Trace(all)
		for _, s := range all {
			e := &entry{Entry: rows.Entry{Key: rows.TraceKey{Project: domain.ProjectID{1}, Trace: s.TraceID}, Span: s, Version: 1, SortHash: rows.SortHash(s), PartitionWeek: rows.PartitionWeek(s.Start, now), CreatedAt: now}}
			e.Start, e.StartNS = rows.SplitTime(s.Start)
			entries = append(entries, e)
		}
	}
	b.Logf("%d bytes a span", bytes/len(entries))
	r := rows.NewBuffer(newKeySet(100_000).has)
	var d rows.Content
	var encoded []byte
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		r.Reset()
		for _, e := range entries {
			d.Render(e.Span, 0)
			e.ContentHash = d.Hash
			r.Append(&e.Entry, 0, &d)
		}
		var err error
		encoded, err = r.Spans.AppendTo(encoded[:0])
		require.NoError(b, err)
		encoded, err = r.Payloads.AppendTo(encoded[:0])
		require.NoError(b, err)
	}
	b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/float64(len(entries)), "cpu-ns/span")
}

// BenchmarkFit is the part before the rows, for comparison.
func BenchmarkFit(b *testing.B) {
	f := normalizer(b)
	now := time.Now()
	value := llmTrace(b, 1, 10, now)
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		_, _, err := f.Spans(normalize.Meta{Source: "otlp", ReceivedAt: now}, value)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/10, "cpu-ns/span")
}

// cpu is the processor time of this process: on a shared machine it says more than the clock.
func cpu(t testing.TB) int64 {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}
