package compile_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
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
			s := compile.OfTraces(domain.ProjectID(uuid.New()), compile.Metrics, bounds, nil)
			require.Len(t, s.Args, strings.Count(s.SQL, "?"))
			require.Equal(t, tt.ranges, strings.Count(s.SQL, "start_time <=")-1, s.SQL)
		})
	}
}

// Likeness tells lists apart by what they ask for, not by where they are.
func TestLikeness(t *testing.T) {
	t.Parallel()
	scan := func(text string) compile.Scan {
		e, err := filterjson.Parse([]byte(text))
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
		there.Range, there.Limit, there.Order = compile.Starts(7, 9), 20, domain.Ascending
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

// Filters that differ in values only have one shape.
func TestShape(t *testing.T) {
	t.Parallel()
	shape := func(conditions string) uint64 {
		e, err := filterjson.Parse([]byte(`{"conditions":[` + conditions + `]}`))
		require.NoError(t, err)
		c, err := compile.Filter(e)
		require.NoError(t, err)
		return c.Shape
	}
	seen := map[uint64]string{}
	for _, same := range [][]string{
		{``},
		{`{"field":"attributes","key":"model","value":"a"}`, `{"field":"attributes","key":"model","value":"b"}`},
		{`{"field":"attributes","key":"model","operator":"contains","value":"a"}`, `{"field":"attributes","key":"model","operator":"contains","value":"b"}`},
		{`{"field":"attributes","key":"score","operator":"lt","value":1}`, `{"field":"attributes","key":"score","operator":"lt","value":2}`},
		{`{"field":"attributes","key":"other","operator":"lt","value":1}`},
		{`{"field":"attributes","key":"other","operator":"lt","value":1},{"field":"session_id","value":"s"}`, `{"field":"attributes","key":"other","operator":"lt","value":3},{"field":"session_id","value":"t"}`},
		{`{"operator":"or","conditions":[{"field":"attributes","key":"other","operator":"lt","value":1},{"field":"session_id","value":"s"}]}`},
		{`{"field":"session_id","value":"s"}`, `{"field":"session_id","value":"t"}`},
		{`{"field":"session_id","operator":"is_not","value":"s"}`},
		{`{"field":"status_code","value":"STATUS_CODE_ERROR"}`, `{"field":"status_code","value":"STATUS_CODE_OK"}`},
		{`{"field":"start_time","operator":"gt","value":"2026-03-11T00:00:00Z"}`, `{"field":"start_time","operator":"gt","value":"2026-03-12T00:00:00Z"}`},
		{`{"field":"created_at","operator":"gt","value":"2026-03-11T00:00:00Z"}`},
		{`{"field":"references","operator":"in","value":[{"slug":"a"}]}`, `{"field":"references","operator":"in","value":[{"slug":"b"}]}`},
		{`{"field":"references","operator":"in","value":[{"slug":"a","attributes":{"key":"evaluator"}}]}`},
	} {
		of := shape(same[0])
		require.NotContains(t, seen, of, same[0])
		seen[of] = same[0]
		for _, other := range same[1:] {
			require.Equal(t, of, shape(other), other)
		}
	}
}

// What is settled is asked of the project alone, by traces and by the keys of the rows.
func TestSums(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	traces := []trace.TraceID{{'a'}, {'b'}}
	const in = `('\x61\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', '\x62\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00')`
	require.Equal(t, compile.Statement{SQL: "SELECT trace_id, last_version FROM trace_index PREWHERE project_id = ? AND trace_id IN " + in, Args: []any{project.String()}, OneStep: true, StartsFirst: true, OneThread: true}, compile.Written(project, traces))
	require.Equal(t, compile.Statement{SQL: "SELECT trace_id, version FROM trace_totals PREWHERE project_id = ? AND trace_id IN " + in + " WHERE finalized_at <= '2026-03-11 12:00:00.000000'", Args: []any{project.String()}, OneStep: true, StartsFirst: true, OneThread: true}, compile.Settled(project, traces, 1_773_230_400_000_000))
	key := compile.Key{Type: trace.Annotation, Position: compile.Position{Start: 1_773_230_400_000_000, Tie: 7}}
	s := compile.ByKeys(project, compile.Sums, []compile.Key{key})
	require.Equal(t, "SELECT trace_id, span_id, version, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total FROM span_cumulative"+
		" PREWHERE project_id = ? AND start_time = '2026-03-11 12:00:00.000000' AND indexHint(partition_week IN (?, ?)) AND (trace_type, start_time, sort_hash) IN (('annotation', '2026-03-11 12:00:00.000000', 7))", s.SQL)
	require.Equal(t, []any{project.String(), "1970-01-01", "2026-03-09"}, s.Args)
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
		{1_700_000_123_456_789, domain.Descending, "SELECT toInt64(toUnixTimestamp(max(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute <= toDateTime(1700000100, 'UTC')"},
		{1_700_000_123_456_789, domain.Ascending, "SELECT toInt64(toUnixTimestamp(min(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute >= toDateTime(1700000100, 'UTC')"},
		{-1, domain.Ascending, "SELECT toInt64(toUnixTimestamp(min(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute >= toDateTime(0, 'UTC')"},
		{math.MaxInt64, domain.Descending, "SELECT toInt64(toUnixTimestamp(max(minute))) FROM trace_metrics_1m WHERE project_id = ? AND minute <= toDateTime(4294967280, 'UTC')"},
	} {
		s := compile.NextMinute(project, tt.from, tt.order)
		require.Equal(t, compile.Statement{SQL: tt.want, Args: []any{project.String()}}, s)
	}
}

// Roots asks for what was last said of each minute.
func TestRoots(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	require.Equal(t, compile.Statement{
		SQL:  "SELECT toInt64(toUnixTimestamp(minute)), toUInt8(trace_type), argMax(roots, version) FROM trace_metrics_1m WHERE project_id = ? AND minute >= toDateTime(?, 'UTC') AND minute < toDateTime(?, 'UTC') GROUP BY minute, trace_type",
		Args: []any{project.String(), int64(1_773_187_200), int64(1_773_273_600)},
	}, compile.Roots(project, 1_773_187_200, 1_773_273_600))
}

// Granules asks for those of two weeks, also where these are in two years.
func TestGranules(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	start := time.Date(2026, 1, 4, 12, 0, 0, 123000, time.UTC) // a Sunday
	require.Equal(t, compile.Statement{
		SQL: "SELECT toUnixTimestamp64Micro(start_time), rows_in_granule FROM mergeTreeIndex(currentDatabase(), spans) WHERE (startsWith(part_name, ?) OR startsWith(part_name, ?)) AND project_id = ? AND trace_type IN (?, ?)" +
			" AND start_time >= '2025-12-22 00:00:00.000000' AND start_time < '2026-01-04 12:00:00.000123' AND rows_in_granule > 0 ORDER BY start_time DESC LIMIT ?",
		Args: []any{"20251229_", "20251222_", project.String(), "invocation", "annotation", 10},
	}, compile.Granules(project, []trace.Type{trace.Invocation, trace.Annotation}, start.UnixMicro(), 10))
}

// A narrow scan reads all types at once; nothing that a filter says is left out by it.
func TestNarrow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		filter string
		plain  bool
		text   bool // an index of text finds the rows
	}{
		{`{}`, true, false},
		{`{"conditions":[{"field":"trace_type","value":"annotation"}]}`, false, false},
		{`{"conditions":[{"field":"parent_id","value":null}]}`, false, false},
		{`{"conditions":[{"field":"session_id","value":"s"}]}`, false, true},
		{`{"conditions":[{"field":"trace_id","value":"0102030405060708090a0b0c0d0e0f10"}]}`, false, false},
		{`{"conditions":[{"field":"content","operator":"contains","value":"x"}]}`, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.filter, func(t *testing.T) {
			t.Parallel()
			e, err := filterjson.Parse([]byte(tt.filter))
			require.NoError(t, err)
			c, err := compile.Filter(e)
			require.NoError(t, err)
			scan := compile.Scan{Project: domain.ProjectID(uuid.UUID{1}), Condition: c, Range: compile.Starts(5, 6), Limit: 7}
			require.Equal(t, tt.plain, scan.Plain())
			require.Equal(t, !tt.text, scan.Keys().StartsFirst)
			require.Equal(t, !tt.text, scan.Narrow(8).StartsFirst)
			indexed := scan
			indexed.ContentIndex = true
			require.Equal(t, !tt.text && !c.Documents, indexed.Keys().StartsFirst)
			// With one type both forms are one, but for how their rows are filtered.
			one := *c
			one.Types = one.Types[:1]
			single := scan
			single.Condition = &one
			narrow := single.Narrow(0)
			require.Equal(t, tt.plain, narrow.OneStep)
			require.Equal(t, tt.plain, narrow.OneThread)
			require.Equal(t, tt.plain, strings.Contains(narrow.SQL, " PREWHERE "))
			narrow.SQL, narrow.OneStep, narrow.OneThread = strings.Replace(narrow.SQL, " PREWHERE ", " WHERE ", 1), false, false
			require.Equal(t, single.Keys(), narrow)
			if !tt.plain {
				require.Len(t, scan.Narrow(8).Args, strings.Count(scan.Narrow(8).SQL, "?"))
				return
			}
			share := 0.5
			for _, other := range []compile.Scan{
				{Condition: c, Rate: compile.NewRate(&share)},
				{Condition: c, Only: []trace.TraceID{{1}}},
				{Condition: c, Places: []compile.Position{{Start: 1}}},
			} {
				require.False(t, other.Plain())
			}
			require.Equal(t, compile.Statement{
				SQL: "SELECT trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes FROM spans PREWHERE project_id = ? AND " +
					"(start_time >= '1970-01-01 00:00:00.000005' AND start_time <= '1970-01-01 00:00:00.000006') AND indexHint((partition_week <= ? OR partition_week = '1970-01-01')) ORDER BY start_time DESC, sort_hash DESC LIMIT 7",
				Args: []any{"01000000-0000-0000-0000-000000000000", "1970-01-01"}, MaxRows: 8, OneStep: true, StartsFirst: true, OneThread: true,
			}, scan.Narrow(8))
		})
	}
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
			s := compile.OfTraces(domain.ProjectID(uuid.UUID{1}), compile.Metrics, []compile.Bounds{{Trace: trace.TraceID{1}, Min: at(tt.lo), Max: at(tt.hi)}}, nil)
			require.Contains(t, s.SQL, tt.sql)
			require.Equal(t, tt.args, s.Args[1:])
		})
	}
}

