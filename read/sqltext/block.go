package sqltext

import (
	"strconv"

	"colonnade/migrations/schema"
)

// Blocks names the offset blocks of the payloads that a condition searches.
type Blocks struct {
	// Numbers are those that statements.OffsetBlocks returns.
	Numbers []uint64
}

// FewBlocks is how many offset blocks are read at once: 96 blocks have at most 98304 offsets.
const FewBlocks = 96

// Few reports whether all blocks are read at once instead of a window at a time.
func (w *Blocks) Few() bool { return len(w.Numbers) <= FewBlocks }

// Payloads returns the condition on a row of span_payloads_packed.
func (w *Blocks) Payloads() Node {
	if w == nil {
		return nil
	}
	return w.condition("stream_offset", 0)
}

// Spans returns the condition on a row of spans.
func (w *Blocks) Spans() Node { return w.condition("version", schema.VersionShift) }

// condition returns the condition on rows that have an offset, shifted, in a column.
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
	// The key and the index of versions understand a division, but not a shift.
	return Expr("(stream_partition, intDiv(" + column + ", " + strconv.Itoa(schema.BlockOffsets<<shift) + ")) IN (" + string(pairs) + ")")
}
