package sink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The lag is the age of the oldest record that is polled and not visible, of all partitions.
func TestLag(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	idle, building, both := &worker{}, &worker{}, &worker{}
	s := &Sink{deps: Deps{Now: func() time.Time { return now }}, workers: map[int32]*worker{0: idle, 1: building, 2: both}}
	require.Zero(t, s.Lag())
	building.makingOldest.Store(now.Add(-2 * time.Second).UnixNano())
	require.Equal(t, 2*time.Second, s.Lag())
	both.makingOldest.Store(now.Add(-time.Second).UnixNano())
	both.writingOldest.Store(now.Add(-5 * time.Second).UnixNano())
	require.Equal(t, 5*time.Second, s.Lag())
	both.writingOldest.Store(0)
	require.Equal(t, 2*time.Second, s.Lag())
}
