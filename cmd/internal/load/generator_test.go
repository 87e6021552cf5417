package load_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/cmd/internal/load"
)

func TestTrafficLooksLikeLife(t *testing.T) {
	t.Parallel()
	const traces = 500
	shape := load.DefaultShape()
	shape.Runs = 100
	g, err := load.NewGenerator(shape)
	require.NoError(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	var body []byte
	roots := map[string]string{} // trace id -> root span id
	spans, annotations, notesLinked := 0, 0, 0
	for i := range uint64(traces) {
		var made load.Trace
		body, made = g.Append(body[:0], i, at)
		var req collector.ExportTraceServiceRequest
		require.NoError(t, proto.Unmarshal(body, &req))
		found := req.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
		require.Len(t, found, made.Spans)
		ids := map[string]bool{}
		for _, s := range found {
			require.Equal(t, made.ID[:], s.GetTraceId())
			ids[string(s.GetSpanId())] = true
			if len(s.GetParentSpanId()) == 0 {
				roots[string(s.GetTraceId())] = string(s.GetSpanId())
			} else {
				require.True(t, ids[string(s.GetParentSpanId())], "parents come first")
			}
			require.LessOrEqual(t, s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano())
			require.LessOrEqual(t, s.GetEndTimeUnixNano(), uint64(at.UnixNano()))
		}
		require.Len(t, ids, made.Spans, "span ids differ")
		if made.Annotation {
			annotations++
			notesLinked += linked(found, roots)
			continue
		}
		spans += made.Spans
		require.GreaterOrEqual(t, made.Spans, 5)
		require.LessOrEqual(t, made.Spans, 41)
	}
	require.InDelta(t, 0.2, float64(annotations)/traces, 0.05)
	require.Equal(t, annotations, notesLinked, "each annotation scores a trace that was sent")
	require.Len(t, roots, traces)
}

func linked(spans []*otlp.Span, roots map[string]string) int {
	n := 0
	for _, l := range spans[0].GetLinks() {
		if roots[string(l.GetTraceId())] == string(l.GetSpanId()) {
			n++
		}
	}
	return n
}

func TestSizeIsAsAsked(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1000, 2048, 8000} {
		shape := load.DefaultShape()
		shape.SpanBytes, shape.Runs = size, 40
		g, err := load.NewGenerator(shape)
		require.NoError(t, err)
		bytes, spans := 0, 0
		for i := range uint64(200) {
			body, made := g.Append(nil, i, time.Unix(1e9, 0))
			if !made.Annotation {
				bytes += len(body)
				spans += made.Spans
			}
		}
		require.InEpsilon(t, size, float64(bytes)/float64(spans), 0.1)
	}
}

func TestASeedTellsEverything(t *testing.T) {
	t.Parallel()
	shape := load.DefaultShape()
	shape.Runs = 50
	a, err := load.NewGenerator(shape)
	require.NoError(t, err)
	b, err := load.NewGenerator(shape)
	require.NoError(t, err)
	other := shape
	other.Seed = 2
	c, err := load.NewGenerator(other)
	require.NoError(t, err)
	for i := range uint64(100) {
		x, tx := a.Append(nil, i, time.Unix(1e9, 0))
		y, ty := b.Append(nil, i, time.Unix(1e9, 0))
		z, _ := c.Append(nil, i, time.Unix(1e9, 0))
		require.Equal(t, x, y)
		require.Equal(t, tx, ty)
		require.NotEqual(t, x, z)
	}
}

func BenchmarkAppend(b *testing.B) {
	g, err := load.NewGenerator(load.DefaultShape())
	require.NoError(b, err)
	var body []byte
	spans, bytes, i := 0, 0, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		var made load.Trace
		body, made = g.Append(body[:0], i, time.Unix(1e9, 0))
		spans += made.Spans
		bytes += len(body)
		i++
	}
	b.SetBytes(int64(bytes / int(i)))
	b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
}
