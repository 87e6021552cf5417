//go:build embedded

package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"colonnade/deploy/embedded"
	"colonnade/deploy/embedded/embeddedtest"
)

// parentCommand makes this test binary a process that only holds a stack, to be killed.
const parentCommand = "hold-a-stack"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == parentCommand {
		os.Exit(holdStack(os.Args[2]))
	}
	if len(os.Args) == 2 && os.Args[1] == strangerCommand {
		os.Exit(openAll())
	}
	os.Exit(embeddedtest.Main(m))
}

// holdStack starts a stack, tells its addresses and processes, and waits to be killed.
func holdStack(dir string) int {
	s, err := embedded.Start(context.Background(), embedded.Config{Dir: dir})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode([]int{s.PID(embedded.Kafka), s.PID(embedded.ClickHouse), s.PID(embedded.Postgres)}); err != nil {
		return 1
	}
	<-s.Done()
	return 1
}

// TestStackKeepsData starts twice on one directory: same addresses, same data.
func TestStackKeepsData(t *testing.T) {
	dir := stackDir(t)
	var steps []string
	s := start(t, embedded.Config{Dir: dir, Progress: func(line string) { steps = append(steps, line) }})
	require.Len(t, steps, 3)
	write(t, s, "first")
	addresses := addressesOf(s)
	require.NoError(t, s.Close(t.Context()))
	<-s.Done()
	require.NoError(t, s.Err())

	s = start(t, embedded.Config{Dir: dir})
	require.Equal(t, addresses, addressesOf(s))
	require.Equal(t, []string{"first"}, read(t, s))
	require.NoError(t, s.Close(t.Context()))
}

// TestStackSurvivesKills kills each engine and goes on with the same clients.
func TestStackSurvivesKills(t *testing.T) {
	s := start(t, embedded.Config{Dir: stackDir(t)})
	write(t, s, "before")
	for _, engine := range []string{embedded.Kafka, embedded.ClickHouse, embedded.Postgres} {
		old := s.PID(engine)
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		require.Eventually(t, func() bool { pid := s.PID(engine); return pid != 0 && pid != old }, 2*time.Minute, 5*time.Millisecond, engine)
	}
	write(t, s, "after")
	require.Equal(t, []string{"after", "before"}, read(t, s))
	require.NoError(t, s.Close(t.Context()))
}

// TestStackEndsWithItsParent kills a parent and starts on its directory at once.
func TestStackEndsWithItsParent(t *testing.T) {
	dir := stackDir(t)
	for range 2 {
		exe, err := os.Executable()
		require.NoError(t, err)
		parent := exec.Command(exe, parentCommand, dir)
		parent.Stderr = os.Stderr
		out, err := parent.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, parent.Start())
		var pids []int
		line, err := bufio.NewReader(out).ReadBytes('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(line, &pids))
		require.NoError(t, parent.Process.Kill())
		require.Error(t, parent.Wait())

		s := start(t, embedded.Config{Dir: dir})
		for _, pid := range pids {
			require.Eventually(t, func() bool { return gone(pid) }, 2*time.Minute, 5*time.Millisecond, pid)
		}
		write(t, s, "x")
		require.NoError(t, s.Close(t.Context()))
	}
}

// TestStackLeavesNothing looks for goroutines and processes after Close.
func TestStackLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	s := start(t, embedded.Config{Dir: stackDir(t)})
	pids := []int{s.PID(embedded.Kafka), s.PID(embedded.ClickHouse), s.PID(embedded.Postgres)}
	require.NoError(t, s.Close(t.Context()))
	for _, pid := range pids {
		require.True(t, gone(pid), pid)
	}
	goleak.VerifyNone(t, ignore)
	require.NoError(t, s.Close(t.Context()), "closing twice is closing once")
}

