// Package config loads the settings: defaults, then a file, then the environment,
// each overriding the one before. An unknown key of the file is an error that
// names its line.
//
// A setting has one name: "http.addr" in the file is COLONNADE_HTTP_ADDR in the
// environment. Both are derived from the names of the Go fields, so a package adds
// a setting by adding a field to its Config. The comment of that field documents
// the setting. Settings have no flags. Only cmd reads the environment.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"colonnade/cmd/internal/listener"
	"colonnade/cmd/internal/server"
	"colonnade/migrations/schema"
	"colonnade/read/access"
	"colonnade/read/analytics"
	"colonnade/read/api/spans"
	"colonnade/read/entities"
	analystsql "colonnade/read/sql"
	"colonnade/read/tail"
	"colonnade/read/traces"
	"colonnade/write/evaluate"
	"colonnade/write/invoke"
	"colonnade/write/registry"
	"colonnade/write/secrets"
	"colonnade/write/stream"
)

// Config holds every setting. A section is the Config of the package that it configures.
type Config struct {
	// DataDir holds the data of the embedded stores and the API key that the first start creates.
	DataDir string
	// PublicURL is the address at which clients reach the service, and the base of
	// every address in a reply. Empty means the HTTP address.
	PublicURL string
	// ServicesURL is the address of the built-in handlers, the base of data.url of
	// a revision. Empty means "services" below PublicURL.
	ServicesURL string
	// MemoryLimitBytes is the soft memory limit of the Go runtime, without the
	// embedded stores. Zero leaves it to GOMEMLIMIT.
	MemoryLimitBytes int64
	// GCPercent is the growth of the heap, in percent, at which the garbage
	// collector runs. MemoryLimitBytes lowers it. Zero leaves it to GOGC.
	GCPercent int
	// AuthKey is the administration key. An empty key disables the administration routes.
	AuthKey string

	Log        Log
	HTTP       server.Config
	Console    Console
	GRPC       GRPC
	Kafka      stream.Config
	ClickHouse ClickHouse
	Postgres   Postgres
	Ingestion
	Read      Read
	Analytics analytics.Config
	Tail      tail.Config
	SQL       analystsql.Config
	Access    access.Config
	Entities  Entities
	Invoke    invoke.Config
	Evaluate  evaluate.Config
	Secrets   secrets.Config
	Projects  Projects
	Embedded  Embedded
}

// Read bounds the queries of spans and traces.
type Read struct {
	// Limits bounds what one request may ask for.
	Limits spans.Config
	// Store bounds the statements that answer it.
	Store traces.Config
}

// Entities bounds the queries and the commands of entities.
type Entities struct {
	Read  entities.Config
	Write registry.Config
}

// Log sets the level and the format of the log.
type Log struct {
	// Level is debug, info, warn or error.
	Level slog.Level
	// Format is text or json.
	Format string
}

// GRPC sets the address of the OTLP/gRPC receiver.
type GRPC struct {
	// Addr is the host and port to listen on. An empty address disables the receiver.
	Addr string
	// TLS names the certificate of the listener; without one it speaks clear text.
	TLS listener.TLS
	// MaxConnections bounds the open connections of the listener. Zero means a
	// share of the limit of open files.
	MaxConnections int
	// MaxConnectionsPerAddress bounds those of one public address; zero means a
	// quarter of the listener's. The addresses of http.trusted_proxies are exempt.
	MaxConnectionsPerAddress int
}

// Embedded configures the stores that run as children of this process. Zero means
// the default of deploy/embedded.
type Embedded struct {
	// EnginesDir is the node_modules folder with the engines. Empty means that it is
	// searched for.
	EnginesDir string
	// KafkaPort, ClickHousePort and PostgresPort are fixed ports. Zero means any free one.
	KafkaPort, ClickHousePort, PostgresPort int
	// KafkaRetainBytes bounds the log of one partition on disk.
	KafkaRetainBytes int64
	// DiskReserveBytes of the disk of the data directory stay free. Below it writes are refused. Zero means 512 MiB.
	DiskReserveBytes int64
	// ClickHouseMemoryBytes caps the engine's memory, from minEngineMemory to maxEngineBytes.
	ClickHouseMemoryBytes int64
}

const (
	// minEngineMemory is enough for ClickHouse to start, migrate and merge.
	minEngineMemory = 512 << 20
	// minRetainBytes is enough for a few batches of the largest size.
	minRetainBytes = 128 << 20
	// minDiskReserve is enough for Postgres and ClickHouse to write what they must to go on.
	minDiskReserve = 64 << 20
	// maxEngineBytes catches a value in the wrong unit: no machine has that much.
	maxEngineBytes = 1 << 40
)

// checkPort accepts zero, which stands for a default.
func checkPort(name string, n int) error {
	if n < 0 || n > 65535 {
		return fmt.Errorf("%s: must be from 0 to 65535", name)
	}
	return nil
}

