package tail

import (
	"errors"
	"time"
)

// Config bounds the memory and the number of open tails.
type Config struct {
	// MaxOpen bounds the tails of this process, MaxOpenPerProject those of one project. A
	// quarter of MaxOpen is kept for projects without a tail.
	MaxOpen, MaxOpenPerProject int
	// ClientBufferSpans and ClientBufferBytes bound the spans that wait for one client.
	// A span that does not fit is dropped and counted.
	ClientBufferSpans, ClientBufferBytes int
	// BufferBytes bounds the records of one partition that are read before the sink has
	// stored them. Records beyond it stay in Kafka until then.
	BufferBytes int
	// StartTimeout bounds how long opening a tail waits for Kafka.
	StartTimeout time.Duration
	// Heartbeat is how often an idle tail sends a comment to its client and checks
	// whether the caller still has the permission to read.
	Heartbeat time.Duration
	// StallTimeout is the time after which a client that reads nothing is disconnected.
	StallTimeout time.Duration
}

// DefaultConfig returns the bounds for dashboards and terminals: at most 256 MiB in
// all, when every client has stalled with its buffer full and another in flight.
func DefaultConfig() Config {
	return Config{
		MaxOpen: 64, MaxOpenPerProject: 8, ClientBufferSpans: 1000, ClientBufferBytes: 2 << 20, BufferBytes: 8 << 20,
		StartTimeout: 10 * time.Second, Heartbeat: 15 * time.Second, StallTimeout: time.Minute,
	}
}

// Validate reports a bound or a time that is not positive.
func (c Config) Validate() error {
	if min(c.MaxOpen, c.MaxOpenPerProject, c.ClientBufferSpans, c.ClientBufferBytes, c.BufferBytes) <= 0 {
		return errors.New("tail: every bound must be positive")
	}
	if min(c.StartTimeout, c.Heartbeat, c.StallTimeout) <= 0 {
		return errors.New("tail: every time must be positive")
	}
	return nil
}
