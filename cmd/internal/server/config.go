package server

import (
	"errors"
	"fmt"
	"net"
	"time"

	"colonnade/cmd/internal/listener"
	"colonnade/cmd/internal/server/cors"
)

// Config sets the address of the HTTP listener and bounds its requests.
type Config struct {
	// Addr is the host and port to listen on.
	Addr string
	// TLS names the certificate of the listener; without one it speaks clear text.
	TLS listener.TLS
	// AdminAddr is the host and port of a listener that serves /metrics, /healthz and /readyz
	// without a credential and in clear text, for the network of the operator. When it is empty,
	// /metrics is served at Addr and needs the administration key.
	AdminAddr string
	// MaxConnections bounds the open connections of the listener. Zero means a
	// share of the limit of open files.
	MaxConnections int
	// MaxConnectionsPerAddress bounds those of one public address, of IPv6 a /64;
	// zero means a quarter of the listener's.
	MaxConnectionsPerAddress int
	// TrustedProxies are the addresses and networks (CIDR) of proxies, which hold
	// the connections of many clients. Private networks need not be named.
	TrustedProxies []string
	// MaxBodyBytes bounds a request body where its operation names no limit of its own.
	MaxBodyBytes int64
	// RequestTimeout ends the work for one request.
	RequestTimeout time.Duration
	// DrainTimeout bounds how long requests in flight may still run after a stop was asked for.
	DrainTimeout time.Duration
	// GzipMinBytes is the size from which a reply is compressed. Source: contract §9.
	GzipMinBytes int
	// CORSOrigins are the origins whose pages may send spans from a browser, such as
	// https://app.example.com, or * for every page. A key in a page is public: it must be
	// of purpose ingest.
	CORSOrigins []string
	// CORSReads lets these pages read too, by keys of purpose read or sql.
	CORSReads bool
}

// DefaultConfig listens on loopback alone.
func DefaultConfig() Config {
	return Config{
		Addr:           "127.0.0.1:8080",
		MaxBodyBytes:   32 << 20,
		RequestTimeout: 30 * time.Second,
		DrainTimeout:   20 * time.Second,
		GzipMinBytes:   1000,
		TrustedProxies: []string{},
		CORSOrigins:    []string{},
	}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		errs = append(errs, fmt.Errorf("addr: %w", err))
	}
	if _, _, err := net.SplitHostPort(c.AdminAddr); c.AdminAddr != "" && err != nil {
		errs = append(errs, fmt.Errorf("admin_addr: %w", err))
	}
	if err := c.TLS.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.MaxConnections < 0 || c.MaxConnectionsPerAddress < 0 {
		errs = append(errs, errors.New("max_connections: must not be negative"))
	}
	if _, err := listener.ParseNetworks(c.TrustedProxies); err != nil {
		errs = append(errs, fmt.Errorf("trusted_proxies: %w", err))
	}
	if err := cors.CheckOrigins(c.CORSOrigins); err != nil {
		errs = append(errs, err)
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
