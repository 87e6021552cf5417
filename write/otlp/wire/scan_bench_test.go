package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/write/otlp/wire"
)

// llmBody is what an exporter sends for LLM calls: spans of about 2 KB, eight to a trace.
func llmBody(tb testing.TB, spans int) string {
	tb.Helper()
	prompt := strings.Repeat("Tell me about the capital of France, its history and people. ", 14)
	answer := strings.Repeat("Paris has been the capital of France since the tenth century. ", 8)
	sc := pbScope("opentelemetry.instrumentation.openai")
	for i := range spans {
		sc.Spans = append(sc.Spans, pbSpan(byte(1+i/8), byte(1+i%250), func(s *tracepb.Span) {
			s.TraceId[3] = byte(i / 8 >> 8)
			s.Attributes = nil
			for k, v := range map[string]string{
				"gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o", "gen_ai.response.model": "gpt-4o-2024-08-06",
				"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": prompt, "gen_ai.completion.0.role": "assistant",
				"gen_ai.completion.0.content": answer, "gen_ai.completion.0.finish_reason": "stop", "ag.session.id": "session-12345",
				"ag.refs.application.slug": "my-app", "llm.request.type": "chat", "server.address": "api.openai.com",
			} {
				s.Attributes = append(s.Attributes, attribute(k, v))
			}
			for j := range 6 {
				s.Attributes = append(s.Attributes, &commonpb.KeyValue{
					Key: fmt.Sprintf("gen_ai.usage.number_%d", j), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(j) * 1000}},
				})
			}
		}))
	}
	return marshal(tb, pbResource("shop", sc))
}

func BenchmarkScan(b *testing.B) {
	const spans = 512
	body := llmBody(b, spans)
	var batch wire.Batch
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, batch.Scan(body))
	}
	b.ReportMetric(float64(b.N)*spans/b.Elapsed().Seconds(), "spans/s")
}

func BenchmarkScanGroupEncode(b *testing.B) {
	const spans = 512
	body := llmBody(b, spans)
	var batch wire.Batch
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, batch.Scan(body))
		parts := batch.Split(1<<20, 16<<20)
		size := 0
		for _, p := range parts {
			size += p.MaxBytes
		}
		arena := make([]byte, size)
		for _, p := range parts {
			batch.Encode(arena[:p.MaxBytes], p)
			arena = arena[p.MaxBytes:]
		}
	}
	b.ReportMetric(float64(b.N)*spans/b.Elapsed().Seconds(), "spans/s")
}
