package pattern_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/pattern"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4<<20)
	for _, tt := range []struct {
		name, source, text string
		matched, ok        bool
	}{
		{"matches", "^P.*s$", "Paris", true, true},
		{"does not match", "^p", "Paris", false, true},
		{"a usual pattern and a long text", `\bfoo(\d+)\b`, long, false, true},
		{"a long pattern and a usual text", "(" + strings.Repeat("ab?", 100) + "){50}", "abab", false, true},
		{"both long", strings.Repeat("(?:a?x?){1000}", 5) + "y", long, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := pattern.Compile(tt.source)
			require.NoError(t, err)
			matched, ok := p.Match(tt.text)
			require.Equal(t, tt.matched, matched)
			require.Equal(t, tt.ok, ok)
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"(": "missing closing )", "(?=x)": "invalid or unsupported Perl syntax", "(" + strings.Repeat("ab?", 100) + "){1000}": "longer than 50000",
	} {
		_, err := pattern.Compile(source)
		require.ErrorContains(t, err, want)
	}
}
