package sink

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"colonnade/write/sink/rows"
)

// setBack is t as time.Now gives it after the machine's clock was set back: the
// wall reading is earlier, the monotonic one goes on.
func setBack(t time.Time, by time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall -= uint64(by/time.Second) << 30
	return t
}

// A clock that is set back neither takes ours along nor makes it stand still.
func TestClockIsNotSetBack(t *testing.T) {
	t.Parallel()
	const back = 10 * time.Minute
	machine := time.Now()
	w := &worker{sink: &Sink{deps: Deps{Now: func() time.Time { return machine }}}}
	first := w.clock()
	after := func(passed time.Duration) time.Duration {
		machine = machine.Add(passed)
		return (time.Duration(rows.Micros(w.clock())-rows.Micros(first)) * time.Microsecond).Round(time.Millisecond)
	}
	machine = setBack(machine, back)
	require.Equal(t, time.Duration(0), after(0))
	require.Equal(t, 30*time.Second, after(time.Minute))
	require.Equal(t, back-time.Millisecond, after(2*back-time.Minute-2*time.Millisecond))
	require.Equal(t, back+time.Minute, after(time.Minute+2*time.Millisecond), "the machine's has caught up")
}
