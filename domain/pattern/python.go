package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// MaxMatchTime bounds one match of a pattern that backtracks.
const MaxMatchTime = 100 * time.Millisecond

// Python is a pattern in the syntax of Python's re. Where RE2 has it, it is a Pattern; a pattern
// with look-around or back-references is matched by backtracking, which may take any time, so
// that a match of it has a bound of time. It is safe for concurrent use.
type Python struct {
	linear *Pattern
	source string
	fold   bool
}

var (
	pythonGroup     = regexp.MustCompile(`\(\?P<`)
	pythonReference = regexp.MustCompile(`\(\?P=([A-Za-z_]\w*)\)`)
)

// CompilePython parses a pattern; fold ignores case. The error is a sentence for its author.
func CompilePython(source string, fold bool) (*Python, error) {
	p := &Python{source: translate(source), fold: fold}
	re2 := endOfText(source)
	if fold {
		re2 = "(?i)" + re2
	}
	linear, err := Compile(re2)
	switch {
	case err == nil:
		p.linear = linear
		return p, nil
	case errors.Is(err, ErrTooLong) || len(source) > MaxSize:
		return nil, ErrTooLong
	}
	if _, wrong := p.backtracking(MaxMatchTime); wrong != nil {
		return nil, fmt.Errorf("%w; with look-around and back-references: %w", err, wrong)
	}
	return p, nil
}

// Backtracks reports whether a match takes time without a bound of its own.
func (p *Python) Backtracks() bool { return p.linear == nil }

// Match reports whether a text matches within a time, at most MaxMatchTime; ok is false for a
// text that is too long for this pattern, or a match that ran out of time.
func (p *Python) Match(text string, within time.Duration) (matched, ok bool) {
	if p.linear != nil {
		return p.linear.Match(text)
	}
	re, err := p.backtracking(min(within, MaxMatchTime))
	if err != nil {
		return false, false
	}
	matched, err = re.MatchString(text)
	return matched, err == nil
}

func (p *Python) backtracking(within time.Duration) (*regexp2.Regexp, error) {
	options := regexp2.None
	if p.fold {
		options = regexp2.IgnoreCase
	}
	re, err := regexp2.Compile(p.source, options)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = within
	return re, nil
}

// translate writes what Python spells otherwise: named groups, references to them, and the end of
// the text.
func translate(source string) string {
	source = pythonGroup.ReplaceAllString(source, "(?<")
	source = pythonReference.ReplaceAllString(source, `\k<$1>`)
	return endOfText(source)
}

// endOfText writes \Z as \z, which is the end of the text in both libraries. In Go's there is no
// \Z; in the other one it also matches before a last line break.
func endOfText(source string) string {
	var b strings.Builder
	for i := 0; i < len(source); i++ {
		b.WriteByte(source[i])
		if source[i] != '\\' || i+1 == len(source) {
			continue
		}
		if i++; source[i] == 'Z' {
			b.WriteByte('z')
		} else {
			b.WriteByte(source[i])
		}
	}
	return b.String()
}
