package ngram_test

import (
	"encoding/binary"
	"fmt"
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
	assert.Equal(t, []uint32{0x42a45, 0xdd5bd}, ngram.DigitNgramsOf("482113"))
	assert.Equal(t, []uint32{0x86782}, ngram.DigitNgramsOf("der 4821"))
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

func TestDigitNgramsOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		phrase string
		// of are the stretches of the phrase that count.
		of []string
	}{
		{"", nil},
		{"12345", nil},
		{"no digit at all, however long", nil},
		{"123456", []string{"123456"}},
		{"12345678", []string{"123456", "234567", "345678"}},
		{"der 482", nil},
		{"er 4821", nil},
		{"der 4821", []string{"der 4821"}},
		{"4821 red", nil},
		{"Order 48213 went", []string{"der 4821", "er 48213"}},
		{"Tokens-482113", []string{"ens-4821", "ns-48211", "s-482113", "482113"}},
		{"id_1234567890", []string{"id_12345", "d_123456", "123456", "234567", "345678", "456789", "567890"}},
		{"2026-11-23T15:09", nil},
		{"on 2026-11-23", nil},
		{"at 1.2345, then", []string{"t 1.2345"}},
		{"über1234", []string{"über1234"[1:]}},
		{"１２３４５６７８", nil}, // digits of another script
	} {
		var want []uint32
		for _, of := range tt.of {
			n, count := ngram.DigitNgramsOf(of), 2
			if len(of) == 8 { // six digits in it count by themselves
				count = 1
				n = slices.DeleteFunc(n, func(n uint32) bool { return slices.Contains(ngram.DigitNgramsOf(of[1:]), n) })
			}
			require.Len(t, n, count, of)
			want = append(want, n...)
		}
		slices.Sort(want)
		assert.Equal(t, want, ngram.DigitNgramsOf(tt.phrase), tt.phrase)
	}
	assert.Equal(t, ngram.DigitNgramsOf("ORDER 4821"), ngram.DigitNgramsOf("order 4821"))
	assert.Len(t, ngram.DigitNgramsOf(strings.Repeat("1", 100)), 2, "each once")
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
	s = ngram.Set{}
	s.AddDigitNgrams([]byte("order 4"))
	s.AddDigitNgrams([]byte("821"))
	assert.Empty(t, numbers(&s), "nor do digitNgrams")
	for size := range 40 {
		for from := range size {
			text := "0123 the 456789 quick-12345 Brown 20261123T150945 fox 0x1234567 "[from:size]
			s = ngram.Set{}
			s.AddDigitNgrams([]byte(text))
			assert.Equal(t, plainDigitNgrams(text), numbers(&s))
		}
	}
}

// plainDigitNgrams are those of a text byte by byte, each once and ascending.
func plainDigitNgrams(text string) (out []uint32) {
	mixed := func(of string, which int) uint32 {
		var window [8]byte
		for i := range len(of) {
			if window[i] = of[i]; 'A' <= of[i] && of[i] <= 'Z' {
				window[i] += 'a' - 'A'
			}
		}
		x := binary.LittleEndian.Uint64(window[:]) * 0x9E3779B97F4A7C15
		return uint32((x^x>>32)*0x9E3779B97F4A7C15>>(44-20*which)) % (1 << 20)
	}
	digits := 0
	for end := 1; end <= len(text); end++ {
		if digits++; !strings.Contains("0123456789", text[end-1:end]) {
			digits = 0
		}
		if digits >= 4 && digits <= 6 && end >= 8 {
			out = append(out, mixed(text[end-8:end], 0))
		}
		if digits >= 6 {
			out = append(out, mixed(text[end-6:end], 0), mixed(text[end-6:end], 1))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Digit n-grams are computed from eight bytes at a time, and runs of digits span them.
func FuzzDigitNgrams(f *testing.F) {
	f.Add("Order 48213, 1234567 and INV-2026-001932 of 1763910585123456789")
	f.Add("123")
	f.Add("1234567")
	f.Add("a\xb0\xb91\xb234/5678:9012 ABCD1234 00000")
	f.Fuzz(func(t *testing.T, text string) {
		for from := range min(len(text), 9) {
			require.Equal(t, plainDigitNgrams(text[from:]), ngram.DigitNgramsOf(text[from:]), "%q", text[from:])
		}
	})
}

// A text has the n-grams of each of its parts, however both are written.
func FuzzSet(f *testing.F) {
	f.Add("The quick brown fox jumps over the lazy dog", 4, 20)
	f.Add("ÄÖÜ äöü ÀÉ 日本語のテキスト \x00\xff[]{}@`AZaz", 0, 30)
	f.Add("abcdefgh", 0, 8)
	f.Add("Order 48213, 1234567 and INV-2026-001932 of 1763910585123456789", 3, 40)
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
			require.Equal(t, ngram.DigitNgramsOf(part), ngram.DigitNgramsOf(upper))
		}
		var of ngram.Set
		of.AddDigitNgrams([]byte(text))
		figures := numbers(&of)
		for _, n := range ngram.DigitNgramsOf(part) {
			_, has := slices.BinarySearch(figures, n)
			require.True(t, has)
		}
		for _, n := range ngram.Of(part) {
			_, has := slices.BinarySearch(all, n)
			require.True(t, has)
			require.Less(t, n, uint32(1<<ngram.Bits))
		}
	})
}

