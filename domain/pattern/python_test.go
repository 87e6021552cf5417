package pattern_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain/pattern"
)

// What Python's re matches. Source: contract §0 row 56.
func TestPythonPatterns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, source, text string
		fold, want         bool
	}{
		{"plain", `^\d+$`, "42", false, true},
		{"end of the text", `a\Z`, "ba", false, true},
		{"not before a line break", `a\Z`, "a\n", false, false},
		{"look-ahead", `^(?=.*\d)(?=.*[a-z]).{4,}$`, "abc1", false, true},
		{"negative look-ahead", `^(?!.*secret)`, "a secret", false, false},
		{"look-behind", `(?<=\$)\d+`, "cost $5", false, true},
		{"back-reference", `(\w)\1`, "letter", false, true},
		{"named back-reference", `(?P<quote>['"]).*(?P=quote)`, `say "hi"`, false, true},
		{"named, unequal", `(?P<quote>['"]).*(?P=quote)`, `say "hi'`, false, false},
		{"any case", `^hello(?= )`, "HELLO you", true, true},
		{"any case, linear", `^hello`, "HELLO", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := pattern.CompilePython(tt.source, tt.fold)
			require.NoError(t, err)
			matched, ok := p.Match(tt.text, time.Second)
			require.True(t, ok)
			require.Equal(t, tt.want, matched)
		})
	}
	for _, source := range []string{`(`, `(?P=none)`, `(?<=a*`, `[`} {
		_, err := pattern.CompilePython(source, false)
		require.Error(t, err, source)
	}
}

func TestABacktrackingMatchRunsOutOfTime(t *testing.T) {
	t.Parallel()
	p, err := pattern.CompilePython(`^(?=(x+x+)+y)`, false)
	require.NoError(t, err)
	require.True(t, p.Backtracks())
	_, ok := p.Match(strings.Repeat("x", 64)+"zy", time.Minute)
	require.False(t, ok)
}
