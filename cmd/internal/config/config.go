// Package config is the tree of all rooms' settings: defaults, then a file,
// then the environment, each overriding the one before. A key of the file that
// no room knows is refused with its line.
//
// Every setting has one name. "http.addr" in the file is COLONNADE_HTTP_ADDR
// in the environment; both come from the names of the Go fields, so that a
// room adds a setting by adding a field. What a setting means is written at
// that field. Only cmd reads the environment.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"colonnade/cmd/internal/server"
	"colonnade/migrations/schema"
	"colonnade/read/access"
	"colonnade/read/analytics"
	"colonnade/read/api"
	lineage "colonnade/read/entities"
	"colonnade/read/tail"
	"colonnade/read/traces"
	writeapi "colonnade/write/api"
	"colonnade/write/evaluate"
	"colonnade/write/ingest"
	"colonnade/write/invoke"
	"colonnade/write/otlp"
	"colonnade/write/registry"
	"colonnade/write/secrets"
	"colonnade/write/sink"
	"colonnade/write/stream"
)

// Config is everything that can be set. The sections belong to the rooms.
type Config struct {
	// DataDir holds the embedded stores and what the first start prints: the API key.
	DataDir string
	// PublicURL is where clients reach the service; empty means the HTTP
	// address. It is the base of every address in a reply.
	PublicURL string
	// ServicesURL is where the runtime of built-in handlers is served, the base
	// of data.url; empty means "services" below PublicURL. Source: contract §5.2.
	ServicesURL string
	// MemoryLimitBytes is what the garbage collector keeps this process below
	// while it can; embedded stores do not count. Zero leaves it to GOMEMLIMIT.
	MemoryLimitBytes int64
	// GCPercent is how much garbage may stand beside what is in use before it is
	// collected, in percent; MemoryLimitBytes makes it less. Zero leaves it to GOGC.
	GCPercent int
	// AuthKey is the administration key; empty disables the administration routes. Source: contract §10.
	AuthKey string

	Log        Log
	HTTP       server.Config
	GRPC       GRPC
	Kafka      stream.Config
	ClickHouse ClickHouse
	Postgres   Postgres
	OTLP       otlp.Config
	Ingest     ingest.Config
	JSON       writeapi.TraceConfig
	Stored     ingest.StoredConfig
	Sink       sink.Config
	Traces     traces.Config
	Analytics  analytics.Config
	Tail       tail.Config
	Query      api.SpansConfig
	Access     access.Config
	Registry   registry.Config
	Invoke     invoke.Config
	Evaluate   evaluate.Config
	Vault      secrets.Config
	Lineage    lineage.Config
	Embedded   Embedded
}

// Log says what is logged, and how.
type Log struct {
	// Level is debug, info, warn or error.
	Level slog.Level
	// Format is text or json.
	Format string
}

// GRPC says where OTLP/gRPC listens.
type GRPC struct {
	// Addr is the host and port to listen on; empty turns the door off.
	Addr string
}

// ClickHouse says where the spans are kept.
type ClickHouse struct {
	// URL is clickhouse://, clickhouses:// (native protocol), http:// or
	// https://, with user, password and database. Several hosts are joined by commas.
	URL string
	// Cluster is the name of the cluster that tables are created on; empty means one server.
	Cluster string
	// Replicated takes the Replicated engines, whose paths use the servers' macros {shard} and {replica}.
	Replicated bool
	// ContentIndex is whether migrating gives the documents a full-text index
	// (on) or takes it away (off); empty leaves it as it is. With it a rare word
	// is found among all spans at once, and storing a span costs a third more.
	ContentIndex string
	// HTTPPort is where the hosts of a clickhouse:// address speak HTTP: the
	// sink inserts ready-made blocks, which only HTTP takes. Zero means 8123,
	// or 8443 with clickhouses://.
	HTTPPort int
	// MaxOpenConns bounds the connections of one process.
	MaxOpenConns int
	// DialTimeout bounds one attempt to connect.
	DialTimeout time.Duration
}

