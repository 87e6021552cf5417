package trace

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func head() Head {
	return Head{
		Span: Span{
			ParentID: SpanID{1, 2, 3, 0, 0, 0, 0, 8}, SpanType: Chat, Kind: KindClient, Status: StatusError,
			Name: "chat gpt", StatusMessage: "429 \x00 too many", SessionID: "s", UserID: "Zoë", AgentID: "a-1",
			Start: 1<<60 + 123456789, End: 1<<60 + 223456789,
			CreatedAt: time.UnixMicro(1_700_000_000_123_456).UTC(), UpdatedAt: time.UnixMicro(1_700_000_001_000_001).UTC(),
			CreatedBy: uuid.UUID{1, 15: 2}, UpdatedBy: uuid.UUID{3, 15: 4},
		},
		Declared: Annotation, Hash: uuid.UUID{5, 15: 6},
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	measured := head()
	measured.Metrics = &[MetricCount]float64{1, 12, math.Inf(1), 0, math.Copysign(0, -1), 0.25, 1e-300}
	early := head()
	early.Span.Start, early.Span.End = -5, -1
	stored := early
	stored.Span.Start, stored.Span.End = 0, 0
	for _, tt := range []struct {
		name       string
		head, read Head
	}{
		{"nothing", Head{}, Head{}},
		{"everything", head(), head()},
		{"metrics", measured, measured},
		{"before 1970", early, stored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := string(AppendHead([]byte("before"), &tt.head))
			require.Equal(t, "before", text[:6])
			got, err := ParseHead(text[6:])
			require.NoError(t, err)
			require.Equal(t, tt.read, got)
		})
	}
}

// A metric that is not there is none, and no zero.
func TestHeadWithSomeMetrics(t *testing.T) {
	t.Parallel()
	none := math.NaN()
	h := Head{Metrics: &[MetricCount]float64{none, 0, none, 3, none, none, 0.5}}
	text := string(AppendHead(nil, &h))
	require.Len(t, text, headBytes+1+3*8)
	got, err := ParseHead(text)
	require.NoError(t, err)
	require.Equal(t, AppendHead(nil, &h), AppendHead(nil, &got))
	require.True(t, math.IsNaN(got.Metrics[0]) && math.IsNaN(got.Metrics[2]) && math.IsNaN(got.Metrics[5]))
	require.Equal(t, []float64{0, 3, 0.5}, []float64{got.Metrics[1], got.Metrics[3], got.Metrics[6]})
}

func TestHeadRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	measured := head()
	measured.Metrics = &[MetricCount]float64{2: 1}
	for _, h := range []Head{head(), measured} {
		text := string(AppendHead(nil, &h))
		for n := range len(text) {
			_, err := ParseHead(text[:n])
			require.Error(t, err, "%d bytes", n)
		}
		_, err := ParseHead(text + "x")
		require.Error(t, err)
		_, err = ParseHead("\x03" + text[1:])
		require.Error(t, err)
	}
}

// Whatever a head is made of, reading and writing it gives the same bytes.
func FuzzHead(f *testing.F) {
	h := head()
	f.Add(string(AppendHead(nil, &h)))
	f.Add(string(AppendHead(nil, &Head{})))
	h.Metrics = &[MetricCount]float64{1, math.NaN(), 3}
	f.Add(string(AppendHead(nil, &h)))
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHead(text)
		if err != nil || h.Span.Start < 0 || h.Span.End < 0 {
			return
		}
		require.Equal(t, text, string(AppendHead(nil, &h)))
	})
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, Invocation, TypeOf(0, false))
	require.Equal(t, Annotation, TypeOf(0, true))
	require.Equal(t, Invocation, TypeOf(Invocation, true))
	require.Equal(t, Annotation, TypeOf(Annotation, false))
}
