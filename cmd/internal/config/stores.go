package config

import (
	"errors"
	"slices"
	"time"
)

// ClickHouse holds the address of ClickHouse, which stores the spans.
type ClickHouse struct {
	// URL is clickhouse://, clickhouses:// (native protocol), http:// or
	// https://, with user, password and database. Several hosts are joined by commas.
	URL string
	// ReadURL is the address for the statements of queries, with a user of its own that
	// may only select: colonnade migrate --reader-script prints the statements that
	// create it. Empty means URL.
	ReadURL string
	// Cluster is the name of the cluster on which tables are created. Empty means one server.
	Cluster string
	// Replicated selects the Replicated table engines, whose paths use the servers'
	// macros {shard} and {replica}.
	Replicated bool
	// ContentIndex is whether migrating gives the documents a full-text index
	// (on) or takes it away (off); empty leaves it as it is. With it a rare word
	// is found among all spans at once, and storing a span costs a third more.
	ContentIndex string
	// HTTPPort is the HTTP port of the hosts of a clickhouse:// address. The sink
	// inserts native blocks, which only the HTTP interface accepts. Zero means 8123,
	// or 8443 with clickhouses://.
	HTTPPort int
	// MaxOpenConns bounds the connections of one process.
	MaxOpenConns int
	// DialTimeout bounds one attempt to connect.
	DialTimeout time.Duration
}

// Postgres holds the address of Postgres, which stores accounts, keys and entities.
type Postgres struct {
	// URL is postgres:// with user, password and database.
	URL string
	// MaxConns bounds the connections of one process.
	MaxConns int32
}

// Validate returns an error that names every field that cannot work. The address
// is checked by the role that needs it.
func (c ClickHouse) Validate() error {
	errs := []error{checkPort("clickhouse.http_port", c.HTTPPort)}
	if !slices.Contains([]string{"", "on", "off"}, c.ContentIndex) {
		errs = append(errs, errors.New("clickhouse.content_index: must be on, off or empty"))
	}
	if c.MaxOpenConns <= 0 {
		errs = append(errs, errors.New("clickhouse.max_open_conns: must be positive"))
	}
	if c.DialTimeout <= 0 {
		errs = append(errs, errors.New("clickhouse.dial_timeout: must be positive"))
	}
	return errors.Join(errs...)
}
