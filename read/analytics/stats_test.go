package analytics

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnly(t *testing.T) {
	t.Parallel()
	m := Metric{Type: Continuous, Count: 5}
	Spec{Type: Continuous}.numeric(&m, []float64{3, -1, 0, 2, 1})
	for _, tt := range []struct {
		stats []string
		want  string
	}{
		{[]string{}, `{"type":"numeric/continuous","count":5}`},
		{[]string{"count", "count_positive"}, `{"type":"numeric/continuous","count":5,"count_positive":3}`},
		{[]string{"sum", "mean", "min", "max"}, `{"type":"numeric/continuous","count":5,"sum":5,"mean":1,"min":-1,"max":3}`},
		{[]string{"p50", "p90", "p95", "p99"}, `{"type":"numeric/continuous","count":5,"p50":1,"p90":2.6,"p95":2.8,"p99":2.96}`},
		{[]string{"freq"}, `{"type":"numeric/continuous","count":5}`},
	} {
		got, err := json.Marshal(m.Only(tt.stats))
		require.NoError(t, err)
		require.JSONEq(t, tt.want, string(got))
	}
	require.Len(t, m.Only([]string{"hist"}).Hist, len(m.Hist))
}

func TestCountPositive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sorted []float64
		want   uint64
	}{{nil, 0}, {[]float64{-2, -1}, 0}, {[]float64{-1, 0, 0}, 0}, {[]float64{0, 1, 1}, 2}, {[]float64{1, 2}, 2}} {
		require.Equal(t, tt.want, countPositive(tt.sorted), "%v", tt.sorted)
	}
}
