package rollup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The rollup takes at most a twentieth of the time, and is never far behind.
func TestPauseAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ every, took, want time.Duration }{
		{time.Minute, 0, time.Minute},
		{time.Minute, 3 * time.Second, time.Minute},
		{time.Minute, 4 * time.Second, 80 * time.Second},
		{time.Minute, time.Hour, 5 * time.Minute},
		{10 * time.Minute, time.Hour, 10 * time.Minute},
		{50 * time.Millisecond, 10 * time.Millisecond, 200 * time.Millisecond},
	} {
		assert.Equal(t, tt.want, pauseAfter(tt.every, tt.took), "%v every %v", tt.took, tt.every)
	}
}