// TestStackRefusals checks that each thing that can be in the way is one clear sentence.
func TestStackRefusals(t *testing.T) {
	t.Run("directory in use", func(t *testing.T) {
		dir := stackDir(t)
		start(t, embedded.Config{Dir: dir, Only: []string{embedded.Kafka}})
		_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Only: []string{embedded.Kafka}})
		require.EqualError(t, err, "embedded: the data directory "+dir+" is in use by another process")
	})
	for _, engine := range []string{embedded.Kafka, embedded.ClickHouse, embedded.Postgres} {
		t.Run("port of "+engine+" taken", func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close()) }()
			_, text, err := net.SplitHostPort(l.Addr().String())
			require.NoError(t, err)
			port, err := strconv.Atoi(text)
			require.NoError(t, err)
			ports := map[string]embedded.Ports{embedded.Kafka: {Kafka: port}, embedded.ClickHouse: {ClickHouse: port}, embedded.Postgres: {Postgres: port}}
			_, err = embedded.Start(t.Context(), embedded.Config{Dir: stackDir(t), Only: []string{engine}, Ports: ports[engine]})
			require.EqualError(t, err, fmt.Sprintf("embedded: %s: another process listens on port %d", engine, port))
		})
	}
	t.Run("engines not fetched", func(t *testing.T) {
		_, err := embedded.Start(t.Context(), embedded.Config{Dir: stackDir(t), EnginesDir: t.TempDir(), Only: []string{embedded.ClickHouse}})
		require.ErrorContains(t, err, "is not fetched: run make engines")
	})
	t.Run("no engines folder", func(t *testing.T) {
		_, err := embedded.Start(t.Context(), embedded.Config{Dir: stackDir(t), EnginesDir: "/nowhere", Only: []string{embedded.ClickHouse}})
		require.ErrorContains(t, err, "there is no folder /nowhere with the engines")
	})
	t.Run("another password of Postgres", func(t *testing.T) {
		dir := stackDir(t)
		require.NoError(t, start(t, embedded.Config{Dir: dir, Only: []string{embedded.Postgres}}).Close(t.Context()))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres", "password"), []byte("another"), 0o600))
		_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Only: []string{embedded.Postgres}})
		require.ErrorContains(t, err, "the server does not take the password in "+filepath.Join(dir, "postgres", "password"))
		require.ErrorContains(t, err, "password authentication failed")
	})
	t.Run("a damaged control file of Postgres", func(t *testing.T) {
		dir := stackDir(t)
		require.NoError(t, start(t, embedded.Config{Dir: dir, Only: []string{embedded.Postgres}}).Close(t.Context()))
		control := filepath.Join(dir, "postgres", "data", "global", "pg_control")
		raw, err := os.ReadFile(control)
		require.NoError(t, err)
		raw[100] ^= 0xff
		require.NoError(t, os.WriteFile(control, raw, 0o600))
		_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir, Only: []string{embedded.Postgres}})
		require.ErrorContains(t, err, "its log ends: ")
		require.ErrorContains(t, err, "incorrect checksum in control file")
	})
	t.Run("given up before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := embedded.Start(ctx, embedded.Config{Dir: stackDir(t)})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestPostgresBelowAClosedFolder starts where only the owner may enter.
func TestPostgresBelowAClosedFolder(t *testing.T) {
	closed := stackDir(t)
	require.NoError(t, os.Chmod(closed, 0o700))
	s := start(t, embedded.Config{Dir: closed + "/deep", Only: []string{embedded.Postgres}})
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID(embedded.Postgres)))
	require.NoError(t, err)
	require.NotContains(t, string(status), "Uid:\t0\t")
}

// TestPostgresIsUnprivileged looks at whom the server runs as.
func TestPostgresIsUnprivileged(t *testing.T) {
	dir := stackDir(t)
	s := start(t, embedded.Config{Dir: dir, Only: []string{embedded.Postgres}})
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID(embedded.Postgres)))
	require.NoError(t, err)
	require.NotContains(t, string(status), "Uid:\t0\t")
	require.NotContains(t, string(status), "Gid:\t0\t")
	conn, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	var fsync, encryption string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting('fsync'), current_setting('password_encryption')").Scan(&fsync, &encryption))
	require.Equal(t, "on", fsync)
	require.Equal(t, "scram-sha-256", encryption)
	require.NoError(t, conn.Close(t.Context()))
	_, err = pgx.Connect(t.Context(), strings.Replace(s.Postgres, "colonnade:", "colonnade:x", 1))
	require.ErrorContains(t, err, "password authentication failed")
	info, err := os.Stat(dir + "/postgres/password")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

