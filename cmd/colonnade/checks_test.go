package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shrink makes TestVocabulary and TestSizes rewrite their lists of exceptions.
// A list only shrinks: a line moves to another package or file only if the sum
// of its word or kind does not grow.
//
// When two branches changed a list, take either side of each conflict and run
//
//	go test ./cmd/colonnade -run 'TestVocabulary|TestSizes' -shrink
var shrink = flag.Bool("shrink", false, "lower the lists of exceptions in testdata/checks to what the tree has")

// root is the repository, seen from this package.
const root = "../.."

// exception is what a list allows one subject.
type exception struct {
	count  int
	reason string
}

// exceptions is a list of exceptions by their subjects: two words each, such
// as a package and a word. On disk each is a line of subject, count and, if
// there is one, the reason; the lines are sorted, so that merges seldom meet.
type exceptions map[string]exception

func parseExceptions(text string) (exceptions, error) {
	list := exceptions{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q has no subject of two words and a count", line)
		}
		subject := fields[0] + " " + fields[1]
		count, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if _, twice := list[subject]; twice {
			return nil, fmt.Errorf("%q is there twice", subject)
		}
		e := exception{count: count}
		if len(fields) == 4 {
			e.reason = fields[3]
		}
		list[subject] = e
	}
	return list, nil
}

func (l exceptions) String() string {
	var text strings.Builder
	for _, subject := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintln(&text, strings.TrimSpace(fmt.Sprintf("%s %d %s", subject, l[subject].count, l[subject].reason)))
	}
	return text.String()
}

// compare returns what differs between the list and what was found: grown are
// the subjects that have more than the list allows, lower those that have less.
func (l exceptions) compare(found map[string]int) (grown, lower []string) {
	for _, subject := range slices.Sorted(maps.Keys(found)) {
		if allowed, n := l[subject].count, found[subject]; n > allowed {
			grown = append(grown, fmt.Sprintf("%s: %d, allowed %d", subject, n, allowed))
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(l)) {
		if allowed, n := l[subject].count, found[subject]; n < allowed {
			lower = append(lower, fmt.Sprintf("%s: %d, the list has %d", subject, n, allowed))
		}
	}
	return grown, lower
}

// shrunk returns the list lowered to what was found. group names the part of a
// subject whose sum must not grow: a subject grows only by a move.
func (l exceptions) shrunk(found map[string]int, group func(subject string) string) (exceptions, error) {
	sums := map[string]int{}
	for subject, e := range l {
		sums[group(subject)] -= e.count
	}
	for subject, n := range found {
		sums[group(subject)] += n
	}
	next := exceptions{}
	var refused []string
	for subject, n := range found {
		if sum := sums[group(subject)]; sum > 0 && n > l[subject].count {
			refused = append(refused, fmt.Sprintf("%s: %d, allowed %d, and %s grows by %d", subject, n, l[subject].count, group(subject), sum))
		}
		next[subject] = exception{count: n, reason: l[subject].reason}
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return nil, fmt.Errorf("the list only shrinks:\n\t%s", strings.Join(refused, "\n\t"))
	}
	return next, nil
}

// checkExceptions fails the test unless the list at path is what was found;
// with -shrink it lowers the list instead.
func checkExceptions(t *testing.T, path string, found map[string]int, group func(subject string) string, hint string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	list, err := parseExceptions(string(text))
	require.NoError(t, err, path)
	if *shrink {
		list, err = list.shrunk(found, group)
		require.NoError(t, err, "%s\n%s", path, hint)
		require.NoError(t, os.WriteFile(path, []byte(list.String()), 0o600))
	}
	grown, lower := list.compare(found)
	if len(grown) > 0 {
		t.Errorf("more than cmd/colonnade/%s allows:\n\t%s\n%s\nIf lines only moved to another package or file: go test ./cmd/colonnade -run %s -shrink",
			path, strings.Join(grown, "\n\t"), hint, t.Name())
	}
	if len(lower) > 0 {
		t.Errorf("less than cmd/colonnade/%s has, well done. Lower it: go test ./cmd/colonnade -run %s -shrink\n\t%s",
			path, t.Name(), strings.Join(lower, "\n\t"))
	}
}

// ownFiles returns the files of the repository that people write here, as
// paths from its root: what .gitattributes marks as generated or vendored and
// Go files with a "Code generated" line are left out.
func ownFiles(t *testing.T) []string {
	t.Helper()
	git := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Stdin = root, strings.NewReader(stdin)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "git %s: %s", strings.Join(args, " "), &stderr)
		return string(out)
	}
	listed := git("", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	attributes := strings.Split(git(listed, "check-attr", "-z", "--stdin", "linguist-generated", "linguist-vendored"), "\x00")
	foreign := map[string]bool{}
	for record := range slices.Chunk(attributes, 3) { // path, attribute, value
		if len(record) == 3 && record[2] == "set" {
			foreign[record[0]] = true
		}
	}
	var files []string
	for file := range strings.SplitSeq(listed, "\x00") {
		info, err := os.Lstat(filepath.Join(root, file))
		if file == "" || foreign[file] || err != nil || !info.Mode().IsRegular() { // deleted, or a link
			continue
		}
		files = append(files, file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func isGenerated(text []byte) bool {
	head, _, _ := bytes.Cut(text, []byte("\npackage "))
	return bytes.Contains(head, []byte("// Code generated")) && bytes.Contains(head, []byte("DO NOT EDIT."))
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	word := func(subject string) string { return subject[strings.Index(subject, " ")+1:] }
	tests := []struct {
		name         string
		list         string
		found        map[string]int
		grown, lower int
		shrunk       string // empty: refused
	}{
		{name: "equal", list: "a door 2\n", found: map[string]int{"a door": 2}, shrunk: "a door 2\n"},
		{name: "fewer", list: "a door 2 why\n", found: map[string]int{"a door": 1}, lower: 1, shrunk: "a door 1 why\n"},
		{name: "more", list: "a door 2\n", found: map[string]int{"a door": 3}, grown: 1},
		{name: "new", list: "a door 2\n", found: map[string]int{"a door": 2, "b door": 1}, grown: 1},
		{name: "new word", list: "a door 2\n", found: map[string]int{"a door": 1, "a wing": 1}, grown: 1, lower: 1},
		{name: "moved", list: "a door 2\n", found: map[string]int{"a door": 1, "b door": 1}, grown: 1, lower: 1, shrunk: "a door 1\nb door 1\n"},
		{name: "moved between listed", list: "a door 2\nb door 1\n", found: map[string]int{"a door": 1, "b door": 2}, grown: 1, lower: 1, shrunk: "a door 1\nb door 2\n"},
		{name: "gone", list: "# words\n\na door 2\nb wing 3\n", found: map[string]int{"b wing": 3}, lower: 1, shrunk: "b wing 3\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list, err := parseExceptions(tt.list)
			require.NoError(t, err)
			grown, lower := list.compare(tt.found)
			require.Len(t, grown, tt.grown)
			require.Len(t, lower, tt.lower)
			next, err := list.shrunk(tt.found, word)
			require.Equal(t, tt.shrunk == "", err != nil, "%v", err)
			require.Equal(t, tt.shrunk, next.String())
		})
	}
	for _, text := range []string{"a door", "a door two", "a door 1\na door 2"} {
		_, err := parseExceptions(text)
		require.Error(t, err, text)
	}
}

// packageOf returns the folder of a Go file and any other file itself.
func packageOf(file string) string {
	if filepath.Ext(file) == ".go" {
		return filepath.ToSlash(filepath.Dir(file))
	}
	return file
}
