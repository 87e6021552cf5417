package filter_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"colonnade/domain/filter"
)

func TestFold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		of   []string // all folded alike
		not  []string // and these not as them
	}{
		{"ASCII", []string{"HeLLo k", "hello K"}, []string{"hello \u212a"}},
		{"Latin", []string{"École", "école", "ÉCOLE"}, []string{"ecole"}},
		{"a sharp s", []string{"Straße", "STRAẞE"}, []string{"STRASSE", "Straſſe"}},
		{"sigmas", []string{"ΣΟΦΟΣ", "σοφος", "Σοφοσ"}, nil},
		{"a title letter", []string{"ǅ", "Ǆ", "ǆ"}, []string{"dž", "DZ"}},
		{"Cyrillic", []string{"ЯЗЫК", "язык"}, nil},
		{"Turkish", []string{"İ"}, []string{"i", "I", "ı"}},
		{"dotless", []string{"ı"}, []string{"i", "I"}},
		{"angstrom", []string{"\u212b", "å", "Å"}, []string{"a"}},
		{"micro", []string{"µ", "μ", "Μ"}, nil},
		{"no case", []string{"日本語 😀"}, nil},
		{"no text", []string{"\xff\xfeA", "\xff\xfea"}, []string{"\xff\xffa"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range tt.of {
				require.Equal(t, filter.Fold(tt.of[0]), filter.Fold(s), s)
				require.Equal(t, filter.Fold(s), filter.Fold(filter.Fold(s)), s)
			}
			for _, s := range tt.not {
				require.NotEqual(t, filter.Fold(tt.of[0]), filter.Fold(s), s)
			}
		})
	}
}

// Letters are folded as Go's tables say, but that ASCII stays among ASCII.
func TestFoldIsUnicodes(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		of := []rune{r}
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			if next < utf8.RuneSelf == (r < utf8.RuneSelf) {
				of = append(of, next)
			}
		}
		slices.Sort(of)
		variants := of
		if len(of) == 1 || r < utf8.RuneSelf {
			variants = nil
		}
		if got := filter.Variants(r); !slices.Equal(variants, got) {
			t.Fatalf("%U: variants %q, want %q", r, got, variants)
		}
		want := string(of[0])
		if r < utf8.RuneSelf {
			want = strings.ToLower(string(r))
		}
		if got := filter.Fold(string(r)); got != want {
			t.Fatalf("%U folds to %q, want %q", r, got, want)
		}
	}
}
