package analytics

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/read/histogram"
)

func metricOf(t *testing.T, s Spec, values ...any) map[string]any {
	t.Helper()
	s.Path, s.Keys = "attributes.x", []string{"x"}
	measures := s.measures()
	got := make([]gathered, len(measures))
	for _, v := range values {
		for i, m := range measures {
			got[i].take(m, &trace.Span{Attributes: map[string]any{"x": v}})
		}
	}
	m, ok := s.metric(got)
	if !ok {
		return nil
	}
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// The numbers are computed by hand: of 1 to 5, a percentile p lies at 1 + 4p.
func TestNumbers(t *testing.T) {
	t.Parallel()
	got := metricOf(t, Spec{Type: Discrete}, int64(5), 1.0, int64(3), 2.0, int64(4), "6", true, nil, []any{int64(9)})
	want := map[string]any{
		"type": "numeric/discrete", "count": 5.0, "sum": 15.0, "mean": 3.0, "min": 1.0, "max": 5.0, "range": 4.0,
		"pcts": map[string]any{
			"p00.05": 1.002, "p00.1": 1.004, "p00.5": 1.02, "p01": 1.04, "p02.5": 1.1, "p05": 1.2, "p10": 1.4, "p12.5": 1.5, "p20": 1.8, "p25": 2.0, "p30": 2.2, "p37.5": 2.5, "p40": 2.6, "p50": 3.0,
			"p60": 3.4, "p62.5": 3.5, "p70": 3.8, "p75": 4.0, "p80": 4.2, "p87.5": 4.5, "p90": 4.6, "p95": 4.8, "p97.5": 4.9, "p99": 4.96, "p99.5": 4.98, "p99.9": 4.996, "p99.95": 4.998,
		},
		"iqrs": map[string]any{"iqr25": 1.0, "iqr50": 2.0, "iqr75": 3.0, "iqr80": 3.2, "iqr90": 3.6, "iqr95": 3.8, "iqr99": 3.96, "iqr99.9": 3.996},
		"pscs": map[string]any{"psc25": 1.0 / 3, "psc50": 2.0 / 3, "psc75": 1.0, "psc80": 3.2 / 3, "psc90": 1.2, "psc95": 3.8 / 3, "psc99": 1.32, "psc99.9": 1.332},
		"hist": []any{
			map[string]any{"bin": 1.0, "count": 2.0, "interval": []any{1.0, 1 + 4.0/3}, "density": .4},
			map[string]any{"bin": 2.0, "count": 1.0, "interval": []any{1 + 4.0/3, 1 + 8.0/3}, "density": .2},
			map[string]any{"bin": 3.0, "count": 2.0, "interval": []any{1 + 8.0/3, 5.0}, "density": .4},
		},
		"freq": []any{frequency(1, 1, .2), frequency(2, 1, .2), frequency(3, 1, .2), frequency(4, 1, .2), frequency(5, 1, .2)},
		"uniq": []any{1.0, 2.0, 3.0, 4.0, 5.0},
	}
	require.Empty(t, cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)))
	delete(want, "freq")
	delete(want, "uniq")
	want["type"] = "numeric/continuous"
	require.Empty(t, cmp.Diff(want, metricOf(t, Spec{Type: Continuous}, 1.0, 2.0, 3.0, 4.0, 5.0), cmpopts.EquateApprox(0, 1e-12)))
}

func frequency(value any, count, density float64) any {
	if n, ok := value.(int); ok {
		value = float64(n)
	}
	return map[string]any{"value": value, "count": count, "density": density}
}

func TestSpreadsAreLeftOutWhereTheySayNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []any
		want bool
	}{
		{"all positive", []any{1.0, 2.0, 3.0}, true},
		{"all negative", []any{-1.0, -2.0, -3.0}, true},
		{"both signs", []any{-1.0, 2.0, 3.0}, false},
		{"median next to nothing", []any{0.0, .01, 3.0}, false},
		{"nothing but zero", []any{0.0, 0.0}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, ok := metricOf(t, Spec{Type: Continuous}, tt.in...)["pscs"]
			require.Equal(t, tt.want, ok)
		})
	}
}

func TestNumbersBeyondAFloat(t *testing.T) {
	t.Parallel()
	got := metricOf(t, Spec{Type: Continuous, Bins: 2}, math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64)
	require.NotContains(t, got, "range")
	require.InDelta(t, math.MaxFloat64/3, got["mean"], math.MaxFloat64/1e12)
	require.EqualValues(t, 1, got["hist"].([]any)[0].(map[string]any)["count"])
	require.EqualValues(t, 2, got["hist"].([]any)[1].(map[string]any)["count"])
}

