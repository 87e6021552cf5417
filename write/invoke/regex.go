package invoke

import (
	"context"
	"regexp"
	"regexp/syntax"

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
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, Fail(domain.Rejected, InvalidParameter, "Invalid regular expression: %s", err)
	}
	if weight(tree) > maxPattern {
		return nil, Fail(domain.Rejected, InvalidParameter, "Invalid regular expression: with its repetitions it is longer than %d", maxPattern)
	}
	pattern, err := regexp.Compile(source)
	if err != nil {
		return nil, Fail(domain.Rejected, InvalidParameter, "Invalid regular expression: %s", err)
	}
	return pattern, nil
}

// maxPattern bounds a pattern with its repetitions written out: the library
// alone would let a long group, repeated a thousand times, take a hundred
// megabytes, and as much time for each character of the text.
const maxPattern = 50_000

// weight counts the parts of a pattern, those of a repetition as often as it
// asks for; it stops to count beyond the bound.
func weight(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if n += weight(sub); n > maxPattern {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
