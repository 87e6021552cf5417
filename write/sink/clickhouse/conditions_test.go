package clickhouse

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/sink/rows"
)

// Every condition is in one statement, in order, and none is longer than Keeper holds.
func TestAnyOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		lengths []int
		want    []int // conditions of each statement
	}{
		{"none", nil, nil},
		{"one", []int{10}, []int{1}},
		{"many short", slices.Repeat([]int{10}, 150), []int{64, 64, 22}},
		{"long ones", []int{100 << 10, 100 << 10, 100 << 10, 1}, []int{2, 2}},
		{"one that is too long", []int{1, 300 << 10, 1}, []int{1, 1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conditions := make([]string, len(tt.lengths))
			for i, n := range tt.lengths {
				conditions[i] = strings.Repeat(string('a'+rune(i%26)), n)
			}
			var got []int
			var all []string
			for which := range AnyOf(conditions) {
				some := strings.Split(strings.TrimSuffix(strings.TrimPrefix(which, "("), ")"), ") OR (")
				got, all = append(got, len(some)), append(all, some...)
			}
			require.Equal(t, tt.want, got)
			require.True(t, slices.Equal(conditions, all))
		})
	}
}

// What 500 traces are named by is small enough that a statement holds several lists.
func TestOfTraces(t *testing.T) {
	t.Parallel()
	key := rows.TraceKey{Project: domain.ProjectID{0xab, 15: 1}, Trace: trace.TraceID{'\'', '\\', 0, 15: 0xff}}
	require.Equal(t, `project_id IN (toUUID('ab000000-0000-0000-0000-000000000001')) AND (project_id, trace_id) IN (('ab000000-0000-0000-0000-000000000001','\x27\x5c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff'))`, OfTraces([]rows.TraceKey{key}))
	require.Less(t, len(OfTraces(slices.Repeat([]rows.TraceKey{key}, TracesAtOnce))), ConditionBytes/3)
}