// A sum that came to nothing finite is no value.
func TestNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, kind := range []Type{Continuous, Any} {
		got := metricOf(t, Spec{Type: kind}, math.Inf(1), 2.0, math.NaN(), math.Inf(-1), 4.0)
		require.EqualValues(t, 2, got["count"])
		require.EqualValues(t, 2, got["min"])
		require.EqualValues(t, 4, got["max"])
		require.EqualValues(t, 3, got["pcts"].(map[string]any)["p50"])
		require.Nil(t, metricOf(t, Spec{Type: kind}, math.Inf(1)))
	}
	got := metricOf(t, Spec{Type: Any}, math.Inf(1), math.Inf(1), "a")
	require.EqualValues(t, Single, got["type"])
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	p := func(v float64) *float64 { return &v }
	tests := []struct {
		name      string
		spec      Spec
		values    []float64
		intervals [][2]float64
		counts    []uint64
	}{
		{"one value", Spec{Bins: 5}, []float64{7}, [][2]float64{{7, 7}}, []uint64{1}},
		{"equal values", Spec{Bins: 5}, []float64{7, 7}, [][2]float64{{7, 7}}, []uint64{2}},
		{"an end belongs to the next bin, the last one's to itself", Spec{Bins: 2}, []float64{0, 1, 2}, [][2]float64{{0, 1}, {1, 2}}, []uint64{1, 2}},
		{"the square root, rounded up", Spec{}, []float64{0, 1, 2, 3, 6}, [][2]float64{{0, 2}, {2, 4}, {4, 6}}, []uint64{2, 2, 1}},
		{"ends given", Spec{Bins: 2, Min: p(1), Max: p(3)}, []float64{0, 1, 2, 3, 4}, [][2]float64{{1, 2}, {2, 3}}, []uint64{1, 2}},
		{"all beyond", Spec{Bins: 2, Min: p(10)}, []float64{0, 1}, [][2]float64{{10, 10}}, []uint64{0}},
		{"centered", Spec{Bins: 3, Centered: true}, []float64{0, 1, 2, 3, 4}, [][2]float64{{0, 1}, {1, 3}, {3, 4}}, []uint64{1, 2, 2}},
		{"ends that a division would miss", Spec{Bins: 14}, []float64{.25, 1.25, 2.25}, nil, []uint64{1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var intervals [][2]float64
			var counts []uint64
			for _, b := range histogram.Of(tt.values, histogram.Options{Bins: tt.spec.Bins, Min: tt.spec.Min, Max: tt.spec.Max, Centered: tt.spec.Centered}, share) {
				intervals, counts = append(intervals, b.Interval), append(counts, b.Count)
			}
			if tt.intervals != nil {
				require.Equal(t, tt.intervals, intervals)
			}
			require.Equal(t, tt.counts, counts)
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	values := []any{"b", "a", "b", int64(1), true, []any{"x", "y", int64(2), "x"}, map[string]any{"k": 1}, nil}
	tests := []struct {
		kind Type
		want map[string]any
	}{
		{Single, map[string]any{"type": "categorical/single", "count": 3.0, "freq": []any{frequency("b", 2, .66667), frequency("a", 1, .33333)}, "uniq": []any{"b", "a"}}},
		{Multiple, map[string]any{"type": "categorical/multiple", "count": 3.0, "freq": []any{frequency("x", 2, .66667), frequency("y", 1, .33333)}, "uniq": []any{"x", "y"}}},
		{Binary, map[string]any{"type": "binary", "count": 1.0, "freq": []any{frequency(true, 1, 1), frequency(false, 0, 0)}, "uniq": []any{true, false}}},
		{String, map[string]any{"type": "string", "count": 3.0}},
		{JSON, map[string]any{"type": "json", "count": 1.0}},
		{Any, map[string]any{"type": "categorical/single", "count": 3.0, "freq": []any{frequency("b", 2, .66667), frequency("a", 1, .33333)}, "uniq": []any{"b", "a"}}},
		{None, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, metricOf(t, Spec{Type: tt.kind}, values...)))
			require.Nil(t, metricOf(t, Spec{Type: tt.kind}))
		})
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 11, 12, 30, 0, 0, time.UTC)
	at := func(s string) time.Time {
		moment, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return moment
	}
	tests := []struct {
		name           string
		in             Question
		oldest, newest string
		minutes        int
		count          int64
	}{
		{"the default", Question{}, "2026-02-10T00:00:00Z", "2026-03-12T00:00:00Z", 30 * 24 * 60, 1},
		{"an interval", Question{Interval: 60}, "2026-02-10T00:00:00Z", "2026-03-12T00:00:00Z", 60, 720},
		{"too many buckets", Question{Interval: 30}, "2026-02-10T00:00:00Z", "2026-03-12T00:00:00Z", 60, 720},
		{"just enough", Question{Interval: 1, Oldest: at("2026-03-11T00:00:00Z"), Newest: at("2026-03-11T17:04:00Z")}, "2026-03-11T00:00:00Z", "2026-03-11T17:04:00Z", 1, 1024},
		{"one too many", Question{Interval: 1, Oldest: at("2026-03-11T00:00:00Z"), Newest: at("2026-03-11T17:04:01Z")}, "2026-03-11T00:00:00Z", "2026-03-11T17:04:01Z", 5, 205},
		{"centuries", Question{Interval: 1, Oldest: at("1700-01-01T00:00:00Z"), Newest: at("2200-01-01T00:00:00Z")}, "1700-01-01T00:00:00Z", "2200-01-01T00:00:00Z", 30 * 24 * 60, 6088},
		{"wider than the window", Question{Interval: 1e6, Oldest: at("2026-03-11T00:00:00Z"), Newest: at("2026-03-11T01:00:00Z")}, "2026-03-11T00:00:00Z", "2026-03-11T01:00:00Z", 1e6, 1},
		{"parts of a minute", Question{Oldest: at("2026-03-11T00:00:00Z"), Newest: at("2026-03-11T00:00:30Z")}, "2026-03-11T00:00:00Z", "2026-03-11T00:00:30Z", 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, err := windowOf(tt.in, now)
			require.NoError(t, err)
			require.Equal(t, at(tt.oldest), w.oldest)
			require.Equal(t, at(tt.newest), w.newest)
			require.Equal(t, tt.minutes, w.minutes())
			require.Equal(t, tt.count, w.count())
		})
	}
	_, err := windowOf(Question{Oldest: now, Newest: now}, now)
	require.Error(t, err)
}
