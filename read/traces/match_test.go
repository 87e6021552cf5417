//go:build embedded

package traces_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
)

// agree requires that conditions, and what negates them, find those spans that Match says.
func (s *store) agree(all []trace.Span, conditions ...string) {
	s.t.Helper()
	for _, c := range conditions {
		e := where(s.t, c)
		for name, e := range map[string]filter.Expr{c: e, "not " + c: filter.Not{Expr: e}} {
			var want, got []trace.SpanID
			for i := range all {
				if filter.Match(e, &all[i]) {
					want = append(want, all[i].SpanID)
				}
			}
			page, err := s.reader.Spans(s.t.Context(), s.project, e, domain.Window{Limit: len(all) + 1})
			require.NoError(s.t, err, name)
			require.Equal(s.t, uuid.Nil, page.Next)
			for i := range page.Items {
				got = append(got, page.Items[i].SpanID)
			}
			require.ElementsMatch(s.t, want, got, name)
		}
	}
}

// Whole numbers that no column holds exactly are themselves, and no others.
func TestLargeNumbers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	values := []any{
		int64(1<<53 - 1), int64(1 << 53), int64(1<<53 + 1), float64(1 << 53), float64(1<<53 + 2), int64(1<<53 + 2), int64(-1<<53 - 1), int64(-1 << 53),
		int64(math.MaxInt64), int64(math.MinInt64), math.Ldexp(1, 63), -math.Ldexp(1, 63), int64(0), 10.5, nil,
	}
	var all []trace.Span
	for n, v := range values {
		one := span(uint64(n+1), uint64(n+1), now.Add(-time.Duration(n+1)*time.Second))
		if v != nil {
			metrics := one.Attributes["ag"].(map[string]any)["metrics"].(map[string]any)
			metrics["tokens"], metrics["costs"] = map[string]any{"incremental": map[string]any{"total": v}}, map[string]any{"incremental": map[string]any{"prompt": v}}
			metrics["errors"] = map[string]any{"incremental": v}
			one.Attributes["score"] = v
		}
		all = append(all, one)
	}
	s.insert(all...)
	tests := []struct {
		key, op string
		values  []string
	}{
		{"ag.metrics.tokens.incremental.total", "is", []string{"9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808.0", "9223372036854775808.0"}},
		{"ag.metrics.tokens.incremental.total", "gt", []string{"9007199254740992", "5"}},
		{"ag.metrics.costs.incremental.prompt", "lte", []string{"9007199254740994", "0"}},
		{"ag.metrics.errors.incremental", "in", []string{"[9007199254740993,9007199254740992,3]", "[1,0]"}},
		{"ag.metrics.errors.incremental", "exists", []string{"null"}},
		{"score", "is", []string{"9007199254740993", "-9223372036854775808.0"}},
		{"score", "in", []string{"[9007199254740993,10.5]"}},
	}
	for _, tt := range tests {
		for _, v := range tt.values {
			s.agree(all, fmt.Sprintf(`{"field":"attributes","key":%q,"operator":%q,"value":%s}`, tt.key, tt.op, v))
		}
	}
	// The same of sums, which of a span alone are what is its own.
	summed := slices.Clone(all)
	for i := range summed {
		of, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{all[i].TraceID})
		require.NoError(t, err)
		summed[i] = of[0][0]
	}
	for _, v := range []string{"9007199254740992", "9007199254740993"} {
		for _, op := range []string{"is", "gt"} {
			s.agree(summed, fmt.Sprintf(`{"field":"attributes","key":"ag.metrics.tokens.cumulative.total","operator":%q,"value":%s}`, op, v))
		}
	}
}
