package invoke

import (
	"context"
	"regexp"

	"colonnade/domain"
)

// regexTest judges whether the answer matches a pattern, or does not. The
// language is RE2's: its time is linear in the text, and it has neither
// lookarounds nor back-references. Source: contract §5.7, auto_regex_test.
func (i *Invoke) regexTest(_ context.Context, c *Call) (any, error) {
	source, err := textParameter(c, "regex_pattern")
	if err != nil {
		return nil, err
	}
	text, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	pattern, err := compilePattern(source, flagOf(c, "case_sensitive", true))
	if err != nil {
		return nil, err
	}
	return passes(pattern.MatchString(text) == flagOf(c, "regex_should_match", true)), nil
}

func compilePattern(source string, caseSensitive bool) (*regexp.Regexp, error) {
	if !caseSensitive {
		source = "(?i)" + source
	}
	pattern, err := regexp.Compile(source)
	if err != nil {
		return nil, Fail(domain.Rejected, InvalidParameter, "Invalid regular expression: %s", err)
	}
	return pattern, nil
}
