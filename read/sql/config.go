package sql

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// Config bounds the statements of analysts.
type Config struct {
	// Enabled serves SQL of analysts over the views of a project.
	Enabled bool
	// Viewers allows SQL to every member; without it, to developers, admins and owners.
	Viewers bool
	// Addr is the host and port of ClickHouse's HTTP interface for tools, which is also served
	// below /sql/clickhouse/ of the API. The embedded service listens on 127.0.0.1:8123 unless
	// this is set; empty means no listener.
	Addr string
	// ClickHouseURL is http:// or https:// with the user that runs the statements: it needs
	// SELECT on the databases p_* and must have nothing else. The embedded service sets it;
	// without it SQL answers 503.
	ClickHouseURL string
	// MaxConcurrent bounds the statements of this process that run at once, MaxConcurrentPerProject those of one project.
	MaxConcurrent, MaxConcurrentPerProject int
	// Timeout bounds the checks of a statement and its run together.
	Timeout time.Duration
	// MaxMemoryBytes bounds the memory of one statement in ClickHouse.
	MaxMemoryBytes int64
	// MaxRowsRead and MaxBytesRead bound what a statement reads.
	MaxRowsRead, MaxBytesRead int64
	// MaxRows bounds the rows of a reply in JSON; what is beyond it is cut, and the reply says so.
	MaxRows int
	// MaxFileRows bounds the rows of a file; a result beyond it is an error.
	MaxFileRows int
	// MaxToolRows bounds the rows of a reply of the ClickHouse interface; a result beyond it is an error.
	MaxToolRows int
	// MaxResultBytes bounds a reply; a result beyond it is an error.
	MaxResultBytes int64
}

// DefaultConfig suits a server; the embedded service lowers concurrency and memory.
func DefaultConfig() Config {
	return Config{
		Enabled: true, MaxConcurrent: 8, MaxConcurrentPerProject: 2, Timeout: time.Minute, MaxMemoryBytes: 1 << 30,
		MaxRowsRead: 2_000_000_000, MaxBytesRead: 200_000_000_000, MaxRows: 10_000, MaxFileRows: 1_000_000, MaxToolRows: 10_000_000, MaxResultBytes: 256 << 20,
	}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.ClickHouseURL != "" {
		if u, err := url.Parse(c.ClickHouseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			errs = append(errs, errors.New("clickhouse_url: must begin with http:// or https://"))
		}
	}
	if c.Addr != "" {
		if _, _, err := net.SplitHostPort(c.Addr); err != nil {
			errs = append(errs, fmt.Errorf("addr: %w", err))
		}
	}
	if min(c.MaxConcurrent, c.MaxConcurrentPerProject, c.MaxRows, c.MaxFileRows, c.MaxToolRows) < 1 || min(c.MaxMemoryBytes, c.MaxRowsRead, c.MaxBytesRead, c.MaxResultBytes) < 1 || c.Timeout < time.Second {
		errs = append(errs, errors.New("every limit must be positive, and timeout at least 1s"))
	}
	return errors.Join(errs...)
}
