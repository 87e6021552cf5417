package access

import (
	"errors"
	"time"
)

// Config bounds how long keys are cached and how often a key may call.
type Config struct {
	// CacheTTL is how long a key that was looked up stays in memory. A revoked key
	// works that long, so it is at most one second.
	CacheTTL time.Duration
	// MaxCachedKeys bounds the number of keys in memory.
	MaxCachedKeys int
	// LookupTimeout bounds one query of Postgres.
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

// DefaultConfig returns a configuration without rate limits and without tickets.
func DefaultConfig() Config {
	return Config{CacheTTL: 500 * time.Millisecond, MaxCachedKeys: 10_000, LookupTimeout: 5 * time.Second}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.CacheTTL < 0 || c.CacheTTL > time.Second {
		errs = append(errs, errors.New("cache_ttl: must be from 0 to 1s, because a revoked key works that long"))
	}
	if c.MaxCachedKeys <= 0 {
		errs = append(errs, errors.New("max_cached_keys: must be positive"))
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
