// Package embedded is the ground under a Colonnade on one machine: Kafka,
// ClickHouse and Postgres as three addresses, without anything installed.
//
// Each engine runs in a child process of the same executable, supervised, and
// restarted on the same port when it dies. Kafka is franz-go's own broker with
// its log on disk; ClickHouse is the engine as a library behind its HTTP
// interface; Postgres is the real server. The core knows none of this: it gets
// addresses. cmd calls Child first of all and then Start; tests use the
// package embeddedtest. What needs the engines is behind the build tag
// "embedded"; without it Start says so.
package embedded

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names of the engines, and of their data directories.
const (
	Kafka      = "kafka"
	ClickHouse = "clickhouse"
	Postgres   = "postgres"
)

// Stack is what runs: three addresses, and nothing else is known by the core.
type Stack struct {
	Kafka      []string // host:port
	KafkaSASL  SASL
	ClickHouse string // http://default:<token>@127.0.0.1:<port>/colonnade
	Postgres   string // postgres://colonnade:<password>@127.0.0.1:<port>/colonnade
	// ClickHouseMemoryBytes is the cap of the engine's memory.
	ClickHouseMemoryBytes int64

	children
}

// SASL is how a client of the broker proves that it may use it.
type SASL struct{ Mechanism, Username, Password string }

// Kafka's only user, and how it authenticates: the password is a secret of the data directory.
const (
	KafkaMechanism = "scram-sha-256"
	kafkaUser      = "colonnade"
)

func kafkaPassword(dir string) string { return filepath.Join(dir, Kafka, "password") }

// Broker returns where the broker of the stack in this data directory listens,
// and how it is used; ok is false where none was ever started there.
func Broker(dir string) (address string, access SASL, ok bool) {
	port, err := os.ReadFile(filepath.Join(dir, Kafka+".port")) //nolint:gosec // a path inside the data directory
	if err != nil {
		return "", SASL{}, false
	}
	password, err := os.ReadFile(kafkaPassword(dir))
	if err != nil {
		return "", SASL{}, false
	}
	return net.JoinHostPort("127.0.0.1", strings.TrimSpace(string(port))), SASL{KafkaMechanism, kafkaUser, string(password)}, true
}

// Config says where the engines live and how much they may use. Only Dir is
// needed; a zero value elsewhere means the default.
type Config struct {
	// Dir holds all data. One stack can use it at a time.
	Dir string
	// Log gets what happens to the children; nil discards it.
	Log *slog.Logger
	// Progress gets one clear line per step of the start, one call at a time; nil discards it.
	Progress func(string)
	// EnginesDir is the node_modules folder with the native engines. Empty: COLONNADE_ENGINES_DIR, then
	// beside the executable, then upwards from the working directory.
	EnginesDir string
	// Only names the engines to start; nil means all three.
	Only []string

	// Ports are fixed ones; a zero is any free port, kept from one start to the next where possible.
	Ports Ports

	// KafkaPartitions is the number of partitions of a topic that does not say. Default 4.
	KafkaPartitions int
	// KafkaMaxMessageBytes bounds one batch. Default 32 MiB.
	KafkaMaxMessageBytes int
	// KafkaKeepBytes of a partition's log stay although every consumer group has read them. Default 256 MiB.
	KafkaKeepBytes int64
	// KafkaRetainBytes bounds the log of one partition on disk: one that is full of what is still to be read takes
	// no more, which a producer waits for or is refused. Default 2 GiB. A broker that was killed reads the whole log
	// into memory, once, when it starts again.
	KafkaRetainBytes int64
	// KafkaRetainFor bounds the age of records that every consumer group has read. Default 7 days.
	KafkaRetainFor time.Duration

	// DiskReserveBytes of the disk stay free: below it the broker takes no records. Default 512 MiB,
	// room for the merges and the rows of what it has already taken.
	DiskReserveBytes int64

	// ClickHouseMemoryBytes caps the engine's memory. Default 3 GiB.
	ClickHouseMemoryBytes int64
	// ClickHouseMergeThreads is the size of the pool of background merges. Default 2.
	ClickHouseMergeThreads int
	// ClickHouseMergeNice is how far merges step back behind inserts and reads
	// when the processors are full, 1 to 19. Merging later merges more parts at
	// once and so each row fewer times. Default 19.
	ClickHouseMergeNice int
	// ClickHouseArguments are passed to the engine as they are, after ours: --name=value.
	ClickHouseArguments []string

	// PostgresArguments are settings for the server, after ours: name=value.
	PostgresArguments []string
}

// Ports to listen on, on the loopback interface; zero is any free one.
type Ports struct{ Kafka, ClickHouse, Postgres int }

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Only == nil {
		c.Only = []string{Kafka, ClickHouse, Postgres}
	}
	orDefault(&c.KafkaPartitions, 4)
	orDefault(&c.KafkaMaxMessageBytes, 32<<20)
	orDefault(&c.KafkaKeepBytes, 256<<20)
	orDefault(&c.KafkaRetainBytes, 2<<30)
	orDefault(&c.KafkaRetainFor, 7*24*time.Hour)
	orDefault(&c.DiskReserveBytes, 512<<20)
	orDefault(&c.ClickHouseMemoryBytes, 3<<30)
	orDefault(&c.ClickHouseMergeThreads, 2)
	orDefault(&c.ClickHouseMergeNice, 19)
	return c
}

func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Start brings the engines up, all at once, and returns when each of them
// answers. When one cannot start, the others are stopped again and the error
// is one clear sentence.
func Start(ctx context.Context, c Config) (*Stack, error) { return start(ctx, c.withDefaults()) }

// Child serves an engine when the arguments (without the program's name) name
// one, and tells whether they did. main and TestMain call it before anything
// else and leave with the exit code.
func Child(args []string) (handled bool, exit int) { return child(args) }
