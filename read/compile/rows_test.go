package compile_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

// A lookup of many traces searches few ranges, and every trace lies in one.
func TestOfTraces(t *testing.T) {
	t.Parallel()
	const second = 1_000_000
	tests := []struct {
		name   string
		starts []int64
		ranges int
	}{
		{"one", []int64{5}, 0},
		{"overlapping", []int64{5, 5, 6}, 0},
		{"few", []int64{5, 50, 20}, 3},
		{"many near, some far", []int64{1, 3, 5, 7, 9, 11, 1000, 1003, 5000, 9000, 9900, 9903, 20000}, 6},
		{"many at equal distance", []int64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var bounds []compile.Bounds
			for i, s := range tt.starts {
				bounds = append(bounds, compile.Bounds{Trace: trace.TraceID{byte(i + 1)}, Min: s * second, Max: s*second + second})
			}
			s := compile.OfTraces(domain.ProjectID(uuid.New()), compile.Core, bounds, nil)
			require.Len(t, s.Args, strings.Count(s.SQL, "?"))
			require.Equal(t, tt.ranges, strings.Count(s.SQL, "start_time <=")-1, s.SQL)
		})
	}
}
