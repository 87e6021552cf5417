package statements_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// NextRollupMinute bounds the minute by the range of a DateTime, whatever the start.
func TestNextRollupMinute(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	for _, tt := range []struct {
		from  int64
		order domain.Order
		want  string
	}{
		{1_700_000_123_456_789, domain.Descending, "SELECT toInt64(toUnixTimestamp(max(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute <= toDateTime(1700000100, 'UTC')"},
		{1_700_000_123_456_789, domain.Ascending, "SELECT toInt64(toUnixTimestamp(min(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute >= toDateTime(1700000100, 'UTC')"},
		{-1, domain.Ascending, "SELECT toInt64(toUnixTimestamp(min(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute >= toDateTime(0, 'UTC')"},
		{math.MaxInt64, domain.Descending, "SELECT toInt64(toUnixTimestamp(max(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute <= toDateTime(4294967280, 'UTC')"},
	} {
		s := statements.NextRollupMinute(project, tt.from, tt.order)
		require.Equal(t, sqltext.Statement{SQL: tt.want, Args: []any{project.String()}}, s)
	}
}

// RootsPerMinute asks for the latest version of each minute.
func TestRootsPerMinute(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	require.Equal(t, sqltext.Statement{
		SQL:  "SELECT toInt64(toUnixTimestamp(minute)), toUInt8(trace_type), argMax(roots, version) FROM trace_metrics_1m WHERE project_id = ? AND minute >= toDateTime(?, 'UTC') AND minute < toDateTime(?, 'UTC') GROUP BY minute, trace_type",
		Args: []any{project.String(), int64(1_773_187_200), int64(1_773_273_600)},
	}, statements.RootsPerMinute(project, 1_773_187_200, 1_773_273_600))
}

// Granules asks for the granules of two weeks, also across the end of a year.
func TestGranules(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	start := time.Date(2026, 1, 4, 12, 0, 0, 123000, time.UTC) // a Sunday
	require.Equal(t, sqltext.Statement{
		SQL: "SELECT toUnixTimestamp64Micro(start_time), rows_in_granule FROM mergeTreeIndex(currentDatabase(), spans) WHERE (startsWith(part_name, ?) OR startsWith(part_name, ?)) AND project_id = ? AND trace_type IN (?, ?)" +
			" AND start_time >= '2025-12-22 00:00:00.000000' AND start_time < '2026-01-04 12:00:00.000123' AND rows_in_granule > 0 ORDER BY start_time DESC LIMIT ?",
		Args: []any{"20251229_", "20251222_", project.String(), "invocation", "annotation", 10},
	}, statements.Granules(project, []trace.Type{trace.Invocation, trace.Annotation}, start.UnixMicro(), 10))
}
