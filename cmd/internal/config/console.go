package config

import (
	"errors"
	"time"
)

// Console configures the web console below /ui/.
type Console struct {
	// Enabled serves the console and its sessions.
	Enabled bool
	// SessionTTL is how long a browser stays signed in; over plain HTTP at most 12 hours.
	SessionTTL time.Duration
	// LinkTTL is how long a one-time link of `colonnade open` works.
	LinkTTL time.Duration
	// InsecureCookies allows to sign in over plain HTTP at an address that is not loopback.
	InsecureCookies bool
}

// Validate returns an error that names every field that cannot work.
func (c Console) Validate() error {
	var errs []error
	if c.SessionTTL < time.Minute {
		errs = append(errs, errors.New("session_ttl: must be at least 1m"))
	}
	if c.LinkTTL <= 0 || c.LinkTTL > 24*time.Hour {
		errs = append(errs, errors.New("link_ttl: must be positive and at most 24h"))
	}
	return errors.Join(errs...)
}
