// Package ngram computes sets of n-grams of texts. Each part of a text has only n-grams
// of the text, so that a set shows which texts cannot contain a phrase. An n-gram is a
// number below 1<<Bits, a hash: several n-grams may share it, so that a set may have all
// numbers of a phrase whose text it does not have, but never the reverse.
//
// Digit n-grams are kept in a set of their own: four to six digits of a number with the
// bytes before them. Any five digits soon occur somewhere in an offset block, so that
// ordinary n-grams do not narrow a search for a number.
//
// The sink stores the sets and the read side queries them: a change of the numbers
// needs a migration.
package ngram

import (
	"encoding/binary"
	"slices"
)

const (
	// Size is the length of an n-gram in bytes. Most searches are for identifiers, and a
	// thousand identifiers contain every sequence of four hexadecimal digits.
	Size = 5
	// Bits is the width of an n-gram's number. A set has at most 128 KiB.
	Bits = 20
)

const (
	mask       = 1<<(8*Size) - 1
	multiplier = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio: neighbouring n-grams get distant numbers
	atOnce     = 8 - Size + 1       // n-grams in the eight bytes of one read
)

func number(x uint64) uint32 { return uint32((x & mask) * multiplier >> (64 - Bits)) }

// lower returns eight bytes with their ASCII letters in lower case, as ClickHouse's lower does.
func lower(x uint64) uint64 {
	const every = 0x0101010101010101
	low := x & (0x7F * every)
	fromA, beyondZ := low+(0x80-'A')*every, low+(0x7F-'Z')*every
	letters := ^x & (fromA ^ beyondZ) & (0x80 * every)
	return x | letters>>2
}

// Of returns the n-grams of a phrase in lower case, each once, in ascending order. It
// returns nil for a phrase shorter than Size, which any text may contain.
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

// DigitNgramsOf returns the digit n-grams of a phrase in lower case, each once, in
// ascending order: one for eight bytes that end in four to six digits, and two for six
// digits, whatever precedes them. It returns nil for a phrase without such digits, which
// any text may contain.
func DigitNgramsOf(phrase string) []uint32 {
	var out []uint32
	digitNgrams([]byte(phrase), func(n uint32) { out = append(out, n) })
	slices.Sort(out)
	return slices.Compact(out)
}

const (
	digitNgramSize = 8 // bytes that end in fewDigits to manyDigits
	fewDigits      = 4
	manyDigits     = 6
)

// digitNgrams calls put for each occurrence of a digit n-gram in text.
func digitNgrams(text []byte, put func(uint32)) {
	digits := 0 // consecutive digits before at
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
			if digits >= fewDigits && digits <= manyDigits && at+1 >= digitNgramSize {
				put(mixed(lower(binary.LittleEndian.Uint64(text[at+1-digitNgramSize:])), 0))
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

// mixed returns one of the numbers of eight bytes. One multiplication is not enough,
// because the last bytes differ most and would change few bits.
func mixed(x uint64, which int) uint32 {
	x *= multiplier
	return uint32((x ^ x>>32) * multiplier >> (64 - Bits*(which+1)) & (1<<Bits - 1))
}

// Set holds the n-grams of texts: bit n%64 of word n/64 stands for the number n.
// The zero value is empty.
type Set [1 << Bits / 64]uint64

// Add adds the n-grams of a text in lower case. No n-gram spans two texts.
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

// AddDigitNgrams adds the digit n-grams of a text in lower case.
func (s *Set) AddDigitNgrams(text []byte) { digitNgrams(text, func(n uint32) { s.put(n) }) }

func (s *Set) put(n uint32) { s[n>>6%uint32(len(s))] |= 1 << (n & 63) }
