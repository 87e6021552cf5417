package native

import (
	"encoding/binary"
	"iter"
	"math"
	"strings"
)

// Fixed is a column of values of one width: numbers, little endian, and fixed strings.
type Fixed struct {
	width int
	buf   []byte
}

// NewFixed makes a column of values of width bytes.
func NewFixed(width int) *Fixed { return &Fixed{width: width} }

// Uint8 appends to a column of width 1: UInt8, Bool, Enum8.
func (c *Fixed) Uint8(v uint8) { c.buf = append(c.buf, v) }

// Bool appends to a column of width 1.
func (c *Fixed) Bool(v bool) {
	if v {
		c.buf = append(c.buf, 1)
		return
	}
	c.buf = append(c.buf, 0)
}

// Uint16 appends to a column of width 2: UInt16, Date.
func (c *Fixed) Uint16(v uint16) { c.buf = binary.LittleEndian.AppendUint16(c.buf, v) }

// Uint32 appends to a column of width 4.
func (c *Fixed) Uint32(v uint32) { c.buf = binary.LittleEndian.AppendUint32(c.buf, v) }

// Uint64 appends to a column of width 8.
func (c *Fixed) Uint64(v uint64) { c.buf = binary.LittleEndian.AppendUint64(c.buf, v) }

// Int64 appends to a column of width 8: DateTime64 is its count of ticks.
func (c *Fixed) Int64(v int64) {
	c.buf = binary.LittleEndian.AppendUint64(c.buf, uint64(v)) //nolint:gosec // the bits are the value
}

// Float64 appends to a column of width 8.
func (c *Fixed) Float64(v float64) {
	c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(v))
}

// UUID appends to a column of width 16: ClickHouse keeps a UUID as two
// little-endian halves, the first half first.
func (c *Fixed) UUID(v [16]byte) {
	c.buf = binary.LittleEndian.AppendUint64(c.buf, binary.BigEndian.Uint64(v[:8]))
	c.buf = binary.LittleEndian.AppendUint64(c.buf, binary.BigEndian.Uint64(v[8:]))
}

// Raw gives the values as they go over the wire.
func (c *Fixed) Raw() []byte { return c.buf }

// Bytes appends a fixed string; it must have the column's width.
func (c *Fixed) Bytes(v []byte) { c.buf = append(c.buf, v...) }

// Rows implements Column.
func (c *Fixed) Rows() int { return len(c.buf) / c.width }

// Reset implements Column.
func (c *Fixed) Reset() { c.buf = c.buf[:0] }

func (c *Fixed) prefix(dst []byte) []byte { return dst }

func (c *Fixed) data(dst []byte) []byte { return append(dst, c.buf...) }

func (c *Fixed) size() int { return len(c.buf) }

// String is a column of strings of any bytes.
type String struct {
	rows int
	buf  []byte
}

// Append adds a row.
func (c *String) Append(v string) {
	c.buf = binary.AppendUvarint(c.buf, uint64(len(v)))
	c.buf = append(c.buf, v...)
	c.rows++
}

// AppendBytes adds a row; v is copied.
func (c *String) AppendBytes(v []byte) {
	c.buf = binary.AppendUvarint(c.buf, uint64(len(v)))
	c.buf = append(c.buf, v...)
	c.rows++
}

// Append3 adds the row a+b+d without making it.
func (c *String) Append3(a, b, d string) {
	c.buf = binary.AppendUvarint(c.buf, uint64(len(a)+len(b)+len(d)))
	c.buf = append(c.buf, a...)
	c.buf = append(c.buf, b...)
	c.buf = append(c.buf, d...)
	c.rows++
}

// AppendToken adds the row key=value without making it.
func (c *String) AppendToken(key []byte, value string) {
	c.buf = binary.AppendUvarint(c.buf, uint64(len(key)+1+len(value)))
	c.buf = append(c.buf, key...)
	c.buf = append(c.buf, '=')
	c.buf = append(c.buf, value...)
	c.rows++
}

