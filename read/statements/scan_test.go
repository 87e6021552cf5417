package statements_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// The fingerprint of a scan depends on its conditions, not on its range.
func TestScanFingerprint(t *testing.T) {
	t.Parallel()
	scan := func(text string) statements.Scan {
		e, err := filterjson.Parse([]byte(text))
		require.NoError(t, err)
		c, err := filtersql.Filter(e)
		require.NoError(t, err)
		return statements.Scan{Project: domain.ProjectID(uuid.UUID{1}), Condition: c, Range: order.Starts(5, 6), Limit: 7}
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
		there.Range, there.Limit, there.Order = order.Starts(7, 9), 20, domain.Ascending
		there.Except, there.Only, there.Positions = []trace.TraceID{{1}}, []trace.TraceID{{2}}, []order.Position{{Start: 1}}
		require.Equal(t, here.Fingerprint(), there.Fingerprint())
		require.Empty(t, seen[here.Fingerprint()], text)
		seen[here.Fingerprint()] = text
	}
	share := 0.5
	rated := scan(`{}`)
	rated.Rate = sqltext.NewRate(&share)
	require.NotContains(t, seen, rated.Fingerprint())
}

// A narrow scan reads all types at once, and has every condition of the filter.
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
			c, err := filtersql.Filter(e)
			require.NoError(t, err)
			scan := statements.Scan{Project: domain.ProjectID(uuid.UUID{1}), Condition: c, Range: order.Starts(5, 6), Limit: 7}
			require.Equal(t, tt.plain, scan.Plain())
			require.Equal(t, !tt.text, scan.Keys().StartsFirst)
			require.Equal(t, !tt.text, scan.Narrow(8).StartsFirst)
			indexed := scan
			indexed.FullTextIndex = true
			require.Equal(t, !tt.text && !c.SearchesPayloads, indexed.Keys().StartsFirst)
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
			for _, other := range []statements.Scan{
				{Condition: c, Rate: sqltext.NewRate(&share)},
				{Condition: c, Only: []trace.TraceID{{1}}},
				{Condition: c, Positions: []order.Position{{Start: 1}}},
			} {
				require.False(t, other.Plain())
			}
			require.Equal(t, sqltext.Statement{
				SQL: "SELECT trace_type, start_time, sort_hash, trace_id, span_id, stream_partition, version, created_at, payload_bytes, is_root, is_rewritten FROM spans PREWHERE project_id = ? AND " +
					"(start_time >= '1970-01-01 00:00:00.000005' AND start_time <= '1970-01-01 00:00:00.000006') AND indexHint((partition_week <= ? OR partition_week = '1970-01-01')) ORDER BY start_time DESC, sort_hash DESC LIMIT 7",
				Args: []any{"01000000-0000-0000-0000-000000000000", "1970-01-01"}, MaxRows: 8, OneStep: true, StartsFirst: true, OneThread: true,
			}, scan.Narrow(8))
		})
	}
}