// Postgres says where accounts, keys and entities are kept.
type Postgres struct {
	// URL is postgres:// with user, password and database.
	URL string
	// MaxConns bounds the connections of one process.
	MaxConns int32
}

// Embedded bounds the stores that run in this process's tree. Zero means the
// default of deploy/embedded.
type Embedded struct {
	// EnginesDir is the node_modules folder with the engines; empty means that it is looked for.
	EnginesDir string
	// KafkaPort, ClickHousePort and PostgresPort are fixed ports; zero is any free one.
	KafkaPort, ClickHousePort, PostgresPort int
	// KafkaRetainBytes bounds the log of one partition on disk.
	KafkaRetainBytes int64
	// ClickHouseMemoryBytes caps the engine's memory, from minEngineMemory to maxEngineBytes.
	ClickHouseMemoryBytes int64
}

const (
	// minEngineMemory is what ClickHouse needs to come up, migrate and merge.
	minEngineMemory = 512 << 20
	// minRetainBytes holds a few batches of the largest size.
	minRetainBytes = 128 << 20
	// maxEngineBytes is beyond every machine: a unit too many.
	maxEngineBytes = 1 << 40
)

// checkPort takes zero, too: it stands for a default.
func checkPort(name string, n int) error {
	if n < 0 || n > 65535 {
		return fmt.Errorf("%s: must be from 0 to 65535", name)
	}
	return nil
}

// Validate names every field that cannot work; the address is looked at by the
// role that needs it.
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

// Validate names every field that cannot work.
func (e Embedded) Validate() error {
	var errs []error
	bytes := func(name string, n, low int64) {
		if n != 0 && (n < low || n > maxEngineBytes) {
			errs = append(errs, fmt.Errorf("%s: %d bytes: must be from %dMiB to 1024GiB, or 0 for the default", name, n, low>>20))
		}
	}
	for name, n := range map[string]int{"kafka_port": e.KafkaPort, "clickhouse_port": e.ClickHousePort, "postgres_port": e.PostgresPort} {
		errs = append(errs, checkPort(name, n))
	}
	bytes("clickhouse_memory_bytes", e.ClickHouseMemoryBytes, minEngineMemory)
	bytes("kafka_retain_bytes", e.KafkaRetainBytes, minRetainBytes)
	return errors.Join(errs...)
}

// Default is a complete configuration but for the addresses of the stores,
// which the embedded mode fills in.
func Default() Config {
	kafka := stream.DefaultConfig()
	kafka.Brokers = nil // no room's guess: a role that needs them says so
	return Config{
		DataDir: "data",

		MemoryLimitBytes: 800 << 20,
		GCPercent:        400,

		Log:        Log{Level: slog.LevelInfo, Format: "text"},
		HTTP:       server.DefaultConfig(),
		GRPC:       GRPC{Addr: "127.0.0.1:4317"},
		ClickHouse: ClickHouse{MaxOpenConns: 32, DialTimeout: 5 * time.Second},
		Postgres:   Postgres{MaxConns: 16},
		Kafka:      kafka,
		OTLP:       otlp.DefaultConfig(),
		Ingest:     ingest.DefaultConfig(),
		JSON:       writeapi.DefaultTraceConfig(),
		Stored:     ingest.DefaultStoredConfig(),
		Sink:       sink.DefaultConfig(),
		Traces:     traces.DefaultConfig(),
		Analytics:  analytics.DefaultConfig(),
		Tail:       tail.DefaultConfig(),
		Query:      api.DefaultSpansConfig(),
		Access:     access.DefaultConfig(),
		Registry:   registry.DefaultConfig(),
		Invoke:     invoke.DefaultConfig(),
		Evaluate:   evaluate.DefaultConfig(),
		Vault:      secrets.DefaultConfig(),
		Lineage:    lineage.DefaultConfig(),
	}
}

