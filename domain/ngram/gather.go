package ngram

import (
	"bytes"
	"hash/maphash"
)

const (
	// longPiece is from how many bytes on it is cheaper to find that a piece came
	// before than to take its n-grams again.
	longPiece = 64
	// latelyBits bounds the pieces that are remembered: those of one trace repeat
	// one another, and they come together.
	latelyBits = 10
	quote      = '"'
)

var seed = maphash.MakeSeed() //nolint:gochecknoglobals // it says where a piece is looked for, nothing else

// Gatherer makes the sets of texts that repeat one another: each call of a
// conversation contains all messages before it. What stands between two
// quotation marks and came lately is passed over. The zero value is empty.
type Gatherer struct {
	set, numerals Set
	lately        [1 << latelyBits][]byte
}

// Set is the n-grams of all texts since Reset. It is the gatherer's own.
func (g *Gatherer) Set() *Set { return &g.set }

// Numerals are the numerals of all texts since Reset. They are the gatherer's own.
func (g *Gatherer) Numerals() *Set { return &g.numerals }

// Reset empties it.
func (g *Gatherer) Reset() {
	g.set, g.numerals, g.lately = Set{}, Set{}, [1 << latelyBits][]byte{}
}

// Add takes the n-grams and the numerals of a text, as the Set does. The text must not change until Reset.
func (g *Gatherer) Add(text []byte) {
	const reach = max(Size, numeralSize) - 1
	from := 0 // the n-grams that begin before are taken
	for at := 0; len(text)-at >= longPiece; {
		if i := bytes.LastIndexByte(text[at:at+longPiece], quote); i >= 0 {
			at += i + 1 // pieces that end up to there are short
			continue
		}
		end := len(text)
		if i := bytes.IndexByte(text[at+longPiece:], quote); i >= 0 {
			end = at + longPiece + i
		}
		if g.again(text[at:end]) {
			// What begins before the piece or reaches beyond it is not in the sets for its sake.
			g.add(text[from : at+reach])
			from = end - reach
		}
		at = end + 1
	}
	g.add(text[from:])
}

func (g *Gatherer) add(text []byte) {
	g.set.Add(text)
	g.numerals.AddNumerals(text)
}

// again reports whether a piece came lately, and remembers it.
func (g *Gatherer) again(piece []byte) bool {
	place := &g.lately[maphash.Bytes(seed, piece)>>(64-latelyBits)]
	if bytes.Equal(*place, piece) {
		return true
	}
	*place = piece
	return false
}
