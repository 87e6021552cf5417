//go:build embedded

package sink_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain/trace"
	"colonnade/write/stream"
)

// BenchmarkDrain is a backlog of LLM spans of 2 KB carried from the broker into
// the store: spans a second, and what a span costs in processor time here
// (consumer, fit, rows) and in the store (inserts, merges, settling).
func BenchmarkDrain(b *testing.B) {
	const perRecord, records = 10, 20_000
	h := newFixture(b, 4)
	for statement := range strings.SplitSeq(os.Getenv("BENCH_DDL"), ";") {
		if strings.TrimSpace(statement) != "" {
			require.NoError(b, h.conn.Exec(b.Context(), statement))
		}
	}
	base := time.Now().Add(-time.Minute)
	for from := 0; from < records; from += 500 {
		var batch []stream.Record
		for i := from; i < from+500; i++ {
			batch = append(batch, h.llm(uint64(i), perRecord, base.Add(time.Duration(i)*time.Millisecond)))
		}
		h.publish(batch...)
	}
	h.sink.FinalizeAfter, h.sink.FinalizeEvery, h.sink.MinLinger = 10*time.Second, 2*time.Second, 150*time.Millisecond
	if path := os.Getenv("BENCH_PROFILE"); path != "" {
		f, err := os.Create(path)
		require.NoError(b, err)
		require.NoError(b, pprof.StartCPUProfile(f))
		defer pprof.StopCPUProfile()
	}
	pid := embeddedtest.PID("clickhouse")
	here, there, began := selfTime(b), processTime(b, pid), time.Now()
	b.ResetTimer()
	for range b.N {
		r := h.start()
		for one[uint64](h, "SELECT count() FROM spans") < perRecord*records {
			time.Sleep(50 * time.Millisecond)
		}
		took := time.Since(began)
		b.ReportMetric(perRecord*records/took.Seconds(), "spans/s")
		b.ReportMetric(float64((selfTime(b)-here).Microseconds())/perRecord/records, "go-cpu-us/span")
		b.ReportMetric(float64((processTime(b, pid)-there).Microseconds())/perRecord/records, "store-cpu-us/span")
		b.ReportMetric(float64(r.count(b, "colonnade_sink_batches_total")), "batches")
		for one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") < records || one[uint64](h, "SELECT count() FROM system.merges") > 0 {
			time.Sleep(200 * time.Millisecond)
		}
		b.ReportMetric(float64((processTime(b, pid)-there).Microseconds())/perRecord/records, "clickhouse-finalized-cpu-us/span")
		b.ReportMetric(time.Since(began).Seconds(), "finalized-s")
		r.stop()
		restart := time.Now() // the next owner restores its memory first
		again := h.start()
		h.send(h.llm(records, perRecord, base))
		b.ReportMetric(time.Since(restart).Seconds(), "restart-s")
		again.stop()
	}
	for event, name := range map[string]string{"MergedUncompressedBytes": "merged-B/span", "MergedRows": "merged-rows/span", "InsertedBytes": "inserted-B/span"} {
		b.ReportMetric(float64(one[uint64](h, "SELECT sum(value) FROM system.events WHERE event = ?", event))/perRecord/records, name)
	}
	if os.Getenv("BENCH_COLUMNS") != "" {
		for _, line := range h.strings("SELECT concat(table, '.', name, ' ', toString(round(data_uncompressed_bytes / 200000)), ' ', toString(round(data_compressed_bytes / 200000, 1))) FROM system.columns WHERE database = currentDatabase() ORDER BY data_uncompressed_bytes DESC LIMIT 30") {
			fmt.Println(line)
		}
	}
	b.ReportMetric(float64(one[uint64](h, "SELECT count() FROM system.parts WHERE active AND database = currentDatabase()")), "parts")
}

func selfTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func processTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// words are what the texts are made of: repetitive as prose is, not as a test is.
var words = strings.Fields("the river that crosses border where it rises which answer question model of and with for from system user geography source fact mountain sea flow water north south east west between country city capital population language history trade route bridge valley lake")

func prose(seed uint64, n int) string {
	var b strings.Builder
	for b.Len() < n {
		seed = seed*6364136223846793005 + 1442695040888963407
		b.WriteString(words[seed>>33%uint64(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

// llm is a record of an instrumented LLM application.
func (h *fixture) llm(id uint64, n int, start time.Time) stream.Record {
	r := h.record(stream.Upsert, 0)
	r.Trace = trace.TraceID{}
	binary.BigEndian.PutUint64(r.Trace[:], id*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(r.Trace[8:], id+1)
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "opentelemetry.instrumentation.openai", Version: "0.40.1"}}
	for i := range n {
		number := id*uint64(n) + uint64(i) + 1
		span := make([]byte, 8)
		binary.BigEndian.PutUint64(span, number*0xbf58476d1ce4e5b9)
		s := &tracepb.Span{
			TraceId: r.Trace[:], SpanId: span, Name: "openai.chat", Kind: tracepb.Span_SPAN_KIND_CLIENT,
			StartTimeUnixNano: uint64(start.UnixNano()) + uint64(i)*1e6, EndTimeUnixNano: uint64(start.UnixNano()) + uint64(i)*1e6 + number%900*1e6,
			Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK},
		}
		if i > 0 {
			s.ParentSpanId = scope.Spans[0].SpanId
		}
		for _, a := range []struct {
			key   string
			value any
		}{
			{"gen_ai.operation.name", "chat"},
			{"gen_ai.system", "openai"},
			{"gen_ai.request.model", "gpt-4o-mini"},
			{"gen_ai.response.model", "gpt-4o-mini-2024-07-18"},
			{"gen_ai.response.id", fmt.Sprintf("chatcmpl-%016x", number)},
			{"gen_ai.request.temperature", 0.2},
			{"gen_ai.request.max_tokens", 512},
			{"gen_ai.usage.input_tokens", int(300 + number%77)},
			{"gen_ai.usage.output_tokens", int(90 + number%50)},
			{"gen_ai.prompt.0.role", "system"},
			{"gen_ai.prompt.0.content", "You answer questions about geography, briefly and with the source of each fact."},
			{"gen_ai.prompt.1.role", "user"},
			{"gen_ai.prompt.1.content", prose(number, 500)},
			{"gen_ai.completion.0.role", "assistant"},
			{"gen_ai.completion.0.content", prose(^number, 550)},
			{"gen_ai.completion.0.finish_reason", "stop"},
			{"ag.session.id", fmt.Sprintf("session-%d", id%5000)},
			{"ag.user.id", fmt.Sprintf("user-%d", id%997)},
			{"ag.refs.application.slug", "geo-assistant"},
			{"ag.refs.application_variant.slug", "production"},
			{"deployment.environment", "prod"},
			{"http.status_code", 200},
			{"server.address", "api.openai.com"},
		} {
			s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: a.key, Value: anyValue(a.value)})
		}
		scope.Spans = append(scope.Spans, s)
	}
	var err error
	r.Value, err = proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			{Key: "service.name", Value: anyValue("geo-api")},
			{Key: "service.version", Value: anyValue("1.4.2")},
			{Key: "telemetry.sdk.language", Value: anyValue("python")},
			{Key: "host.name", Value: anyValue("geo-api-7d9f")},
		}},
		ScopeSpans: []*tracepb.ScopeSpans{scope},
	}}})
	require.NoError(h.t, err)
	return r
}
