package compile_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
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

// Likeness tells lists apart by what they ask for, not by where they are.
func TestLikeness(t *testing.T) {
	t.Parallel()
	scan := func(text string) compile.Scan {
		e, err := filter.Parse([]byte(text))
		require.NoError(t, err)
		c, err := compile.Filter(e)
		require.NoError(t, err)
		return compile.Scan{Project: domain.ProjectID(uuid.UUID{1}), Condition: c, Range: compile.Starts(5, 6), Limit: 7}
	}
	seen := map[uint64]string{}
	for _, text := range []string{
		`{}`, `{"conditions":[{"field":"trace_type","value":"annotation"}]}`, `{"conditions":[{"field":"trace_type","value":"invocation"}]}`,
		`{"conditions":[{"field":"session_id","value":"s"}]}`, `{"conditions":[{"field":"session_id","value":"t"}]}`, `{"conditions":[{"field":"session_id","operator":"is_not","value":"t"}]}`,
		`{"conditions":[{"field":"content","operator":"contains","value":"x"}]}`, `{"conditions":[{"field":"content","operator":"contains","value":"y"}]}`,
		`{"conditions":[{"field":"start_time","operator":"gt","value":"2026-03-11T00:00:00Z"}]}`,
	} {
		here := scan(text)
		there := here
		there.Range, there.Limit, there.Order, there.Core = compile.Starts(7, 9), 20, domain.Ascending, true
		there.Except, there.Only, there.Places = []trace.TraceID{{1}}, []trace.TraceID{{2}}, []compile.Position{{Start: 1}}
		require.Equal(t, here.Likeness(), there.Likeness())
		require.Empty(t, seen[here.Likeness()], text)
		seen[here.Likeness()] = text
	}
	share := 0.5
	rated := scan(`{}`)
	rated.Rate = compile.NewRate(&share)
	require.NotContains(t, seen, rated.Likeness())
}

// NextMinute asks for what a DateTime can hold, whatever the start.
func TestNextMinute(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	for _, tt := range []struct {
		from  int64
		order domain.Order
		want  string
	}{
		{1_700_000_123_456_789, domain.Descending, "SELECT toInt64(toUnixTimestamp(max(minute))) FROM rollup_minute WHERE project_id = ? AND minute <= toDateTime(1700000100, 'UTC')"},
		{1_700_000_123_456_789, domain.Ascending, "SELECT toInt64(toUnixTimestamp(min(minute))) FROM rollup_minute WHERE project_id = ? AND minute >= toDateTime(1700000100, 'UTC')"},
		{-1, domain.Ascending, "SELECT toInt64(toUnixTimestamp(min(minute))) FROM rollup_minute WHERE project_id = ? AND minute >= toDateTime(0, 'UTC')"},
		{math.MaxInt64, domain.Descending, "SELECT toInt64(toUnixTimestamp(max(minute))) FROM rollup_minute WHERE project_id = ? AND minute <= toDateTime(4294967280, 'UTC')"},
	} {
		s := compile.NextMinute(project, tt.from, tt.order)
		require.Equal(t, compile.Statement{SQL: tt.want, Args: []any{project.String()}}, s)
	}
}

// A narrow scan reads all types at once; nothing that a filter says is left out by it.
func TestNarrow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		filter string
		plain  bool
	}{
		{`{}`, true},
		{`{"conditions":[{"field":"trace_type","value":"annotation"}]}`, false},
		{`{"conditions":[{"field":"parent_id","value":null}]}`, false},
		{`{"conditions":[{"field":"session_id","value":"s"}]}`, false},
		{`{"conditions":[{"field":"trace_id","value":"0102030405060708090a0b0c0d0e0f10"}]}`, false},
		{`{"conditions":[{"field":"content","operator":"contains","value":"x"}]}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.filter, func(t *testing.T) {
			t.Parallel()
			e, err := filter.Parse([]byte(tt.filter))
			require.NoError(t, err)
			c, err := compile.Filter(e)
			require.NoError(t, err)
			scan := compile.Scan{Project: domain.ProjectID(uuid.UUID{1}), Condition: c, Range: compile.Starts(5, 6), Limit: 7}
			require.Equal(t, tt.plain, scan.Plain())
			// With one type both forms are one.
			one := *c
			one.Types = one.Types[:1]
			single := scan
			single.Condition = &one
			require.Equal(t, single.Keys(), single.Narrow(0))
			if !tt.plain {
				require.Len(t, scan.Narrow(8).Args, strings.Count(scan.Narrow(8).SQL, "?"))
				return
			}
			share := 0.5
			for _, other := range []compile.Scan{
				{Condition: c, Rate: compile.NewRate(&share)},
				{Condition: c, Only: []trace.TraceID{{1}}},
				{Condition: c, Except: []trace.TraceID{{1}}},
				{Condition: c, Places: []compile.Position{{Start: 1}}},
			} {
				require.False(t, other.Plain())
			}
			require.Equal(t, compile.Statement{
				SQL: "SELECT toUInt8(trace_type), toUnixTimestamp64Micro(start_time), tie, trace_id, span_id, version, toUnixTimestamp64Milli(created_at), payload_bytes FROM spans WHERE project_id = ? AND trace_type IN (?, ?) AND " +
					"(start_time >= '1970-01-01 00:00:00.000005' AND start_time <= '1970-01-01 00:00:00.000006') AND (week <= ? OR week = '1970-01-01') ORDER BY start_time DESC, tie DESC LIMIT 7",
				Args: []any{"01000000-0000-0000-0000-000000000000", "invocation", "annotation", "1970-01-01"}, MaxRows: 8,
			}, scan.Narrow(8))
		})
	}
}