// Validate returns an error that names every field that cannot work.
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
	bytes("disk_reserve_bytes", e.DiskReserveBytes, minDiskReserve)
	bytes("kafka_retain_bytes", e.KafkaRetainBytes, minRetainBytes)
	return errors.Join(errs...)
}

// Default returns a complete configuration without the addresses of the stores,
// which the embedded mode sets.
func Default() Config {
	kafka := stream.DefaultConfig()
	kafka.Brokers = nil // a role that needs brokers reports that they are missing
	return Config{
		DataDir: "data",

		MemoryLimitBytes: 800 << 20,
		GCPercent:        400,

		Log:        Log{Level: slog.LevelInfo, Format: "text"},
		HTTP:       server.DefaultConfig(),
		Console:    Console{Enabled: true, SessionTTL: 7 * 24 * time.Hour, LinkTTL: 10 * time.Minute},
		GRPC:       GRPC{Addr: "127.0.0.1:4317"},
		ClickHouse: ClickHouse{MaxOpenConns: 32, DialTimeout: 5 * time.Second},
		Postgres:   Postgres{MaxConns: 16},
		Kafka:      kafka,
		Ingestion:  defaultIngestion(),
		Read:       Read{Limits: spans.DefaultConfig(), Store: traces.DefaultConfig()},
		Analytics:  analytics.DefaultConfig(),
		Tail:       tail.DefaultConfig(),
		SQL:        analystsql.DefaultConfig(),
		Access:     access.DefaultConfig(),
		Entities:   Entities{Read: entities.DefaultConfig(), Write: registry.DefaultConfig()},
		Invoke:     invoke.DefaultConfig(),
		Evaluate:   evaluate.DefaultConfig(),
		Secrets:    secrets.DefaultConfig(),
		Projects:   defaultProjects(),
	}
}

// derived reports whether a field is no setting: it follows from other settings,
// or only tests change it.
func derived(name string) bool {
	switch name {
	case "otlp.grpc_addr", "otlp.tls", "sink.deployment", "commands.topic", "read.store.topic",
		"entities.read.services_url", "entities.write.services_url", "invoke.services_url", "read.store.max_beside_bytes":
		return true
	default:
		return false
	}
}

// Derive sets the fields that follow from other settings. Load calls it; a caller
// that changes a setting afterwards calls it again.
func (c *Config) Derive() {
	c.OTLP.GRPCAddr = c.GRPC.Addr
	c.Sink.Deployment = c.Deployment()
	c.Read.Store.Topic, c.Commands.Topic = c.Kafka.Topic, c.Kafka.Topic
	services := strings.TrimRight(c.ServicesURL, "/")
	if services == "" {
		services = c.BaseURL() + "/services"
	}
	c.Entities.Read.ServicesURL, c.Entities.Write.ServicesURL, c.Invoke.ServicesURL = services, services, services
}

// Deployment returns the properties of ClickHouse on which DDL, inserts and deletes depend.
func (c *Config) Deployment() schema.Deployment {
	return schema.Deployment{Cluster: c.ClickHouse.Cluster, Replicated: c.ClickHouse.Replicated}
}

// Validate returns the errors of every section. Addresses of stores are checked by
// the role that needs them.
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
		errs = append(errs, errors.New("auth_key: must not begin or end with a blank, which no header can carry"))
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
	section("console", c.Console.Validate())
	if c.GRPC.MaxConnections < 0 || c.GRPC.MaxConnectionsPerAddress < 0 {
		errs = append(errs, errors.New("grpc.max_connections: must not be negative"))
	}
	section("grpc", c.GRPC.TLS.Validate())
	c.validate(section)
	section("read.limits", c.Read.Limits.Validate())
	section("read.store", c.Read.Store.Validate())
	section("analytics", c.Analytics.Validate())
	section("tail", c.Tail.Validate())
	section("sql", c.SQL.Validate())
	section("access", c.Access.Validate())
	section("entities.read", c.Entities.Read.Validate())
	section("entities.write", c.Entities.Write.Validate())
	section("invoke", c.Invoke.Validate())
	section("evaluate", c.Evaluate.Validate())
	section("secrets", c.Secrets.Validate())
	section("projects", c.Projects.Validate())
	section("embedded", c.Embedded.Validate())
	return errors.Join(errs...)
}

// validateKafka accepts an empty list of brokers, which the role that needs them refuses.
func (c Config) validateKafka() error {
	kafka := c.Kafka
	kafka.Brokers = append([]string{"any"}, kafka.Brokers...)
	return kafka.Validate()
}

// BaseURL returns PublicURL, or the address of the API when it is empty, without a slash
// at its end. A client cannot call an unspecified address such as 0.0.0.0, so
// localhost replaces it.
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
	if c.HTTP.TLS.Enabled() {
		return "https://" + addr
	}
	return "http://" + addr
}

// KeyPath returns the file in which the first start of an embedded service stores its API key.
func (c Config) KeyPath() string { return c.DataPath("api-key") }

// DataPath returns a path within the data directory.
func (c Config) DataPath(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}
