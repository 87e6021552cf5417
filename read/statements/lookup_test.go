package statements_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
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
			var bounds []statements.Bounds
			for i, s := range tt.starts {
				bounds = append(bounds, statements.Bounds{Trace: trace.TraceID{byte(i + 1)}, Min: s * second, Max: s*second + second})
			}
			s := statements.OfTraces(domain.ProjectID(uuid.New()), statements.Metrics, bounds, nil)
			require.Len(t, s.Args, strings.Count(s.SQL, "?"))
			require.Equal(t, tt.ranges, strings.Count(s.SQL, "start_time <=")-1, s.SQL)
		})
	}
}

// Finalized versions are looked up in the project alone, by traces and by the keys of the rows.
func TestCumulativeVersions(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	traces := []trace.TraceID{{'a'}, {'b'}}
	const in = `('\x61\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', '\x62\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00')`
	require.Equal(t, sqltext.Statement{SQL: "SELECT trace_id, last_version FROM trace_index PREWHERE project_id = ? AND trace_id IN " + in, Args: []any{project.String()}, OneStep: true, StartsFirst: true, OneThread: true}, statements.WrittenVersions(project, traces))
	require.Equal(t, sqltext.Statement{SQL: "SELECT trace_id, version FROM trace_totals PREWHERE project_id = ? AND trace_id IN " + in + " WHERE finalized_at <= '2026-03-11 12:00:00.000000'", Args: []any{project.String()}, OneStep: true, StartsFirst: true, OneThread: true}, statements.FinalizedVersions(project, traces, 1_773_230_400_000_000))
	key := statements.Key{Type: trace.Annotation, Position: order.Position{Start: 1_773_230_400_000_000, SortHash: 7}}
	s := statements.ByKeys(project, statements.Cumulative, []statements.Key{key})
	require.Equal(t, "SELECT trace_id, span_id, version, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total FROM span_cumulative"+
		" PREWHERE project_id = ? AND start_time = '2026-03-11 12:00:00.000000' AND indexHint(partition_week IN (?, ?)) AND (trace_type, start_time, sort_hash) IN (('annotation', '2026-03-11 12:00:00.000000', 7))", s.SQL)
	require.Equal(t, []any{project.String(), "1970-01-01", "2026-03-09"}, s.Args)
}

// The weeks of a range are all that it touches, whatever the times of day.
func TestWeeks(t *testing.T) {
	t.Parallel()
	at := func(text string) int64 { return micros(t, text) }
	for _, tt := range []struct {
		lo, hi string
		sql    string
		args   []any
	}{
		{"2026-11-18 15:00:00", "2026-11-18 15:00:01", "partition_week IN (?, ?)", []any{"1970-01-01", "2026-11-16"}},
		{"2026-11-22 23:59:59", "2026-11-23 00:00:00", "partition_week IN (?, ?, ?)", []any{"1970-01-01", "2026-11-16", "2026-11-23"}},
		{"2026-11-16 15:00:00", "2026-11-23 09:00:00", "partition_week IN (?, ?, ?)", []any{"1970-01-01", "2026-11-16", "2026-11-23"}},
		{"2026-11-16 00:00:00", "2026-11-22 00:00:00", "partition_week IN (?, ?)", []any{"1970-01-01", "2026-11-16"}},
		{"2026-01-05 09:00:00", "2026-02-23 10:00:00", "partition_week IN (?, ?, ?, ?, ?, ?, ?, ?, ?)", []any{"1970-01-01", "2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26", "2026-02-02", "2026-02-09", "2026-02-16", "2026-02-23"}},
		{"2026-01-05 09:00:00", "2026-03-02 10:00:00", "((partition_week >= ? AND partition_week <= ?) OR partition_week = '1970-01-01')", []any{"2026-01-05", "2026-03-02"}},
		{"1970-01-02 00:00:00", "1970-01-10 00:00:00", "(partition_week <= ? OR partition_week = '1970-01-01')", []any{"1970-01-05"}},
		{"1960-01-02 00:00:00", "1960-01-10 00:00:00", "(partition_week <= ? OR partition_week = '1970-01-01')", []any{"1970-01-01"}},
	} {
		t.Run(tt.lo, func(t *testing.T) {
			t.Parallel()
			s := statements.OfTraces(domain.ProjectID(uuid.UUID{1}), statements.Metrics, []statements.Bounds{{Trace: trace.TraceID{1}, Min: at(tt.lo), Max: at(tt.hi)}}, nil)
			require.Contains(t, s.SQL, tt.sql)
			require.Equal(t, tt.args, s.Args[1:])
		})
	}
}

// A few rows are read by one thread; documents of many places are shared out, and
// other rows as the store sees fit.
func TestThreads(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	for places := range 20 {
		keys, versions, ids, bounds := make([]statements.Key, places+1), make([]statements.Version, places+1), make([]trace.TraceID, places+1), []statements.Bounds{{}}
		for i := range versions {
			versions[i].Version, ids[i], keys[i].Type = uint64(i), trace.TraceID{byte(i)}, trace.Invocation
			bounds[0].Records = append(bounds[0].Records, uint64(i))
		}
		few := places < 8
		for _, s := range []sqltext.Statement{statements.ByKeys(project, statements.Keys, keys), statements.TraceBounds(project, ids), statements.WrittenVersions(project, ids)} {
			require.Equal(t, few, s.OneThread)
			require.Zero(t, s.RowsPerThread)
		}
		for _, s := range []sqltext.Statement{statements.Payloads(project, versions), statements.TracePayloads(project, bounds), statements.PayloadHeaders(project, bounds, nil, 0)} {
			require.Equal(t, few, s.OneThread)
			require.Equal(t, !few, s.RowsPerThread == 512)
		}
		whole := statements.OfTraces(project, statements.Metrics, bounds, nil) // as many rows as its traces have
		require.False(t, whole.OneThread)
		require.Zero(t, whole.RowsPerThread)
	}
}

func micros(t *testing.T, text string) int64 {
	t.Helper()
	moment, err := time.Parse(time.DateTime, text)
	require.NoError(t, err)
	return moment.UnixMicro()
}
