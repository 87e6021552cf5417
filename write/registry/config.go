package registry

import (
	"errors"
	"time"
)

// Config bounds what a command may wait for.
type Config struct {
	// LockTimeout is how long a command waits for another one on the same thing
	// before it answers 503. Source: contract §5.2.
	LockTimeout time.Duration
}

// DefaultConfig suits an interactive caller whose own timeout is ten seconds.
func DefaultConfig() Config {
	return Config{LockTimeout: 5 * time.Second}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	if c.LockTimeout < time.Millisecond {
		return errors.New("lock_timeout: must be at least 1ms")
	}
	return nil
}
