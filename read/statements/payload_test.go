package statements_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// Payloads are looked up by their offset in the stream, which chooses granules
// and is not compared row by row; headers come without text unless a version asks for it.
func TestPayloads(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	const (
		from  = " FROM span_payloads_packed PREWHERE project_id = ? AND indexHint(partition_week IN (?, ?)) AND "
		id    = `trace_id = '\x61\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`
		start = 1_773_230_400_000_000
	)
	args := []any{project.String(), "1970-01-01", "2026-03-09"}
	of := []statements.Bounds{{Trace: trace.TraceID{'a'}, Min: start, Max: start, Records: []uint64{schema.Record(1, 7<<schema.VersionShift), schema.Record(0, 9<<schema.VersionShift)}}}
	const records = id + " AND indexHint((stream_partition, stream_offset) IN ((0, 9), (1, 7)))"
	lookup := func(sql string, maxBytes int64) sqltext.Statement {
		return sqltext.Statement{SQL: sql, Args: args, MaxBytes: maxBytes, OneStep: true, StartsFirst: true, OneThread: true}
	}
	require.Equal(t, lookup("SELECT trace_id, span_id, version, text, head, lengths"+from+"version IN (3145733, 4194304) AND indexHint((stream_partition, stream_offset) IN ((0, 4), (2, 3)))", 0),
		statements.Payloads(project, []statements.Version{{Partition: 2, Version: 3<<schema.VersionShift + 5, Start: start}, {Version: 4 << schema.VersionShift, Start: start}}))
	require.Equal(t, lookup("SELECT trace_id, span_id, version, text, head, lengths"+from+records, 0), statements.TracePayloads(project, of))
	require.Equal(t, sqltext.Statement{
		SQL: "SELECT trace_id, span_id, version, text, head, lengths FROM span_payloads_packed PREWHERE project_id = ? AND " + id +
			" AND (stream_partition, stream_offset) IN (SELECT toUInt32(bitShiftRight(arrayJoin(records) AS record, 44)), bitAnd(record, 17592186044415) FROM trace_index PREWHERE project_id = ? AND " + id + ")",
		Args:    []any{project.String(), project.String()},
		OneStep: true, StartsFirst: true, RowsPerThread: 512,
	}, statements.PayloadsByTraceID(project, []trace.TraceID{of[0].Trace}))
	require.Equal(t, lookup("SELECT trace_id, span_id, version, if(version IN (5, 6), text, ''), head, lengths"+from+records, 99), statements.PayloadHeaders(project, of, []uint64{5, 6}, 99))
	require.Equal(t, lookup("SELECT trace_id, span_id, version, '', head, lengths"+from+records, 0), statements.PayloadHeaders(project, of, nil, 0))
	of[0].Records = []uint64{schema.Record(3, 7<<schema.VersionShift), schema.Record(3, 6<<schema.VersionShift), schema.Record(3, 7<<schema.VersionShift)}
	require.Equal(t, lookup("SELECT trace_id, span_id, version, text, head, lengths"+from+id+" AND indexHint(stream_partition = 3 AND stream_offset IN (6, 7))", 0), statements.TracePayloads(project, of))
}
