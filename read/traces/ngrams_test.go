//go:build embedded

package traces_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/migrations/schema"
)

// A search finds the same spans where sets of n-grams tell which stretches of the
// stream to look at: all of it is covered, what came before an offset is not, or
// all there is of another partition.
func TestSearchByNgrams(t *testing.T) {
	t.Parallel()
	const size = 30
	for _, tt := range []struct {
		name string
		// from is the offset from which on the sets cover the stream; what comes before has none.
		from uint64
		// other tells that spans of a partition follow of which nothing is known.
		other bool
	}{
		{name: "all is covered"},
		{name: "a part is covered", from: 8 * schema.StretchOffsets},
		{name: "nothing is", from: schema.NotCovered},
		{name: "another partition is not", other: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.cover(tt.from)
			all := library()
			for i := 0; i < len(all); i += size {
				s.covered = s.version>>schema.VersionShift >= tt.from
				s.insert(all[i : i+size]...)
				s.nextStretch()
			}
			if tt.other {
				for _, table := range []string{"spans", "span_documents"} {
					require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO "+table+" SELECT * REPLACE (toUInt32(1) AS stream_partition) FROM "+table+" WHERE start_time < ?", now.AddDate(0, 0, -3)))
					require.NoError(t, s.conn.Exec(t.Context(), "DELETE FROM "+table+" WHERE stream_partition = 0 AND start_time < ?", now.AddDate(0, 0, -3)))
				}
				require.NoError(t, s.conn.Exec(t.Context(), "DELETE FROM span_ngrams WHERE max_start < ?", now.AddDate(0, 0, -3)))
			}
			asked := s.search(all, searches()...)
			require.Equal(t, tt.from != schema.NotCovered, asked["stretches"].count > 0)
			require.NotZero(t, asked["ngrams_from"].count)
		})
	}
}

// A word that hardly occurs is looked for where it may be: one statement more,
// whatever the time.
func TestNgramsNarrowASearch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.cover(0)
	all := library()
	for i := 0; i < len(all); i += 30 {
		s.insert(all[i : i+30]...)
		s.nextStretch()
	}
	asked := s.search(all, "xylophone")
	require.EqualValues(t, 1, asked["stretches"].count)
	require.EqualValues(t, 1, asked["scan_narrow"].count)
	asked = s.search(all, "nowhere-to-be-seen")
	require.EqualValues(t, 1, asked["scan_narrow"].count)
	asked = s.search(all, "spring") // is in all of them
	require.EqualValues(t, 1, asked["stretches"].count)
	asked = s.search(all, "12", "many -spring")
	require.Zero(t, asked["stretches"].count, "there is no n-gram in it")

	plan := strings.Join(explain(t, s.conn, "SELECT count() FROM span_documents WHERE project_id = ? AND (stream_partition, intDiv(stream_offset, 1024)) IN ((0,3),(0,7)) AND text != ''", s.project.String()), "\n")
	require.Contains(t, plan, "intDiv(stream_offset, 1024)) in 2-element set", "the key finds a stretch")
}
