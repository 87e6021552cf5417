package evaluators

import (
	"context"
	"time"

	"colonnade/domain"
	"colonnade/domain/pattern"
	"colonnade/write/invoke/handler"
)

// regexTest judges whether the answer matches a pattern, or does not. Source: contract §5.7,
// auto_regex_test, §0 row 56.
func (i *Evaluators) regexTest(_ context.Context, c *handler.Call) (any, error) {
	source, err := handler.Text(c, "regex_pattern")
	if err != nil {
		return nil, err
	}
	text, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	patterns := i.patterns()
	matched, err := patterns.match(source, handler.Flag(c, "case_sensitive", true), text)
	if err != nil {
		return nil, err
	}
	return handler.Passes(matched == handler.Flag(c, "regex_should_match", true)), nil
}

// maxPatternTime bounds all matches of one run.
const maxPatternTime = 2 * time.Second

// patterns are the matches of one run, which share its time.
type patterns struct {
	now  func() time.Time
	left time.Duration
}

func (i *Evaluators) patterns() *patterns { return &patterns{now: i.now, left: maxPatternTime} }

// match reports whether a text matches a pattern in Python's syntax.
func (p *patterns) match(source string, caseSensitive bool, text string) (bool, error) {
	compiled, err := pattern.CompilePython(source, !caseSensitive)
	if err != nil {
		return false, handler.Fail(domain.Rejected, handler.RegexPattern, "Invalid regular expression: %s", err)
	}
	if p.left <= 0 {
		return false, handler.Fail(domain.Rejected, handler.RegexPattern, "The regular expressions of this evaluator take more than %s.", maxPatternTime)
	}
	began := p.now()
	matched, ok := compiled.Match(text, p.left)
	p.left -= p.now().Sub(began)
	switch {
	case ok:
		return matched, nil
	case compiled.Backtracks():
		return false, handler.Fail(domain.Rejected, handler.RegexPattern, "The regular expression takes more than %s for this answer.", pattern.MaxMatchTime)
	default:
		return false, handler.Fail(domain.TooLarge, handler.InvalidOutputs, "The answer is too long for a regular expression of this length.")
	}
}