// What is gathered is what each text has, whatever was passed over.
func TestGatherer(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"", "x", "hello", strings.Repeat("a", 63), strings.Repeat("b", 64), strings.Repeat("cd", 40)}
	for round := range 30 {
		piece := make([]byte, 50+random.IntN(200))
		for i := range piece {
			piece[i] = ' ' + byte(random.IntN(95))
			if round%2 == 0 && random.IntN(4) > 0 {
				piece[i] = '0' + byte(random.IntN(10))
			}
		}
		pieces = append(pieces, string(piece))
	}
	var g ngram.Gatherer
	for round := range 300 {
		g.Reset()
		var want, figures ngram.Set
		for range 1 + random.IntN(12) {
			var text strings.Builder
			for range random.IntN(9) {
				text.WriteString(pieces[random.IntN(len(pieces))])
				if random.IntN(4) > 0 {
					text.WriteByte('"')
				}
			}
			g.Add([]byte(text.String()))
			want.Add([]byte(text.String()))
			figures.AddDigitNgrams([]byte(text.String()))
		}
		require.True(t, want == *g.Set(), "round %d", round)            //nolint:testifylint // 128 KiB are not to be printed
		require.True(t, figures == *g.DigitNgrams(), "round %d", round) //nolint:testifylint // as above
	}
	require.NotEmpty(t, numbers(g.DigitNgrams()))
	g.Reset()
	assert.Empty(t, numbers(g.Set()))
	assert.Empty(t, numbers(g.DigitNgrams()))
}

// Thousands of pieces of one length share the places they are remembered at.
func TestGathererTellsPiecesApart(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var g ngram.Gatherer
	var want ngram.Set
	for range 5000 {
		piece := make([]byte, 80)
		for i := range piece {
			piece[i] = 'a' + byte(random.IntN(26))
		}
		text := []byte(`{"content":"` + string(piece) + `"}`)
		g.Add(text)
		want.Add(text)
	}
	require.True(t, want == *g.Set()) //nolint:testifylint // as above
}

// Of what came lately only what reaches out of it is looked at.
func TestGathererPassesOver(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("abcdefg ", 8)
	text := []byte(`{"content":"` + piece + `"}`)
	var g ngram.Gatherer
	g.Add(text)
	*g.Set() = ngram.Set{}
	g.Add(text)
	var around ngram.Set
	const reach = 7 // of the longest
	around.Add([]byte(`{"content":"` + piece[:reach]))
	around.Add([]byte(piece[len(piece)-reach:] + `"}`))
	require.Equal(t, numbers(&around), numbers(g.Set()))
	g.Reset()
	g.Add(text)
	require.Subset(t, numbers(g.Set()), ngram.Of(piece), "another section begins with nothing")
}

// FuzzGatherer repeats what stands around other things.
func FuzzGatherer(f *testing.F) {
	long := strings.Repeat("a long piece ", 9)
	f.Add(long, "role", 3)
	f.Add(long+`"`+long, `{"content":"`, 2)
	f.Add(long[:64], "", 4)
	f.Add("1234"+strings.Repeat("a long piece ", 5)+"order 4821", "3 of 4", 3)
	f.Fuzz(func(t *testing.T, piece, between string, times int) {
		var g ngram.Gatherer
		var want, figures ngram.Set
		for n := range min(max(times, 1), 6) {
			text := strings.Repeat(between+`"`+piece, n) + between
			g.Add([]byte(text))
			want.Add([]byte(text))
			figures.AddDigitNgrams([]byte(text))
		}
		require.True(t, want == *g.Set())            //nolint:testifylint // as above
		require.True(t, figures == *g.DigitNgrams()) //nolint:testifylint // as above
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
			t.WriteString(words[random.IntN(len(words))])
			if random.IntN(24) == 0 {
				fmt.Fprintf(&t, "-%06d", random.IntN(1_000_000))
			}
			t.WriteByte(' ')
		}
		texts[i] = []byte(t.String())
		total += t.Len()
	}
	for name, add := range map[string]func(*ngram.Set, []byte){"n-grams": (*ngram.Set).Add, "digit n-grams": (*ngram.Set).AddDigitNgrams} {
		b.Run(name, func(b *testing.B) {
			var s ngram.Set
			b.SetBytes(int64(total))
			for b.Loop() {
				s = ngram.Set{}
				for _, t := range texts {
					add(&s, t)
				}
			}
			b.ReportMetric(float64(len(numbers(&s))), "numbers")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(texts)), "ns/span")
		})
	}
}