// Documents are looked for by their place in the stream, which chooses granules
// and is not compared row by row; heads come without text where nobody wants it.
func TestDocuments(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	const (
		from  = " FROM span_payloads_packed PREWHERE project_id = ? AND indexHint(partition_week IN (?, ?)) AND "
		id    = `trace_id = '\x61\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`
		start = 1_773_230_400_000_000
	)
	args := []any{project.String(), "1970-01-01", "2026-03-09"}
	of := []compile.Bounds{{Trace: trace.TraceID{'a'}, Min: start, Max: start, Records: []uint64{schema.Record(1, 7<<schema.VersionShift), schema.Record(0, 9<<schema.VersionShift)}}}
	const records = id + " AND indexHint((stream_partition, stream_offset) IN ((0, 9), (1, 7)))"
	lookup := func(sql string, maxBytes int64) compile.Statement {
		return compile.Statement{SQL: sql, Args: args, MaxBytes: maxBytes, OneStep: true, StartsFirst: true, OneThread: true}
	}
	require.Equal(t, lookup("SELECT trace_id, span_id, version, text, head, lengths"+from+"version IN (3145733, 4194304) AND indexHint((stream_partition, stream_offset) IN ((0, 4), (2, 3)))", 0),
		compile.Documents(project, []compile.Version{{Partition: 2, Version: 3<<schema.VersionShift + 5, Start: start}, {Version: 4 << schema.VersionShift, Start: start}}))
	require.Equal(t, lookup("SELECT trace_id, span_id, version, text, head, lengths"+from+records, 0), compile.DocumentsOf(project, of))
	require.Equal(t, compile.Statement{
		SQL: "SELECT trace_id, span_id, version, text, head, lengths FROM span_payloads_packed PREWHERE project_id = ? AND " + id +
			" AND (stream_partition, stream_offset) IN (SELECT toUInt32(bitShiftRight(arrayJoin(records) AS record, 44)), bitAnd(record, 17592186044415) FROM trace_index PREWHERE project_id = ? AND " + id + ")",
		Args:    []any{project.String(), project.String()},
		OneStep: true, StartsFirst: true, RowsPerThread: 512,
	}, compile.Whole(project, []trace.TraceID{of[0].Trace}))
	require.Equal(t, lookup("SELECT trace_id, span_id, version, if(version IN (5, 6), text, ''), head, lengths"+from+records, 99), compile.Heads(project, of, []uint64{5, 6}, 99))
	require.Equal(t, lookup("SELECT trace_id, span_id, version, '', head, lengths"+from+records, 0), compile.Heads(project, of, nil, 0))
	of[0].Records = []uint64{schema.Record(3, 7<<schema.VersionShift), schema.Record(3, 6<<schema.VersionShift), schema.Record(3, 7<<schema.VersionShift)}
	require.Equal(t, lookup("SELECT trace_id, span_id, version, text, head, lengths"+from+id+" AND indexHint(stream_partition = 3 AND stream_offset IN (6, 7))", 0), compile.DocumentsOf(project, of))
}

