package main_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestVocabulary fails on the words of testdata/checks/words.txt, in comments,
// identifiers, log messages, settings, metrics and documents alike: each has a
// word of the field. testdata/checks/vocabulary.txt lists what is left, by
// package or, where it is no Go, by file; see -shrink.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/checks/words.txt")
	require.NoError(t, err)
	v := parseVocabulary(string(text))
	found := map[string]int{}
	where := map[string]string{}
	for _, file := range ownFiles(t) {
		if strings.HasPrefix(file, "cmd/colonnade/testdata/checks/") || file == "cmd/colonnade/checks_test.go" || file == "cmd/colonnade/vocabulary_test.go" {
			continue // they speak of the words themselves
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		if bytes.IndexByte(text, 0) >= 0 || isGenerated(text) {
			continue
		}
		for _, word := range v.find(filepath.Base(file) + "\n" + string(text)) {
			subject := packageOf(file) + " " + word.word
			found[subject]++
			where[subject] = fmt.Sprintf("%s:%d", file, max(word.line-1, 1)) // the name of the file is the first line
		}
	}
	if testing.Verbose() {
		for _, subject := range slices.Sorted(maps.Keys(where)) {
			t.Logf("%s, last at %s", subject, where[subject])
		}
	}
	var hints []string
	for _, word := range slices.Sorted(maps.Keys(v.instead)) {
		hints = append(hints, word+": "+v.instead[word])
	}
	hint := "Write the field's word (-v shows one place of each):\n\t" + strings.Join(hints, "\n\t") +
		"\nA name that others chose (Promise.allSettled) may have a line with its reason."
	checkExceptions(t, "testdata/checks/vocabulary.txt", found, func(subject string) string {
		return subject[strings.Index(subject, " ")+1:]
	}, hint)
}

// vocabulary is the words to find. A term of two words, written with an
// underscore, is found with a space, an underscore, a hyphen, a line's end or
// the hump of an identifier between them.
type vocabulary struct {
	base    map[string]string // each inflection: the word that it counts as
	terms   map[string]string // "party wall": party_wall
	instead map[string]string
}

func parseVocabulary(text string) vocabulary {
	v := vocabulary{base: map[string]string{}, terms: map[string]string{}, instead: map[string]string{}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		words, instead, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields := strings.Fields(words)
		if term := strings.ReplaceAll(fields[0], "_", " "); term != fields[0] {
			v.terms[term], v.instead[fields[0]] = fields[0], instead
			continue
		}
		v.instead[fields[0]] = instead
		for _, inflection := range fields {
			v.base[inflection] = fields[0]
		}
	}
	return v
}

type foundWord struct {
	word string
	line int
}

// find returns the words of the vocabulary in a text, in their order.
func (v vocabulary) find(text string) []foundWord {
	// Escapes of line ends and tabs would stick to the next word.
	text = strings.NewReplacer("ClickHouse", "Clickhouse", "clickHouse", "clickhouse", `\n`, "  ", `\t`, "  ", `\r`, "  ").Replace(text)
	var found []foundWord
	runes := []rune(text)
	line, previous, previousEnd := 1, "", 0
	for i := 0; i < len(runes); {
		if !unicode.IsLetter(runes[i]) {
			if runes[i] == '\n' {
				line++
			}
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && unicode.IsLetter(runes[end]) && !hump(runes, end) {
			end++
		}
		word := strings.ToLower(string(runes[i:end]))
		if base, ok := v.base[word]; ok {
			found = append(found, foundWord{base, line})
		}
		if term, ok := v.terms[previous+" "+word]; ok && strings.Trim(string(runes[previousEnd:i]), " _-\n\t/*") == "" {
			found = append(found, foundWord{term, line})
		}
		previous, previousEnd, i = word, end, end
	}
	return found
}

// hump reports whether a new word of a camel-case identifier begins at i.
func hump(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func TestVocabularyFinds(t *testing.T) {
	t.Parallel()
	v := parseVocabulary("# comment\ndoor doors: endpoint\nsaid: x\nparty_wall: schema\nnames_evaluator: y\nhouse: service\n")
	tests := []struct {
		name, in string
		want     []foundWord
	}{
		{"word", "the Door, a doormat", []foundWord{{"door", 1}}},
		{"inflection", "doors", []foundWord{{"door", 1}}},
		{"camel case", "openDoor(HTTPDoor, doorOpen)", []foundWord{{"door", 1}, {"door", 1}, {"door", 1}}},
		{"snake case", "max_door_said2", []foundWord{{"door", 1}, {"said", 1}}},
		{"upper case", "COLONNADE_DOOR", []foundWord{{"door", 1}}},
		{"no plural of an acronym", "DOORs", nil},
		{"escapes", `"a\nsaid\tdoor"`, []foundWord{{"said", 1}, {"door", 1}}},
		{"names of others", "ClickHouse clickHouse warehouse", nil},
		{"terms", "party wall, partyWall, party\n// wall, party: wall", []foundWord{{"party_wall", 1}, {"party_wall", 1}, {"party_wall", 2}}},
		{"underscore in a term", "names_evaluator namesEvaluator", []foundWord{{"names_evaluator", 1}, {"names_evaluator", 1}}},
		{"lines", "a\n\ndoor", []foundWord{{"door", 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, v.find(tt.in))
		})
	}
}
