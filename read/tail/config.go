package tail

import (
	"errors"
	"time"
)

// Config bounds what open tails may hold.
type Config struct {
	// MaxOpen bounds the tails of this process, MaxOpenPerProject those of one project.
	MaxOpen, MaxOpenPerProject int
	// BufferSpans and BufferBytes bound what waits for one reader. A span that
	// finds no room is missed, and counted.
	BufferSpans, BufferBytes int
	// HoldBytes bounds what is read of a partition ahead of the sink; beyond it
	// the stream keeps the rest.
	HoldBytes int
	// StartTimeout bounds how long opening a tail waits for the stream.
	StartTimeout time.Duration
	// Heartbeat is how often a silent tail says that it is alive, and asks
	// whether its caller still may read.
	Heartbeat time.Duration
	// StallTimeout is after how long a reader that takes nothing is cut off.
	StallTimeout time.Duration
}

// DefaultConfig is for dashboards and terminals: at most 256 MiB in all, when
// every reader stands still with its buffer full and another in flight.
func DefaultConfig() Config {
	return Config{
		MaxOpen: 64, MaxOpenPerProject: 8, BufferSpans: 1000, BufferBytes: 2 << 20, HoldBytes: 8 << 20,
		StartTimeout: 10 * time.Second, Heartbeat: 15 * time.Second, StallTimeout: time.Minute,
	}
}

// Validate tells whether every bound is positive.
func (c Config) Validate() error {
	if min(c.MaxOpen, c.MaxOpenPerProject, c.BufferSpans, c.BufferBytes, c.HoldBytes) <= 0 {
		return errors.New("tail: every bound must be positive")
	}
	if min(c.StartTimeout, c.Heartbeat, c.StallTimeout) <= 0 {
		return errors.New("tail: every time must be positive")
	}
	return nil
}
