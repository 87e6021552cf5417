package ngram

import (
	"bytes"
	"hash/maphash"
)

const (
	// longPiece is the length in bytes from which it is cheaper to recognize a repeated
	// piece of text than to compute its n-grams again.
	longPiece = 64
	// recentBits bounds the number of pieces that are kept. Repeated pieces belong to one
	// trace, whose texts arrive together.
	recentBits = 10
	quote      = '"'
)

var seed = maphash.MakeSeed() //nolint:gochecknoglobals // it chooses the slot of a piece and changes no result

// Gatherer computes the sets of texts that repeat one another: each call of a
// conversation contains all messages before it. A piece between two quotation marks that
// occurred recently is skipped. The zero value is empty.
type Gatherer struct {
	set, digitNgrams Set
	recent           [1 << recentBits][]byte
}

// Set returns the n-grams of all texts since Reset. The gatherer keeps and changes the set.
func (g *Gatherer) Set() *Set { return &g.set }

// DigitNgrams returns the digit n-grams of all texts since Reset. The gatherer keeps and changes the set.
func (g *Gatherer) DigitNgrams() *Set { return &g.digitNgrams }

// Reset removes all texts.
func (g *Gatherer) Reset() {
	g.set, g.digitNgrams, g.recent = Set{}, Set{}, [1 << recentBits][]byte{}
}

// Add adds the n-grams and digit n-grams of a text. The text must not change until Reset.
func (g *Gatherer) Add(text []byte) {
	const reach = max(Size, digitNgramSize) - 1
	from := 0 // n-grams that begin before it are in the sets
	for at := 0; len(text)-at >= longPiece; {
		if i := bytes.LastIndexByte(text[at:at+longPiece], quote); i >= 0 {
			at += i + 1 // pieces that end before it are short
			continue
		}
		end := len(text)
		if i := bytes.IndexByte(text[at+longPiece:], quote); i >= 0 {
			end = at + longPiece + i
		}
		if g.again(text[at:end]) {
			// N-grams that begin before the piece or end after it may be new.
			g.add(text[from : at+reach])
			from = end - reach
		}
		at = end + 1
	}
	g.add(text[from:])
}

func (g *Gatherer) add(text []byte) {
	g.set.Add(text)
	g.digitNgrams.AddDigitNgrams(text)
}

// again reports whether a piece occurred recently, and keeps it.
func (g *Gatherer) again(piece []byte) bool {
	slot := &g.recent[maphash.Bytes(seed, piece)>>(64-recentBits)]
	if bytes.Equal(*slot, piece) {
		return true
	}
	*slot = piece
	return false
}