// stackDir is a directory that an unprivileged server may pass through.
func stackDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "colonnade-stack-") //nolint:usetesting // t.TempDir lies in folders that are closed to others
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func start(t *testing.T, c embedded.Config) *embedded.Stack {
	t.Helper()
	began := time.Now()
	s, err := embedded.Start(t.Context(), c)
	require.NoError(t, err)
	t.Logf("up after %v", time.Since(began))
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func addressesOf(s *embedded.Stack) []string { return []string{s.Kafka[0], s.ClickHouse, s.Postgres} }

// write stores the value in all three, acknowledged.
func write(t *testing.T, s *embedded.Stack, value string) {
	t.Helper()
	producer, err := newClient(s, kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("values"))
	require.NoError(t, err)
	require.NoError(t, producer.ProduceSync(t.Context(), kgo.StringRecord(value)).FirstErr())
	admin := kadm.NewClient(producer)
	var commit kadm.Offsets
	commit.Add(kadm.Offset{Topic: "values", Partition: 0, At: 1, LeaderEpoch: -1, Metadata: value})
	require.NoError(t, admin.CommitAllOffsets(t.Context(), "group", commit))
	producer.Close()

	conn := open(t, s.ClickHouse)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS v (v String) ENGINE=MergeTree ORDER BY v"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO v VALUES (?)", value))

	db, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS v (v text)")
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), "INSERT INTO v VALUES ($1)", value)
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
}

// read gives what write stored, in order, the same from all three; the last value is in the commit's metadata.
func read(t *testing.T, s *embedded.Stack) []string {
	t.Helper()
	var fromClickHouse []string
	require.NoError(t, open(t, s.ClickHouse).QueryRow(t.Context(), "SELECT arraySort(groupArray(v)) FROM v").Scan(&fromClickHouse))

	db, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	var fromPostgres []string
	require.NoError(t, db.QueryRow(t.Context(), "SELECT array_agg(v ORDER BY v) FROM v").Scan(&fromPostgres))
	require.NoError(t, db.Close(t.Context()))
	require.Equal(t, fromClickHouse, fromPostgres)

	consumer, err := newClient(s, kgo.ConsumeTopics("values"))
	require.NoError(t, err)
	defer consumer.Close()
	seen := map[string]bool{}
	for len(seen) < len(fromClickHouse) {
		fetches := consumer.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			require.False(t, seen[string(r.Value)], "a record twice")
			seen[string(r.Value)] = true
		})
	}
	for _, value := range fromClickHouse {
		require.True(t, seen[value], value)
	}
	offsets, err := kadm.NewClient(consumer).FetchOffsets(t.Context(), "group")
	require.NoError(t, err)
	commit, is := offsets.Lookup("values", 0)
	require.True(t, is)
	require.True(t, seen[commit.Metadata], commit.Metadata)
	return fromClickHouse
}

// TestAPortIsToldInTheDirectory starts on a port that is given, where an earlier
// start had any: who looks in the directory for the broker finds this one.
func TestAPortIsToldInTheDirectory(t *testing.T) {
	dir := stackDir(t)
	for range 2 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(free.Addr().String())
		require.NoError(t, err)
		require.NoError(t, free.Close())
		fixed, err := strconv.Atoi(port)
		require.NoError(t, err)
		s := start(t, embedded.Config{Dir: dir, Only: []string{embedded.Kafka}, Ports: embedded.Ports{Kafka: fixed}})
		written, err := os.ReadFile(filepath.Join(dir, embedded.Kafka+".port"))
		require.NoError(t, err)
		require.Equal(t, port, string(written))
		require.NoError(t, s.Close(t.Context()))
	}
}

// gone tells that no such process runs; one that has ended but was not waited for does not.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// TestPostgresOfTheMachine starts without the packaged server: with the
// machine's own where there is one, else with a clear refusal.
func TestPostgresOfTheMachine(t *testing.T) {
	s, err := embedded.Start(t.Context(), embedded.Config{Dir: stackDir(t), EnginesDir: t.TempDir(), Only: []string{embedded.Postgres}})
	if err != nil {
		require.ErrorContains(t, err, "there is no embedded Postgres for this platform and no server of version 15 or later on this machine")
		return
	}
	conn, err := pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()))
}
