package sink

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

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
	err := w.writeTable(ctx, b, schema.SpanPayloads, &b.rows.documents.Block, b.entries)
	return errors.Join(err, <-ngrams)
}

// writeNgrams inserts the n-grams of the payloads of a batch, also of those that are
// stored already. A span without its n-grams would not be found, and no row holds
// anything that a client chose: a refusal is a table that is not as this build knows
// it, and to wait is visible.
func (w *worker) writeNgrams(ctx context.Context, b *batch) error {
	err := w.insert(ctx, b, schema.SpanPayloadNgrams, b.rows.ngrams.of(b.rows.documents, w.partition.Number()))
	if domain.KindOf(err).Permanent() {
		return domain.Wrap(domain.Unavailable, err, "ClickHouse refused n-grams.")
	}
	return err
}

// ngramColumns are the rows of the table span_payload_ngrams, reused from batch to
// batch. Source: migrations/clickhouse/0001_schema.sql.
type ngramColumns struct {
	columns
	project, partition, section, minStart, maxStart *native.Fixed
	ngrams, numerals                                *native.Bitmap

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
	c.section = c.fixed("offset_block", "UInt64", 8)
	c.minStart = c.fixed("min_start", typeTime, 8)
	c.maxStart = c.fixed("max_start", typeTime, 8)
	c.Add("ngrams", set, c.ngrams)
	c.Add("digit_ngrams", set, c.numerals)
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
			section: binary.LittleEndian.Uint64(documents.offset.Raw()[8*i:]) / schema.BlockOffsets,
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
		c.gatherer.Reset()
		rest = rest[n:]
	}
	return &c.Block
}
