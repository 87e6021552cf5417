package native

import (
	"encoding/binary"
	"math/bits"
)

// Bitmap is a column of AggregateFunction(groupBitmap, UInt32): sets of numbers
// as the function keeps them, so that the server takes them as they are and
// merges join them. Sources: ClickHouse AggregateFunctionGroupBitmapData.h, the
// Roaring format specification.
type Bitmap struct {
	rows int
	buf  []byte
}

const (
	roaringKind   = 1     // the other kind is a list of 32 numbers at most
	roaringCookie = 12346 // no run containers
	// A container is what has the upper 16 bits of a number in common: up to
	// maxListed numbers as a list of the lower ones, more as a bit for each.
	containerWords = 1 << 16 / 64
	containerBytes = 1 << 16 / 8
	maxListed      = 4096
)

// Append adds the set of the numbers n of which bit n%64 of words[n/64] is set.
// The length of words is a multiple of 1024.
func (c *Bitmap) Append(words []uint64) {
	var counts []int
	containers, size := 0, 0
	for at := 0; at < len(words); at += containerWords {
		n := 0
		for _, w := range words[at : at+containerWords] {
			n += bits.OnesCount64(w)
		}
		counts = append(counts, n)
		if n > 0 {
			containers++
			size += 8 + containerSize(n)
		}
	}
	size += 8
	c.buf = append(c.buf, roaringKind)
	c.buf = binary.AppendUvarint(c.buf, uint64(size))
	c.buf = binary.LittleEndian.AppendUint32(c.buf, roaringCookie)
	c.buf = binary.LittleEndian.AppendUint32(c.buf, uint32(containers))
	for key, n := range counts {
		if n > 0 {
			c.buf = binary.LittleEndian.AppendUint16(c.buf, uint16(key))
			c.buf = binary.LittleEndian.AppendUint16(c.buf, uint16(n-1)) //nolint:gosec // 1 << 16 - 1 at most
		}
	}
	for at, i := 8+8*containers, 0; i < len(counts); i++ {
		if counts[i] > 0 {
			c.buf = binary.LittleEndian.AppendUint32(c.buf, uint32(at))
			at += containerSize(counts[i])
		}
	}
	for i, n := range counts {
		if n > 0 {
			c.container(words[i*containerWords:(i+1)*containerWords], n <= maxListed)
		}
	}
	c.rows++
}

func containerSize(n int) int {
	if n <= maxListed {
		return 2 * n
	}
	return containerBytes
}

func (c *Bitmap) container(words []uint64, listed bool) {
	for i, w := range words {
		if !listed {
			c.buf = binary.LittleEndian.AppendUint64(c.buf, w)
			continue
		}
		for ; w != 0; w &= w - 1 {
			c.buf = binary.LittleEndian.AppendUint16(c.buf, uint16(i<<6|bits.TrailingZeros64(w))) //nolint:gosec // below 1 << 16
		}
	}
}

// Rows implements Column.
func (c *Bitmap) Rows() int { return c.rows }

// Reset implements Column.
func (c *Bitmap) Reset() { c.rows, c.buf = 0, c.buf[:0] }

func (c *Bitmap) prefix(dst []byte) []byte { return dst }

func (c *Bitmap) data(dst []byte) []byte { return append(dst, c.buf...) }

func (c *Bitmap) size() int { return len(c.buf) }
