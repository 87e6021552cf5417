// Package pattern compiles regular expressions that users write. Their
// language is RE2's: a match takes no more steps than the text has characters
// times the pattern has instructions. Both bounds are here: how long a pattern
// may be, and how many steps a match may take. Nobody can stop one that runs.
// Patterns of evaluators are in Python's language, of which some need
// backtracking (python.go); their matches have a bound of time.
//
// Callers: domain/catalog (patterns of schemas) and write/invoke (evaluators,
// filters of JSONPaths). Not here: what a match means.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxSize bounds a pattern with its repetitions written out: the library
	// alone would let a long group, repeated a thousand times, take a hundred
	// megabytes, and as much time for each character of the text.
	MaxSize = 50_000
	// maxSteps bounds a match: some seconds.
	maxSteps = 400_000_000
)

// ErrTooLong is a pattern beyond MaxSize.
var ErrTooLong = fmt.Errorf("with its repetitions it is longer than %d", MaxSize)

// Pattern is a regular expression. It is safe for concurrent use.
type Pattern struct {
	re   *regexp.Regexp
	size int
}

// Compile reads a pattern. Its error is a sentence for whoever wrote it.
func Compile(source string) (*Pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if weight(tree) > MaxSize {
		return nil, ErrTooLong
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &Pattern{re: re, size: len(program.Inst)}, nil
}

// Size is the number of its instructions: the steps that a character may take.
func (p *Pattern) Size() int { return p.size }

// Match reports whether a text matches; ok is false for one that is too long for
// this pattern, of which nobody knows.
func (p *Pattern) Match(text string) (matched, ok bool) {
	if len(text) > maxSteps/p.size {
		return false, false
	}
	return p.re.MatchString(text), true
}

// weight counts the parts of a pattern, those of a repetition as often as it
// asks for; it stops to count beyond the bound.
func weight(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if n += weight(sub); n > MaxSize {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
