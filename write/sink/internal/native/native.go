// Package native encodes columns as a block of ClickHouse's Native format, as
// an INSERT over HTTP takes it. It exists for speed: a column is a growing
// byte buffer that is already in the form of the wire, so that a row costs
// appends and the block one copy. Nothing here knows a table; write/sink is
// the only caller.
//
// The format is that of protocol revision 0, which is what the server assumes
// for INSERT bodies: no block info, no custom serializations. Source:
// ClickHouse src/Formats/NativeReader.cpp.
package native

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Column is one column of a block.
type Column interface {
	// Rows is the number of rows appended.
	Rows() int
	// Reset empties the column and keeps its memory.
	Reset()
	// prefix appends what stands before the data: the state of dictionaries.
	prefix(dst []byte) []byte
	data(dst []byte) []byte
	// size is what both append, or a little more.
	size() int
}

// Block is a table's columns in the order of the INSERT.
type Block struct {
	names   []string
	headers [][]byte
	columns []Column
}

// Add appends a column. typ is its ClickHouse type; a type that differs from
// the table's is converted by the server.
func (b *Block) Add(name, typ string, c Column) {
	header := binary.AppendUvarint(nil, uint64(len(name)))
	header = append(header, name...)
	header = binary.AppendUvarint(header, uint64(len(typ)))
	header = append(header, typ...)
	b.names = append(b.names, name)
	b.headers = append(b.headers, header)
	b.columns = append(b.columns, c)
}

// Names are the columns' names in their order.
func (b *Block) Names() []string { return b.names }

// Rows is the number of rows, 0 for a block without columns.
func (b *Block) Rows() int {
	if len(b.columns) == 0 {
		return 0
	}
	return b.columns[0].Rows()
}

// Reset empties all columns and keeps their memory.
func (b *Block) Reset() {
	for _, c := range b.columns {
		c.Reset()
	}
}

// Size is how many bytes AppendTo appends, or a little more.
func (b *Block) Size() int {
	n := 2 * binary.MaxVarintLen64
	for i, c := range b.columns {
		n += len(b.headers[i]) + c.size()
	}
	return n
}

// AppendTo appends the encoded block. Columns of unequal length are a fault of
// the caller's and an error: the server would read one column's bytes as another's.
func (b *Block) AppendTo(dst []byte) ([]byte, error) {
	rows := b.Rows()
	dst = slices.Grow(dst, b.Size()) // the texts of a batch would be copied again for every column that follows
	dst = binary.AppendUvarint(dst, uint64(len(b.columns)))
	dst = binary.AppendUvarint(dst, uint64(rows)) //nolint:gosec // a length is never negative
	for i, c := range b.columns {
		if c.Rows() != rows {
			return nil, fmt.Errorf("native: column %s has %d rows, the block has %d", b.names[i], c.Rows(), rows)
		}
		dst = append(dst, b.headers[i]...)
		if rows > 0 {
			dst = c.prefix(dst)
			dst = c.data(dst)
		}
	}
	return dst, nil
}