// A few rows are read by one thread; documents of many places are shared out, and
// other rows as the store sees fit.
func TestThreads(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID(uuid.UUID{1})
	for places := range 20 {
		keys, versions, ids, bounds := make([]compile.Key, places+1), make([]compile.Version, places+1), make([]trace.TraceID, places+1), []compile.Bounds{{}}
		for i := range versions {
			versions[i].Version, ids[i], keys[i].Type = uint64(i), trace.TraceID{byte(i)}, trace.Invocation
			bounds[0].Records = append(bounds[0].Records, uint64(i))
		}
		few := places < 8
		for _, s := range []compile.Statement{compile.ByKeys(project, compile.Keys, keys), compile.TraceBounds(project, ids), compile.Written(project, ids)} {
			require.Equal(t, few, s.OneThread)
			require.Zero(t, s.RowsPerThread)
		}
		for _, s := range []compile.Statement{compile.Documents(project, versions), compile.DocumentsOf(project, bounds), compile.Heads(project, bounds, nil, 0)} {
			require.Equal(t, few, s.OneThread)
			require.Equal(t, !few, s.RowsPerThread == 512)
		}
		whole := compile.OfTraces(project, compile.Metrics, bounds, nil) // as many rows as its traces have
		require.False(t, whole.OneThread)
		require.Zero(t, whole.RowsPerThread)
	}
}

func TestWholeWeeks(t *testing.T) {
	t.Parallel()
	at := func(text string) int64 { return micros(t, text) }
	for _, tt := range []struct{ lo, hi, from, to string }{
		{"2026-11-18 15:00:00", "2026-11-18 15:00:01", "2026-11-16 00:00:00", "2026-11-23 00:00:00"},
		{"2026-11-16 00:00:00", "2026-11-22 23:59:59", "2026-11-16 00:00:00", "2026-11-23 00:00:00"},
		{"2026-11-15 23:59:59", "2026-11-23 00:00:00", "2026-11-09 00:00:00", "2026-11-30 00:00:00"},
	} {
		require.Equal(t, compile.Starts(at(tt.from), at(tt.to)-1), compile.Starts(at(tt.lo), at(tt.hi)).Weeks())
	}
}

func micros(t *testing.T, text string) int64 {
	t.Helper()
	moment, err := time.Parse(time.DateTime, text)
	require.NoError(t, err)
	return moment.UnixMicro()
}
