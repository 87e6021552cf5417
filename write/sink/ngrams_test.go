//go:build embedded

package sink_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/ngram"
	"colonnade/migrations/schema"
	"colonnade/write/stream"
)

// ngrams are the n-grams, or the digit n-grams, that the rows of a section have together.
func (h *fixture) ngrams(column string, project domain.ProjectID, section uint64) []uint32 {
	h.t.Helper()
	return one[[]uint32](h, "SELECT arraySort(bitmapToArray(groupBitmapOrState("+column+"))) FROM span_payload_ngrams WHERE project_id = ? AND stream_partition = 0 AND offset_block = ?", project.String(), section)
}

// expected are those of the documents as they are stored.
func (h *fixture) expected(column string, project domain.ProjectID, section uint64) []uint32 {
	h.t.Helper()
	out := []uint32{}
	var set ngram.Set
	add := map[string]func([]byte){"ngrams": set.Add, "digit_ngrams": set.AddDigitNgrams}[column]
	for _, text := range h.strings("SELECT text FROM span_payloads_packed WHERE project_id = ? AND intDiv(stream_offset, 1024) = ?", project.String(), section) {
		add([]byte(text))
	}
	for n := range uint32(1 << ngram.Bits) {
		if set[n/64]>>(n%64)&1 == 1 {
			out = append(out, n)
		}
	}
	return out
}

// What the sink writes is what the store reads and joins: sets of few numbers
// and of many, in one batch and in several, of each project and section.
func TestNgramsAreThoseOfTheDocuments(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	require.Equal(t, 1024, schema.BlockOffsets)
	other := domain.ProjectID(uuid.New())
	h.start()
	random := rand.New(rand.NewPCG(5, 6))
	noise := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(byte(' ' + random.IntN(95)))
		}
		return b.String()
	}
	record := func(project domain.ProjectID, id, span_ byte, text string) stream.Record {
		mine := h.project
		defer func() { h.project = mine }()
		h.project = project
		return h.record(stream.Upsert, id, span{trace: id, span: span_, name: "n", start: int64(id), attributes: map[string]any{"ag.data.inputs": text}})
	}
	h.send(record(h.project, 1, 1, "A small question about xylophones"), record(other, 1, 1, "Something else"), record(h.project, 2, 1, noise(400_000)))
	h.send(record(h.project, 1, 2, "and its answer"))
	for i := range 1024 { // the next section begins among them
		h.publish(record(other, byte(i), byte(2+i/256), "Number "+noise(20)+" of "+strconv.Itoa(1_000_000+i)))
	}
	h.send(record(h.project, 3, 1, "The last one"))

	require.Equal(t, []string{"0", "1"}, h.strings("SELECT DISTINCT toString(offset_block) FROM span_payload_ngrams WHERE project_id = ? ORDER BY 1", h.project.String()))
	for _, project := range []domain.ProjectID{h.project, other} {
		for section := range uint64(2) {
			for _, column := range []string{"ngrams", "digit_ngrams"} {
				require.Equal(t, h.expected(column, project, section), h.ngrams(column, project, section))
			}
		}
	}
	require.Greater(t, len(h.expected("ngrams", h.project, 0)), 200_000, "most containers of the set are bits")
	require.Greater(t, len(h.expected("digit_ngrams", other, 0)), 2000)
	has := func(phrase string) uint64 {
		return one[uint64](h, "SELECT uniqExact(offset_block) FROM span_payload_ngrams WHERE project_id = ? AND bitmapHasAll(ngrams, bitmapBuild(?))", other.String(), ngram.Of(phrase))
	}
	require.EqualValues(t, 1, has("something"))
	require.EqualValues(t, 2, has("number"))
	require.EqualValues(t, 0, has("xylophone"), "that is in another project")

	require.NoError(t, h.conn.Exec(t.Context(), "OPTIMIZE TABLE span_payload_ngrams FINAL"))
	require.EqualValues(t, 4, one[uint64](h, "SELECT count() FROM span_payload_ngrams"), "merges make one of a section")
	for _, column := range []string{"ngrams", "digit_ngrams"} {
		require.Equal(t, h.expected(column, h.project, 0), h.ngrams(column, h.project, 0))
	}
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM span_payload_ngrams WHERE project_id = ? AND offset_block = 0 AND min_start = fromUnixTimestamp64Micro(?) AND max_start = fromUnixTimestamp64Micro(?)",
		h.project.String(), base.UnixMicro()+1000, base.UnixMicro()+2000))
}
