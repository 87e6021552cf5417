package compile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/migrations/schema"
	"colonnade/read/compile"
)

// Which stretches a filter asks for: none where a match may be without any of its texts.
func TestGoldenStretches(t *testing.T) {
	t.Parallel()
	compareGolden(t, "testdata/ngrams/stretches.txtar", func(t *testing.T, data []byte) string {
		t.Helper()
		e, err := filter.Parse(data)
		require.NoError(t, err)
		c, err := compile.Filter(e)
		require.NoError(t, err)
		if !c.Phrases() {
			return "anywhere\n"
		}
		day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
		s := compile.Stretches{
			Project: domain.ProjectID(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")), Condition: c, Limit: 100,
			Range: compile.Starts(day.UnixMicro(), day.AddDate(0, 0, 1).UnixMicro()),
		}.Statement()
		require.Len(t, s.Args, 1, "the project; numbers are ours")
		return strings.NewReplacer(" PREWHERE ", "\n PREWHERE ", " AND ", "\n AND ", " OR ", "\n OR ").Replace(s.SQL) + "\n"
	})
}

// Where documents are looked for: in stretches, and in what the sets do not cover.
func TestWithin(t *testing.T) {
	t.Parallel()
	e, err := filter.Parse([]byte(`{"conditions":[{"field":"content","operator":"contains","value":"xylophone"}]}`))
	require.NoError(t, err)
	c, err := compile.Filter(e)
	require.NoError(t, err)
	scan := compile.Scan{Project: domain.ProjectID(uuid.New()), Condition: c, Range: compile.Everything(), Limit: 1}
	const in = "(stream_partition, intDiv(stream_offset, 1024)) IN ((0,3),(5,17592186044415))"
	stretches := []uint64{3, 5<<schema.RecordShift | (1<<schema.RecordShift - 1)}
	for _, tt := range []struct {
		name  string
		of    compile.Within
		whole bool
		want  string
		args  []any
	}{
		{"all is covered", compile.Within{Stretches: stretches, From: map[uint32]uint64{0: 0, 5: 0}}, true, "(" + in + " OR NOT (stream_partition IN (?, ?)))", []any{uint32(0), uint32(5)}},
		{"nowhere", compile.Within{From: map[uint32]uint64{5: 0}}, true, "NOT (stream_partition = ?)", []any{uint32(5)}},
		{
			"some is not covered",
			compile.Within{Stretches: stretches, From: map[uint32]uint64{0: 7, 5: schema.NotCovered}},
			false,
			"(" + in + " OR (stream_partition = ? AND stream_offset < ?) OR stream_partition = ? OR NOT (stream_partition IN (?, ?)))",
			[]any{uint32(0), uint64(7), uint32(5), uint32(0), uint32(5)},
		},
		{"nothing is known", compile.Within{}, false, "1", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.whole, tt.of.Whole())
			scan := scan
			without := scan.Keys()
			scan.Within = &tt.of
			require.Equal(t, scan.Likeness(), compile.Scan{Project: scan.Project, Condition: c}.Likeness(), "it is the same list")
			with := scan.Keys()
			require.Equal(t, strings.Replace(without.SQL, " AND position(lower(text)", " AND "+tt.want+" AND position(lower(text)", 1), with.SQL)
			require.Len(t, with.Args, len(without.Args)+len(tt.args))
			require.Equal(t, tt.args, append([]any(nil), with.Args[len(with.Args)-1-len(tt.args):len(with.Args)-1]...))
		})
	}
}
