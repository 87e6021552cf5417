package sink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/ngram"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// writeDocuments inserts the documents of a batch and says what occurs in them,
// the one while the other is under way: a reader needs both, and neither the other.
func (w *worker) writeDocuments(ctx context.Context, b *batch) error {
	ngrams := make(chan error, 1)
	go func() { ngrams <- w.writeNgrams(ctx, b) }()
	err := w.writeTable(ctx, b, schema.SpanDocuments, &b.rows.documents.Block, b.entries)
	return errors.Join(err, <-ngrams)
}

// writeNgrams says what occurs in the documents of a batch: those that are
// stored already, too, for a sink of an earlier version may have stored them.
func (w *worker) writeNgrams(ctx context.Context, b *batch) error {
	err := w.insert(ctx, b, schema.SpanNgrams, b.rows.ngrams.of(b.rows.documents, w.partition.Number()))
	if !domain.KindOf(err).Permanent() {
		return err
	}
	// A search is not worth a batch; it looks at what is not covered.
	w.ngramsFrom = uint64(b.rng.Last) + 1 //nolint:gosec // an offset is never negative
	w.log.LogAttrs(ctx, slog.LevelError, "ClickHouse refused n-grams, a search reads all payloads up to this offset", slog.Int64("last", b.rng.Last), slog.Any("error", err))
	return nil
}

// ngramColumns are the rows of the table span_ngrams, reused from batch to
// batch. Source: migrations/clickhouse/0013_ngrams.sql, 0015_numerals.sql.
type ngramColumns struct {
	columns
	project, partition, section, minStart, maxStart, hasNumerals *native.Fixed
	ngrams, numerals                                             *native.Bitmap

	gatherer ngram.Gatherer
	texts    []sectionText
}

// sectionText is a text of a section.
type sectionText struct {
	project []byte // as the column has it
	section uint64
	start   int64
	text    []byte
}

func newNgramColumns() *ngramColumns {
	const set = "AggregateFunction(groupBitmap, UInt32)"
	c := &ngramColumns{ngrams: &native.Bitmap{}, numerals: &native.Bitmap{}}
	c.project = c.fixed("project_id", typeUUID, 16)
	c.partition = c.fixed("stream_partition", "UInt32", 4)
	c.section = c.fixed("section", "UInt64", 8)
	c.minStart = c.fixed("min_start", typeTime, 8)
	c.maxStart = c.fixed("max_start", typeTime, 8)
	c.Add("ngrams", set, c.ngrams)
	c.Add("numerals", set, c.numerals)
	c.hasNumerals = c.fixed("has_numerals", "UInt8", 1)
	return c
}

// of makes a row for each project and section that documents are of.
func (c *ngramColumns) of(documents *documentColumns, partition int32) *native.Block {
	c.Reset()
	c.texts = c.texts[:0]
	i := 0
	for text := range documents.text.All() {
		c.texts = append(c.texts, sectionText{
			project: documents.project.Raw()[16*i : 16*i+16], text: text,
			section: binary.LittleEndian.Uint64(documents.offset.Raw()[8*i:]) / schema.SectionOffsets,
			start:   int64(binary.LittleEndian.Uint64(documents.start.Raw()[8*i:])), //nolint:gosec // the bits are the value
		})
		i++
	}
	slices.SortStableFunc(c.texts, func(a, b sectionText) int {
		if a.section != b.section {
			return int(a.section) - int(b.section) //nolint:gosec // offsets of one batch lie close together
		}
		return bytes.Compare(a.project, b.project)
	})
	for rest := c.texts; len(rest) > 0; {
		first, n := rest[0], 0
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for ; n < len(rest) && rest[n].section == first.section && bytes.Equal(rest[n].project, first.project); n++ {
			c.gatherer.Add(rest[n].text)
			low, high = min(low, rest[n].start), max(high, rest[n].start)
		}
		c.project.Bytes(first.project)
		c.partition.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
		c.section.Uint64(first.section)
		c.minStart.Int64(low)
		c.maxStart.Int64(high)
		c.ngrams.Append(c.gatherer.Set()[:])
		c.numerals.Append(c.gatherer.Numerals()[:])
		c.hasNumerals.Bool(true)
		c.gatherer.Reset()
		rest = rest[n:]
	}
	return &c.Block
}

// restoreNgrams finds from which offset on the partition is covered. Where the
// owner before was a sink that writes n-grams, that goes on; otherwise from what
// it has not stored.
func (w *worker) restoreNgrams(ctx context.Context, first int64) error {
	statement := "SELECT argMax(ngrams_from, (next_offset, written_at)) FROM " + w.store.cfg.Deployment.Table(schema.SinkProgress) +
		" WHERE topic = '" + w.sink.topic + "' AND stream_partition = " + w.label + " HAVING count() > 0"
	from := uint64(schema.NotCovered)
	err := w.store.query(ctx, "restore n-grams", statement, func() { from = schema.NotCovered }, func(rows driver.Rows) error { return rows.Scan(&from) })
	if err != nil {
		return err
	}
	if from == schema.NotCovered {
		from = uint64(max(first, w.storedUntil+1)) //nolint:gosec // neither is below 0
	}
	w.ngramsFrom = from
	return nil
}