// All gives the strings of the rows in their order. They are valid until the next Append or Reset.
func (c *String) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := c.buf; len(rest) > 0; {
			length, n := binary.Uvarint(rest)
			end := n + int(length) //nolint:gosec // it was an int
			if !yield(rest[n:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// Rows implements Column.
func (c *String) Rows() int { return c.rows }

// Reset implements Column.
func (c *String) Reset() { c.rows, c.buf = 0, c.buf[:0] }

func (c *String) prefix(dst []byte) []byte { return dst }

func (c *String) data(dst []byte) []byte { return append(dst, c.buf...) }

func (c *String) size() int { return len(c.buf) }

// Dictionary is a column of LowCardinality(String): each distinct string once,
// and a number for each row.
type Dictionary struct {
	index map[string]uint32
	words String
	rows  []uint32
}

// NewDictionary makes an empty one.
func NewDictionary() *Dictionary { return &Dictionary{index: map[string]uint32{}} }

// Word is the number of a string in the dictionary, which gets it if need be.
// isNew tells that it was not there. Numbers hold until Reset.
func (c *Dictionary) Word(v string) (number uint32, isNew bool) {
	number, ok := c.index[v]
	if !ok {
		number = uint32(len(c.index))      //nolint:gosec // bounded by the rows of one batch
		c.index[strings.Clone(v)] = number // v may be a piece of all that was fetched
		c.words.Append(v)
	}
	return number, !ok
}

// AppendWord adds a row by its word's number.
func (c *Dictionary) AppendWord(number uint32) { c.rows = append(c.rows, number) }

// Append adds a row.
func (c *Dictionary) Append(v string) {
	number, _ := c.Word(v)
	c.rows = append(c.rows, number)
}

// Rows implements Column.
func (c *Dictionary) Rows() int { return len(c.rows) }

// Reset implements Column.
func (c *Dictionary) Reset() {
	clear(c.index)
	c.words.Reset()
	c.rows = c.rows[:0]
}

// The flags of a dictionary's data. Source: ClickHouse SerializationLowCardinality.cpp.
const (
	sharedDictionaries = 1
	hasAdditionalKeys  = 1 << 9
	needUpdate         = 1 << 10
)

func (c *Dictionary) prefix(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, sharedDictionaries)
}

func (c *Dictionary) data(dst []byte) []byte {
	if len(c.rows) == 0 { // within a list; the reader then reads nothing
		return dst
	}
	width := uint64(0)
	switch words := c.words.rows; {
	case words > math.MaxUint16+1:
		width = 2
	case words > math.MaxUint8+1:
		width = 1
	}
	dst = binary.LittleEndian.AppendUint64(dst, hasAdditionalKeys|needUpdate|width)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(c.words.rows)) //nolint:gosec // a count is never negative
	dst = c.words.data(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(c.rows)))
	for _, n := range c.rows {
		switch width {
		case 0:
			dst = append(dst, byte(n)) //nolint:gosec // width says that it fits
		case 1:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(n)) //nolint:gosec // width says that it fits
		default:
			dst = binary.LittleEndian.AppendUint32(dst, n)
		}
	}
	return dst
}

func (c *Dictionary) size() int {
	const words, widest = 4 * 8, 4
	return words + c.words.size() + widest*len(c.rows)
}

// List is a column of arrays over one column, or of maps over two: elements
// are appended to those, then End ends the row.
type List struct {
	ends     Fixed
	elements []Column
}

// NewList makes an Array over one column or a Map over a key and a value column.
func NewList(elements ...Column) *List { return &List{ends: Fixed{width: 8}, elements: elements} }

// End ends the row with the elements appended so far.
func (c *List) End() { c.ends.Uint64(uint64(c.elements[0].Rows())) } //nolint:gosec // a count is never negative

// Rows implements Column.
func (c *List) Rows() int { return c.ends.Rows() }

// Reset implements Column.
func (c *List) Reset() {
	c.ends.Reset()
	for _, e := range c.elements {
		e.Reset()
	}
}

func (c *List) prefix(dst []byte) []byte {
	for _, e := range c.elements {
		dst = e.prefix(dst)
	}
	return dst
}

func (c *List) data(dst []byte) []byte {
	dst = c.ends.data(dst)
	for _, e := range c.elements {
		dst = e.data(dst)
	}
	return dst
}

func (c *List) size() int {
	n := c.ends.size()
	for _, e := range c.elements {
		n += e.size()
	}
	return n
}
