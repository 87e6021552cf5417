package evaluators

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/pattern"
	"colonnade/write/invoke/handler"
)

// regexTest judges whether the answer matches a pattern, or does not. The
// language is RE2's: its time is linear in the text, and it has neither
// lookarounds nor back-references. Source: contract §5.7, auto_regex_test.
func (i *Evaluators) regexTest(_ context.Context, c *handler.Call) (any, error) {
	source, err := handler.Text(c, "regex_pattern")
	if err != nil {
		return nil, err
	}
	text, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	p, err := compilePattern(source, handler.Flag(c, "case_sensitive", true))
	if err != nil {
		return nil, err
	}
	matched, err := matches(p, text)
	if err != nil {
		return nil, err
	}
	return handler.Passes(matched == handler.Flag(c, "regex_should_match", true)), nil
}

func compilePattern(source string, caseSensitive bool) (*pattern.Pattern, error) {
	if !caseSensitive {
		source = "(?i)" + source
	}
	p, err := pattern.Compile(source)
	if err != nil {
		return nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid regular expression: %s", err)
	}
	return p, nil
}

func matches(p *pattern.Pattern, text string) (bool, error) {
	matched, ok := p.Match(text)
	if !ok {
		return false, handler.Fail(domain.TooLarge, handler.InvalidOutputs, "The answer is too long for a regular expression of this length.")
	}
	return matched, nil
}
