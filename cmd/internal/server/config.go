package server

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Config says where the HTTP door stands and what it bears.
type Config struct {
	// Addr is the host and port to listen on.
	Addr string
	// MaxBodyBytes bounds a request body where its operation names no limit of its own.
	MaxBodyBytes int64
	// RequestTimeout ends the work for one request.
	RequestTimeout time.Duration
	// DrainTimeout bounds how long requests in flight may still run after a stop was asked for.
	DrainTimeout time.Duration
	// GzipMinBytes is the size from which a reply is compressed. Source: contract §9.
	GzipMinBytes int
}

// DefaultConfig listens on loopback alone.
func DefaultConfig() Config {
	return Config{
		Addr:           "127.0.0.1:8080",
		MaxBodyBytes:   32 << 20,
		RequestTimeout: 30 * time.Second,
		DrainTimeout:   20 * time.Second,
		GzipMinBytes:   1000,
	}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		errs = append(errs, fmt.Errorf("addr: %w", err))
	}
	if c.MaxBodyBytes <= 0 {
		errs = append(errs, errors.New("max_body_bytes: must be positive"))
	}
	if c.RequestTimeout <= 0 {
		errs = append(errs, errors.New("request_timeout: must be positive"))
	}
	if c.DrainTimeout <= 0 {
		errs = append(errs, errors.New("drain_timeout: must be positive"))
	}
	if c.GzipMinBytes < 0 {
		errs = append(errs, errors.New("gzip_min_bytes: must not be negative"))
	}
	return errors.Join(errs...)
}
