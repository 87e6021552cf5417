package sink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Minutes take a twentieth of the store's time at most, and are never far behind.
func TestRestOfMinutes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ every, took, want time.Duration }{
		{time.Minute, 0, time.Minute},
		{time.Minute, 3 * time.Second, time.Minute},
		{time.Minute, 4 * time.Second, 80 * time.Second},
		{time.Minute, time.Hour, 5 * time.Minute},
		{10 * time.Minute, time.Hour, 10 * time.Minute},
		{50 * time.Millisecond, 10 * time.Millisecond, 200 * time.Millisecond},
	} {
		assert.Equal(t, tt.want, restOfMinutes(tt.every, tt.took), "%v every %v", tt.took, tt.every)
	}
}