// decidedElsewhere are fields of rooms that follow from other settings; they have no name of their own.
func decidedElsewhere(name string) bool {
	switch name {
	case "otlp.grpc_addr", "otlp.tls", "sink.deployment", "stored.topic", "traces.topic", "registry.services_url", "lineage.services_url", "invoke.services_url":
		return true
	default:
		return false
	}
}

// Derive fills in what is decided elsewhere. Load does so; who changes a setting afterwards does so again.
func (c *Config) Derive() {
	c.OTLP.GRPCAddr = c.GRPC.Addr
	c.Sink.Deployment = c.Deployment()
	c.Traces.Topic, c.Stored.Topic = c.Kafka.Topic, c.Kafka.Topic
	services := strings.TrimRight(c.ServicesURL, "/")
	if services == "" {
		services = c.BaseURL() + "/services"
	}
	c.Registry.ServicesURL, c.Lineage.ServicesURL, c.Invoke.ServicesURL = services, services, services
}

// Deployment is what DDL, inserts and deletes need to know of ClickHouse.
func (c *Config) Deployment() schema.Deployment {
	return schema.Deployment{Cluster: c.ClickHouse.Cluster, Replicated: c.ClickHouse.Replicated}
}

// Validate joins what every section refuses. Addresses of stores are checked
// by the role that needs them.
func (c Config) Validate() error {
	var errs []error
	section := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if c.DataDir == "" {
		errs = append(errs, errors.New("data_dir: must not be empty"))
	}
	if c.PublicURL != "" {
		if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" {
			errs = append(errs, errors.New("public_url: must be an address such as https://traces.example.com"))
		}
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		errs = append(errs, errors.New("log.format: must be text or json"))
	}
	if strings.TrimSpace(c.AuthKey) != c.AuthKey {
		errs = append(errs, errors.New("auth_key: must not begin or end with a blank, which no request can carry"))
	}
	if c.MemoryLimitBytes < 0 {
		errs = append(errs, errors.New("memory_limit_bytes: must not be negative"))
	}
	if c.GCPercent < 0 {
		errs = append(errs, errors.New("gc_percent: must not be negative"))
	}
	if c.Postgres.MaxConns <= 0 {
		errs = append(errs, errors.New("postgres.max_conns: must be positive"))
	}
	errs = append(errs, c.ClickHouse.Validate())
	section("kafka", c.validateKafka())
	section("http", c.HTTP.Validate())
	section("otlp", c.OTLP.Validate())
	section("ingest", c.Ingest.Validate())
	section("json", c.JSON.Validate())
	section("stored", c.Stored.Validate())
	section("sink", c.Sink.Validate())
	section("traces", c.Traces.Validate())
	section("analytics", c.Analytics.Validate())
	section("tail", c.Tail.Validate())
	section("query", c.Query.Validate())
	section("access", c.Access.Validate())
	section("registry", c.Registry.Validate())
	section("invoke", c.Invoke.Validate())
	section("evaluate", c.Evaluate.Validate())
	section("vault", c.Vault.Validate())
	section("lineage", c.Lineage.Validate())
	section("embedded", c.Embedded.Validate())
	return errors.Join(errs...)
}

// validateKafka does not mind that there are no brokers: the role that needs them does.
func (c Config) validateKafka() error {
	kafka := c.Kafka
	kafka.Brokers = append([]string{"any"}, kafka.Brokers...)
	return kafka.Validate()
}

// BaseURL is PublicURL, or the HTTP address where none is set, without a slash
// at its end. An address that stands for all of the machine's is none that a
// client can call: this machine's name for itself is, at least from here.
func (c Config) BaseURL() string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	addr := c.HTTP.Addr
	if host, port, err := net.SplitHostPort(addr); err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			addr = net.JoinHostPort("localhost", port)
		}
	}
	return "http://" + addr
}

// KeyPath is where the first start of an embedded service keeps its API key.
func (c Config) KeyPath() string { return c.DataPath("api-key") }

// DataPath is a path within the data directory.
func (c Config) DataPath(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}
