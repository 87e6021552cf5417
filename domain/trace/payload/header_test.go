package payload

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
)

func header() Header {
	return Header{
		Span: trace.Span{
			ParentID: trace.SpanID{1, 2, 3, 0, 0, 0, 0, 8}, SpanType: trace.Chat, Kind: trace.KindClient, Status: trace.StatusError,
			Name: "chat gpt", StatusMessage: "429 \x00 too many", Identifiers: trace.Identifiers{SessionID: "s", UserID: "Zoë", AgentID: "a-1"},
			Start: 1<<60 + 123456789, End: 1<<60 + 223456789,
			CreatedAt: time.UnixMicro(1_700_000_000_123_456).UTC(), UpdatedAt: time.UnixMicro(1_700_000_001_000_001).UTC(),
			CreatedBy: uuid.UUID{1, 15: 2}, UpdatedBy: uuid.UUID{3, 15: 4},
		},
		Declared: trace.Annotation, Hash: uuid.UUID{5, 15: 6},
		Traits: spanmetrics.Traits{Type: trace.Chat, Response: 1<<63 + 5, Failure: 7},
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	measured := header()
	measured.Metrics = [spanmetrics.Count]float64{1, 12, math.Inf(1), 0, math.Copysign(0, -1), 0.25, 1e-300}
	early := header()
	early.Span.Start, early.Span.End = -5, -1
	stored := early
	stored.Span.Start, stored.Span.End = 0, 0
	plain := header()
	plain.Traits.Response, plain.Traits.Failure = 0, 0
	for _, tt := range []struct {
		name           string
		header, parsed Header
	}{
		{"nothing", Header{}, Header{}},
		{"everything", header(), header()},
		{"metrics", measured, measured},
		{"no traits but the type", plain, plain},
		{"before 1970", early, stored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := string(AppendHeader([]byte("before"), &tt.header))
			require.Equal(t, "before", text[:6])
			got, err := ParseHeader(text[6:])
			require.NoError(t, err)
			require.Equal(t, tt.parsed, got)
		})
	}
}

// An absent metric stays absent and does not become zero.
func TestHeaderWithSomeMetrics(t *testing.T) {
	t.Parallel()
	absent := math.NaN()
	h := Header{Metrics: [spanmetrics.Count]float64{absent, 0, absent, 3, absent, absent, 0.5}}
	text := string(AppendHeader(nil, &h))
	require.Len(t, text, fixedBytes+1+3*8)
	got, err := ParseHeader(text)
	require.NoError(t, err)
	require.Equal(t, AppendHeader(nil, &h), AppendHeader(nil, &got))
	require.True(t, math.IsNaN(got.Metrics[0]) && math.IsNaN(got.Metrics[2]) && math.IsNaN(got.Metrics[5]))
	require.Equal(t, []float64{0, 3, 0.5}, []float64{got.Metrics[1], got.Metrics[3], got.Metrics[6]})
}

func TestHeaderRejectsOtherText(t *testing.T) {
	t.Parallel()
	measured := header()
	measured.Metrics = [spanmetrics.Count]float64{2: 1}
	for _, h := range []Header{header(), measured} {
		text := string(AppendHeader(nil, &h))
		for n := range len(text) {
			_, err := ParseHeader(text[:n])
			require.Error(t, err, "%d bytes", n)
		}
		_, err := ParseHeader(text + "x")
		require.Error(t, err)
		_, err = ParseHeader("\x03" + text[1:])
		require.Error(t, err)
		_, err = ParseHeader(text[:len(text)-16] + strings.Repeat("\x00", 16))
		require.Error(t, err, "traits that are none")
	}
}

// A header that parses is written as the same bytes.
func FuzzHeader(f *testing.F) {
	h := header()
	f.Add(string(AppendHeader(nil, &h)))
	f.Add(string(AppendHeader(nil, &Header{})))
	h.Metrics = [spanmetrics.Count]float64{1, math.NaN(), 3}
	f.Add(string(AppendHeader(nil, &h)))
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHeader(text)
		if err != nil || h.Span.Start < 0 || h.Span.End < 0 {
			return
		}
		require.Equal(t, text, string(AppendHeader(nil, &h)))
	})
}
