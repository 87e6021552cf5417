//go:build !linux

package sandbox

import (
	"errors"
	"time"
)

// self is not known here; nothing is started.
const self = ""

// limited tells that this platform cannot hold the limits, so that nothing runs.
const limited = false

var errUnlimited = errors.New("sandbox: this platform cannot limit the memory of a process")

func confine(int64, time.Duration) error { return errUnlimited }

func python([]string, int64, time.Duration) error { return errUnlimited }
