package ngram_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"colonnade/domain/ngram"
)

// stored are numbers as they lie in the tables of users: another function needs a migration.
func TestNumbersAreStored(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []uint32{0xf6d08}, ngram.Of("hello"))
	assert.Equal(t, ngram.Of("xylophone"), ngram.Of("XyloPHONE"))
}

func TestOf(t *testing.T) {
	t.Parallel()
	assert.Nil(t, ngram.Of(""))
	assert.Nil(t, ngram.Of("four"))
	assert.Len(t, ngram.Of("fives"), 1)
	assert.Len(t, ngram.Of("aaaaaaaaaaaa"), 1, "each once")
	assert.Len(t, ngram.Of("naïveté"), 5, "it counts bytes")
	assert.True(t, slices.IsSorted(ngram.Of("the quick brown fox jumps over the lazy dog")))
	assert.NotEqual(t, ngram.Of("[[[[["), ngram.Of("{{{{{"), "beside the letters nothing is folded")
	assert.NotEqual(t, ngram.Of("@@@@@"), ngram.Of("`````"))
	assert.NotEqual(t, ngram.Of("ÄÄÄ"), ngram.Of("äää"), "and no letter beyond ASCII")
}

// numbers are those of a set, ascending; nil for none.
func numbers(s *ngram.Set) (out []uint32) {
	for n := range uint32(1 << ngram.Bits) {
		if s[n/64]>>(n%64)&1 == 1 {
			out = append(out, n)
		}
	}
	return out
}

func TestSet(t *testing.T) {
	t.Parallel()
	var s ngram.Set
	s.Add([]byte("hell"))
	s.Add([]byte("hel"))
	s.Add([]byte("lo"))
	s.Add(nil)
	assert.Empty(t, numbers(&s), "texts do not join")
	s.Add([]byte("hello"))
	s.Add([]byte("HELLO"))
	assert.Equal(t, ngram.Of("hello"), numbers(&s))
	for size := range 40 { // what is read eight bytes at a time, and what is left of it
		text := "the quick brown fox jumps over the lazy dog"[:size]
		s = ngram.Set{}
		s.Add([]byte(text))
		assert.Equal(t, ngram.Of(text), numbers(&s))
	}
}

// A text has the n-grams of each of its parts, however both are written.
func FuzzSet(f *testing.F) {
	f.Add("The quick brown fox jumps over the lazy dog", 4, 20)
	f.Add("ÄÖÜ äöü ÀÉ 日本語のテキスト \x00\xff[]{}@`AZaz", 0, 30)
	f.Add("abcdefgh", 0, 8)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if from < 0 || to > len(text) || from > to {
			return
		}
		var s ngram.Set
		s.Add([]byte(text))
		all := numbers(&s)
		part := text[from:to]
		upper := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r - 'a' + 'A'
			}
			return r
		}, part)
		if !strings.Contains(upper, "\uFFFD") {
			require.Equal(t, ngram.Of(part), ngram.Of(upper))
		}
		for _, n := range ngram.Of(part) {
			_, has := slices.BinarySearch(all, n)
			require.True(t, has)
			require.Less(t, n, uint32(1<<ngram.Bits))
		}
	})
}

func BenchmarkSet(b *testing.B) {
	random := rand.New(rand.NewPCG(3, 4))
	words := make([]string, 5000)
	for i := range words {
		w := make([]byte, 3+random.IntN(9))
		for k := range w {
			w[k] = 'a' + byte(random.IntN(26))
		}
		words[i] = string(w)
	}
	texts := make([][]byte, 500)
	total := 0
	for i := range texts {
		var t strings.Builder
		for t.Len() < 2000 {
			t.WriteString(words[random.IntN(len(words))] + " ")
		}
		texts[i] = []byte(t.String())
		total += t.Len()
	}
	var s ngram.Set
	b.SetBytes(int64(total))
	for b.Loop() {
		s = ngram.Set{}
		for _, t := range texts {
			s.Add(t)
		}
	}
	b.ReportMetric(float64(len(numbers(&s))), "numbers")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(texts)), "ns/span")
}
