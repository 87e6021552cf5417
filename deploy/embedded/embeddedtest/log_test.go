//go:build embedded

package embeddedtest_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
)

// ended is a test whose end the caller decides.
type ended struct {
	testing.TB
	failed bool
	ends   []func()
	shown  strings.Builder
}

func (e *ended) Failed() bool                    { return e.failed }
func (e *ended) Cleanup(f func())                { e.ends = append(e.ends, f) }
func (e *ended) Logf(format string, args ...any) { fmt.Fprintf(&e.shown, format, args...) }

// What was logged is shown of a test that failed, and only its beginning.
func TestLogIsShownOfAFailedTest(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		e := &ended{TB: t, failed: failed}
		log := embeddedtest.Log(e)
		log.Info("usual")
		log.Warn("the cause")
		for range 3 {
			log.Warn("long", slog.String("text", strings.Repeat("x", 40<<10)))
		}
		log.Warn("later")
		e.ends[0]()
		shown := e.shown.String()
		require.Equal(t, failed, strings.Contains(shown, "the cause"))
		require.NotContains(t, shown, "usual")
		require.NotContains(t, shown, "later")
		require.LessOrEqual(t, len(shown), 65<<10)
	}
}
