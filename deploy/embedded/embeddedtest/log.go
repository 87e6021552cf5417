//go:build embedded

package embeddedtest

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
)

// saidLimit is how much of what was logged a failed test shows.
const saidLimit = 64 << 10

// logHead keeps the beginning of a log.
type logHead struct {
	mu   sync.Mutex // guards text, which the test reads while others may still write
	text bytes.Buffer
}

// Write keeps what fits.
func (s *logHead) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p[:min(len(p), saidLimit-s.text.Len())])
	return len(p), nil
}

// Log gives a logger whose warnings and errors are shown when the test fails,
// from the first 64 KB. Ask for it before anything that is cleaned up, or what
// is logged meanwhile is missing.
func Log(tb testing.TB) *slog.Logger {
	tb.Helper()
	s := new(logHead)
	tb.Cleanup(func() {
		if !tb.Failed() {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		tb.Logf("the log of the test:\n%s", s.text.Bytes())
	})
	return slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
