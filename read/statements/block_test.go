package statements_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// Payloads and their spans are looked up in offset blocks.
func TestWithin(t *testing.T) {
	t.Parallel()
	e, err := filterjson.Parse([]byte(`{"conditions":[{"field":"content","operator":"contains","value":"xylophone"}]}`))
	require.NoError(t, err)
	c, err := filtersql.Filter(e)
	require.NoError(t, err)
	scan := statements.Scan{Project: domain.ProjectID(uuid.New()), Condition: c, Range: order.Everything(), Limit: 1, SkipRecheck: true}
	without := scan.Keys()
	sections := []uint64{3, 5<<schema.RecordShift | (1<<schema.RecordShift - 1)}
	const documents, spans = "(stream_partition, intDiv(stream_offset, 1024)) IN ((0,3),(5,17592186044415))", "(stream_partition, intDiv(version, 1073741824)) IN ((0,3),(5,17592186044415))"
	for _, tt := range []struct {
		name             string
		of               sqltext.Blocks
		documents, spans string
	}{
		{"in two sections", sqltext.Blocks{Numbers: sections}, documents, spans},
		{"nowhere", sqltext.Blocks{}, "0", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			scan := scan
			scan.Within = &tt.of
			require.Equal(t, scan.Fingerprint(), statements.Scan{Project: scan.Project, Condition: c}.Fingerprint(), "it is the same list")
			require.False(t, scan.Plain())
			with := scan.Keys()
			const before = " AND position(lower(text)"
			want := strings.Replace(without.SQL, before, " AND "+tt.documents+before, 1)
			want = strings.Replace(want, " AND (start_time, stream_partition, version) IN", " AND ("+tt.spans+" AND (start_time, stream_partition, version) IN", 1)
			want = strings.Replace(want, " ORDER BY", ") ORDER BY", 1)
			if tt.spans == "0" {
				require.Contains(t, with.SQL, " AND 0 ORDER BY")
				return
			}
			require.Equal(t, want, with.SQL)
			require.Equal(t, without.Args, with.Args)
		})
	}
}

// The reach of the sets is asked from the end at which a list begins.
func TestNearOffsetBlocks(t *testing.T) {
	t.Parallel()
	project, day := domain.ProjectID(uuid.New()), time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC).UnixMicro()
	s := statements.NearOffsetBlocks(project, order.Starts(day, day+5), domain.Descending, 16)
	require.Equal(t, "SELECT toUnixTimestamp64Micro(max_start) FROM span_payload_ngrams PREWHERE project_id = ? AND (max_start >= '2026-03-04 00:00:00.000000' AND max_start <= '2026-03-04 00:00:00.000004') ORDER BY max_start DESC LIMIT 1 OFFSET 15", s.SQL)
	require.Equal(t, []any{project.String()}, s.Args)
	s = statements.NearOffsetBlocks(project, order.Starts(day, day+5), domain.Ascending, 1)
	require.Equal(t, "SELECT toUnixTimestamp64Micro(min_start) FROM span_payload_ngrams PREWHERE project_id = ? AND (min_start >= '2026-03-04 00:00:00.000001' AND min_start <= '2026-03-04 00:00:00.000005') ORDER BY min_start LIMIT 1 OFFSET 0", s.SQL)
}
