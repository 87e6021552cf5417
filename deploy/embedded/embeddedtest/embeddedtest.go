//go:build embedded

// Package embeddedtest gives a test process its Kafka, ClickHouse and
// Postgres: embedded ones, each started when a test first asks for it and
// stopped at the end, or those whose addresses the environment gives.
//
// A package that uses it hands its TestMain over:
//
//	func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }
//
// Tests share the engines, so each takes a database or a topic of its own. It
// is for tests alone and knows nothing of what they store.
package embeddedtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"colonnade/deploy/embedded"
	"colonnade/deploy/embedded/internal/supervise"
)

// Environment variables that name a running store to use instead of an embedded one.
const (
	EnvKafka      = "COLONNADE_TEST_KAFKA_BROKERS"  // host:port,host:port
	EnvClickHouse = "COLONNADE_TEST_CLICKHOUSE_URL" // http://user:password@host:port/database
	EnvPostgres   = "COLONNADE_TEST_POSTGRES_URL"   // postgres://user:password@host:port/database
)

const (
	dirPattern   = "colonnade-test-"
	startTimeout = 90 * time.Second
	stopTimeout  = 20 * time.Second
	// Between the making of a directory and its lock there is a moment; so young a one is left alone.
	sweepAge = time.Minute
)

// Services are the addresses of the stores of this test process.
type Services struct {
	Kafka      []string
	KafkaSASL  embedded.SASL // empty where the environment gives the brokers
	ClickHouse string
	Postgres   string
}

// process is what this test process started. Tests reach it through the package's functions only.
//
//nolint:gochecknoglobals // TestMain and the tests of a package have no other common ground
var process struct {
	mu     sync.Mutex // guards dir and stores
	dir    string
	lock   *os.File
	stores map[string]*store
}

// store is one engine. It is started once, and every test that needs it gets the error of a failed start.
type store struct {
	once  sync.Once
	stack *embedded.Stack
	err   error
}

// Main runs a package's tests and returns the exit code. In a child process
// of the embedded engines it serves the engine instead.
func Main(m *testing.M) int {
	if handled, exit := embedded.Child(os.Args[1:]); handled {
		return exit
	}
	code := m.Run()
	if err := stop(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Stack starts all three stores, those that are not up yet at once, and gives their addresses.
func Stack(tb testing.TB) *Services {
	tb.Helper()
	var wait sync.WaitGroup
	s := new(Services)
	var failed [3]error
	wait.Go(func() { s.Kafka, s.KafkaSASL, failed[0] = kafka() })
	wait.Go(func() { s.ClickHouse, failed[1] = clickHouse() })
	wait.Go(func() { s.Postgres, failed[2] = postgres() })
	wait.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Kafka returns the brokers' addresses, and starts the embedded one if need be.
func Kafka(tb testing.TB) []string {
	tb.Helper()
	brokers, _, err := kafka()
	if err != nil {
		tb.Fatal(err)
	}
	return brokers
}

// KafkaSASL returns how clients of the brokers authenticate; empty where they do not.
func KafkaSASL(tb testing.TB) embedded.SASL {
	tb.Helper()
	_, access, err := kafka()
	if err != nil {
		tb.Fatal(err)
	}
	return access
}

// KafkaOptions returns what a client of the brokers needs.
func KafkaOptions(tb testing.TB) []kgo.Opt {
	tb.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(Kafka(tb)...)}
	if access := KafkaSASL(tb); access.Mechanism != "" {
		opts = append(opts, kgo.SASL(scram.Auth{User: access.Username, Pass: access.Password}.AsSha256Mechanism()))
	}
	return opts
}

// KafkaSettings returns the settings of the service for the brokers.
func KafkaSettings(tb testing.TB) []string {
	tb.Helper()
	access := KafkaSASL(tb)
	return []string{
		"COLONNADE_KAFKA_BROKERS=" + strings.Join(Kafka(tb), ","), "COLONNADE_KAFKA_SASL_MECHANISM=" + access.Mechanism,
		"COLONNADE_KAFKA_SASL_USERNAME=" + access.Username, "COLONNADE_KAFKA_SASL_PASSWORD=" + access.Password,
	}
}

// PID is the process of an embedded engine, for a test that kills it; 0 when it is not embedded or not up.
func PID(engine string) int {
	process.mu.Lock()
	s := process.stores[engine]
	process.mu.Unlock()
	if s == nil || s.stack == nil {
		return 0
	}
	return s.stack.PID(engine)
}

func kafka() ([]string, embedded.SASL, error) {
	if given := os.Getenv(EnvKafka); given != "" {
		return strings.Split(given, ","), embedded.SASL{}, nil
	}
	stack, err := start(embedded.Kafka)
	if err != nil {
		return nil, embedded.SASL{}, err
	}
	return stack.Kafka, stack.KafkaSASL, nil
}

func clickHouse() (string, error) {
	if given := os.Getenv(EnvClickHouse); given != "" {
		return given, nil
	}
	stack, err := start(embedded.ClickHouse)
	if err != nil {
		return "", err
	}
	return stack.ClickHouse, nil
}

func postgres() (string, error) {
	if given := os.Getenv(EnvPostgres); given != "" {
		return given, nil
	}
	stack, err := start(embedded.Postgres)
	if err != nil {
		return "", err
	}
	return stack.Postgres, nil
}

// start brings one engine up, the first time that it is asked for.
func start(engine string) (*embedded.Stack, error) {
	process.mu.Lock()
	dir, err := ensureDir()
	if err != nil {
		process.mu.Unlock()
		return nil, err
	}
	s := process.stores[engine]
	if s == nil {
		s = new(store)
		process.stores[engine] = s
	}
	process.mu.Unlock()
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		stack, err := embedded.Start(ctx, embedded.Config{
			Dir: filepath.Join(dir, engine), Only: []string{engine}, Log: slog.New(slog.NewTextHandler(logTarget(), nil)),
			// Beside other tests the processors are full for minutes, and who drops a table waits
			// for what is merged: at 19 that has a hundredth of a processor then, and a database
			// took more than two minutes to go.
			ClickHouseMergeNice: 5,
		})
		process.mu.Lock()
		defer process.mu.Unlock()
		s.stack, s.err = stack, err
	})
	return s.stack, s.err
}

// logTarget shows the engines' deaths and restarts in a verbose run only.
func logTarget() io.Writer {
	if testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

// ensureDir makes this process's directory, and removes those that test
// processes left behind which were killed: their locks are free.
func ensureDir() (string, error) {
	if process.dir != "" {
		return process.dir, nil
	}
	sweep()
	dir, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // an unprivileged Postgres must be able to pass through
		return "", err
	}
	lock, err := supervise.Lock(context.Background(), filepath.Join(dir, "lock"), time.Second)
	if err != nil {
		return "", err
	}
	process.dir, process.lock, process.stores = dir, lock, map[string]*store{}
	return dir, nil
}

func sweep() {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		path := filepath.Join(dir, "lock")
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < sweepAge {
			continue // just being made
		}
		lock, err := supervise.Lock(context.Background(), path, 0)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir) // another test process may be at it as well
		_ = lock.Close()
	}
}

// stop ends what was started and removes its data.
func stop() error {
	process.mu.Lock()
	stores, dir, lock := process.stores, process.dir, process.lock
	process.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var errs []error
	for name := range stores {
		if s := stores[name]; s.stack != nil {
			errs = append(errs, s.stack.Close(ctx))
		}
	}
	if dir != "" {
		errs = append(errs, os.RemoveAll(dir), lock.Close())
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
