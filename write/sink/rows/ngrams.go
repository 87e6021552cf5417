package rows

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"colonnade/domain/ngram"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// ngramColumns holds the rows of the table span_payload_ngrams, reused from batch to
// batch. Source: migrations/clickhouse/0001_schema.sql.
type ngramColumns struct {
	Columns
	project, partition, offsetBlock, minStart, maxStart *native.Fixed
	ngrams, digitNgrams                                 *native.Bitmap

	gatherer ngram.Gatherer
	payloads []blockPayload
}

// blockPayload is a payload of an offset block.
type blockPayload struct {
	project []byte // as the column has it
	block   uint64
	start   int64
	payload []byte
}

func newNgramColumns() *ngramColumns {
	const set = "AggregateFunction(groupBitmap, UInt32)"
	c := &ngramColumns{ngrams: &native.Bitmap{}, digitNgrams: &native.Bitmap{}}
	c.project = c.Fixed("project_id", TypeUUID, 16)
	c.partition = c.Fixed("stream_partition", "UInt32", 4)
	c.offsetBlock = c.Fixed("offset_block", "UInt64", 8)
	c.minStart = c.Fixed("min_start", TypeTime, 8)
	c.maxStart = c.Fixed("max_start", TypeTime, 8)
	c.Add("ngrams", set, c.ngrams)
	c.Add("digit_ngrams", set, c.digitNgrams)
	return c
}

// Of returns one row for each project and offset block of the payloads.
func (c *ngramColumns) Of(payloads *PayloadColumns, partition int32) *native.Block {
	c.Reset()
	c.payloads = c.payloads[:0]
	i := 0
	for text := range payloads.text.All() {
		c.payloads = append(c.payloads, blockPayload{
			project: payloads.project.Raw()[16*i : 16*i+16], payload: text,
			block: binary.LittleEndian.Uint64(payloads.offset.Raw()[8*i:]) / schema.BlockOffsets,
			start: int64(binary.LittleEndian.Uint64(payloads.start.Raw()[8*i:])), //nolint:gosec // the bits are the value
		})
		i++
	}
	slices.SortStableFunc(c.payloads, func(a, b blockPayload) int {
		if a.block != b.block {
			return int(a.block) - int(b.block) //nolint:gosec // offsets of one batch lie close together
		}
		return bytes.Compare(a.project, b.project)
	})
	for rest := c.payloads; len(rest) > 0; {
		first, n := rest[0], 0
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for ; n < len(rest) && rest[n].block == first.block && bytes.Equal(rest[n].project, first.project); n++ {
			c.gatherer.Add(rest[n].payload)
			low, high = min(low, rest[n].start), max(high, rest[n].start)
		}
		c.project.Bytes(first.project)
		c.partition.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
		c.offsetBlock.Uint64(first.block)
		c.minStart.Int64(low)
		c.maxStart.Int64(high)
		c.ngrams.Append(c.gatherer.Set()[:])
		c.digitNgrams.Append(c.gatherer.DigitNgrams()[:])
		c.gatherer.Reset()
		rest = rest[n:]
	}
	return &c.Block
}
