package sqltext

import (
	"strconv"

	"colonnade/migrations/schema"
)

// Within names the sections that hold the documents that a condition looks for.
type Blocks struct {
	// Sections are as Sections names them.
	Numbers []uint64
}

// FewSections are read at once: what is in so few of them is in few of their spans.
const FewBlocks = 96

// Few tells that all of it is read at once rather than a window at a time.
func (w *Blocks) Few() bool { return len(w.Numbers) <= FewBlocks }

// documents is the condition on a row of span_payloads_packed.
func (w *Blocks) Payloads() Node {
	if w == nil {
		return nil
	}
	return w.condition("stream_offset", 0)
}

// spans is the condition on a row of spans.
func (w *Blocks) Spans() Node { return w.condition("version", schema.VersionShift) }

// node is the condition on rows that have an offset, shifted, in a column.
func (w *Blocks) condition(column string, shift int) Node {
	if len(w.Numbers) == 0 {
		return Constant(false)
	}
	pairs := make([]byte, 0, 16*len(w.Numbers))
	for i, number := range w.Numbers {
		if i > 0 {
			pairs = append(pairs, ',')
		}
		pairs = strconv.AppendUint(append(pairs, '('), number>>schema.RecordShift, 10)
		pairs = append(strconv.AppendUint(append(pairs, ','), number&(1<<schema.RecordShift-1), 10), ')')
	}
	// The key and the index of versions look through a division, not through a shift.
	return Expr("(stream_partition, intDiv(" + column + ", " + strconv.Itoa(schema.BlockOffsets<<shift) + ")) IN (" + string(pairs) + ")")
}
