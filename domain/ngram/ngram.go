// Package ngram names stretches of text by the n-grams in them: what a text
// holds, each of its parts holds, so a set of n-grams tells where a phrase
// cannot be. An n-gram is a number below 1<<Bits, which others may share: a set
// may have a phrase's n-grams without its text, never the other way round.
//
// Numerals are n-grams, too, in a set of their own: the digits of numbers and what
// stands before them. A log has as many numbers as it has orders, so each five
// digits are soon somewhere in any section of it, and so is each digit after the
// ends of a few words; a number needs more of its digits.
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

// NumeralsOf gives the numerals of a phrase, folded, each once and ascending: of
// eight bytes that end in four to six digits, and two of six digits, which may stand
// alone. nil for one that has neither: it may be anywhere.
func NumeralsOf(phrase string) []uint32 {
	var out []uint32
	numerals([]byte(phrase), func(n uint32) { out = append(out, n) })
	slices.Sort(out)
	return slices.Compact(out)
}

const (
	numeralSize = 8 // bytes that end in fewDigits to manyDigits
	fewDigits   = 4
	manyDigits  = 6
)

// numerals gives those of a text, again where they occur again.
func numerals(text []byte, put func(uint32)) {
	digits := 0 // that end before at
	for at := 0; at < len(text); {
		if len(text)-at >= 8 && !anyDigit(binary.LittleEndian.Uint64(text[at:])) {
			at, digits = at+8, 0
			continue
		}
		for end := min(at+8, len(text)); at < end; at++ {
			if text[at]-'0' > 9 {
				digits = 0
				continue
			}
			digits++
			if digits >= fewDigits && digits <= manyDigits && at+1 >= numeralSize {
				put(mixed(lower(binary.LittleEndian.Uint64(text[at+1-numeralSize:])), 0))
			}
			if digits >= manyDigits {
				var window [8]byte
				copy(window[:], text[at+1-manyDigits:at+1])
				x := binary.LittleEndian.Uint64(window[:])
				put(mixed(x, 0))
				put(mixed(x, 1))
			}
		}
	}
}

// anyDigit reports whether one of eight bytes is a digit.
func anyDigit(x uint64) bool {
	const every = 0x0101010101010101
	x ^= '0' * every // a digit is below 10 now
	return ^((x&(0x7F*every)+(0x80-10)*every)|x)&(0x80*every) != 0
}

// mixed is one of the numbers of eight bytes, of which the last say most:
// multiplied once, they would reach few bits.
func mixed(x uint64, which int) uint32 {
	x *= multiplier
	return uint32((x ^ x>>32) * multiplier >> (64 - Bits*(which+1)) & (1<<Bits - 1))
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

// AddNumerals takes the numerals of a text, folded.
func (s *Set) AddNumerals(text []byte) { numerals(text, func(n uint32) { s.put(n) }) }

func (s *Set) put(n uint32) { s[n>>6%uint32(len(s))] |= 1 << (n & 63) }
