// Package ngram names stretches of text by the n-grams in them: what a text
// holds, each of its parts holds, so a set of n-grams tells where a phrase
// cannot be. An n-gram is a number below 1<<Bits, which others may share: a set
// may have a phrase's n-grams without its text, never the other way round.
//
// The sink writes the sets and the readers ask for them; both are stored, so a
// change of anything here is a migration.
package ngram

import (
	"encoding/binary"
	"slices"
)

const (
	// Size is the length of an n-gram in bytes. Identifiers are what is looked for
	// most, and a thousand of them hold all there is of four hexadecimal digits.
	Size = 5
	// Bits is the width of an n-gram's number. A set is 128 KiB at most.
	Bits = 20
)

const (
	mask       = 1<<(8*Size) - 1
	multiplier = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio: neighbours land far from each other
	atOnce     = 8 - Size + 1       // n-grams in the eight bytes that are read at a time
)

func number(x uint64) uint32 { return uint32((x & mask) * multiplier >> (64 - Bits)) }

// lower folds the ASCII letters among eight bytes, as ClickHouse's lower does.
func lower(x uint64) uint64 {
	const every = 0x0101010101010101
	low := x & (0x7F * every)
	fromA, beyondZ := low+(0x80-'A')*every, low+(0x7F-'Z')*every
	letters := ^x & (fromA ^ beyondZ) & (0x80 * every)
	return x | letters>>2
}

// Of gives the n-grams of a phrase, folded, each once and ascending. nil for
// one that is shorter than Size: it may be anywhere.
func Of(phrase string) []uint32 {
	if len(phrase) < Size {
		return nil
	}
	out := make([]uint32, 0, len(phrase)-Size+1)
	var window [8]byte
	for i := 0; i+Size <= len(phrase); i++ {
		copy(window[:], phrase[i:i+Size])
		out = append(out, number(lower(binary.LittleEndian.Uint64(window[:]))))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Set is the n-grams of some texts: bit n%64 of word n/64 stands for the number n.
// The zero value is empty.
type Set [1 << Bits / 64]uint64

// Add takes the n-grams of a text, folded. None reaches from one text into the next.
func (s *Set) Add(text []byte) {
	for ; len(text) >= 8; text = text[atOnce:] {
		x := lower(binary.LittleEndian.Uint64(text))
		s.put(number(x))
		s.put(number(x >> 8))
		s.put(number(x >> 16))
		s.put(number(x >> 24))
	}
	for ; len(text) >= Size; text = text[1:] {
		var window [8]byte
		copy(window[:], text)
		s.put(number(lower(binary.LittleEndian.Uint64(window[:]))))
	}
}

func (s *Set) put(n uint32) { s[n>>6%uint32(len(s))] |= 1 << (n & 63) }
