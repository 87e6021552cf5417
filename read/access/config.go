package access

import (
	"errors"
	"time"
)

// Config says how long an answer about a key may be remembered and how often
// a key may call.
type Config struct {
	// Remember is how old an answer about a key may be. It bounds the time that
	// a revoked key still works, so it stays below a second. Source: issue 4.
	Remember time.Duration
	// MaxRemembered bounds the keys in memory.
	MaxRemembered int
	// LookupTimeout ends a question to the store.
	LookupTimeout time.Duration
	// TicketSecret signs service credentials; empty means that none is issued
	// or taken. All processes of a deployment share one.
	TicketSecret []byte
	// RatePerMinute is how many requests a key may make in a minute; zero means
	// no limit. Each process counts for itself.
	RatePerMinute int
	// Burst is how many of them may come at once; zero means RatePerMinute.
	Burst int
}

// DefaultConfig has no rate limits and issues no tickets.
func DefaultConfig() Config {
	return Config{Remember: 500 * time.Millisecond, MaxRemembered: 10_000, LookupTimeout: 5 * time.Second}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Remember < 0 || c.Remember > time.Second {
		errs = append(errs, errors.New("remember: must be between 0 and 1s, a revoked key works that long"))
	}
	if c.MaxRemembered <= 0 {
		errs = append(errs, errors.New("max_remembered: must be positive"))
	}
	if c.LookupTimeout <= 0 {
		errs = append(errs, errors.New("lookup_timeout: must be positive"))
	}
	if c.TicketSecret != nil && len(c.TicketSecret) < 16 {
		errs = append(errs, errors.New("ticket_secret: must have at least 16 bytes"))
	}
	if c.RatePerMinute < 0 || c.Burst < 0 {
		errs = append(errs, errors.New("rate_per_minute, burst: must not be negative"))
	}
	return errors.Join(errs...)
}
